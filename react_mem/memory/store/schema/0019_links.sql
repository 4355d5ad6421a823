-- Links follow from the records: what a record names is indexed, so that what names a record is found. The documents in
-- which links were kept are of no use any more.
DELETE FROM store WHERE prefix ~ '^memory\.[^.]+\.links$' OR (prefix ~ '^memory\.[^.]+\.meta$' AND key = 'linked');

-- What a record names, a number each: ids are not its owner's alone, and a number is shorter than both. Every write runs
-- it: it fails for no value, and asks for nothing that would have to be planned.
CREATE OR REPLACE FUNCTION memory_target_keys(prefix text, value jsonb) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
DECLARE
    owner text := split_part(prefix, '.', 2) || '/';
    keys bigint[];
    field text;
    named jsonb;
    target jsonb;
    id text;
BEGIN
    IF NOT starts_with(prefix, 'memory.') THEN
        RETURN NULL;
    END IF;
    FOREACH field IN ARRAY '{source_ids,linked_steps,depends_on,needs,superseded_by,links}'::text[] LOOP
        named := value -> field;
        CONTINUE WHEN named IS NULL OR jsonb_typeof(named) NOT IN ('array', 'string');
        IF jsonb_typeof(named) = 'string' THEN
            named := jsonb_build_array(named);
        END IF;
        FOR place IN 0 .. jsonb_array_length(named) - 1 LOOP
            target := named -> place;
            id := CASE jsonb_typeof(target) WHEN 'object' THEN target ->> 'to' ELSE target #>> '{}' END;
            CONTINUE WHEN id IS NULL;
            IF field = 'source_ids' THEN
                id := split_part(id, ':', 1);
            END IF;
            keys := keys || hashtextextended(owner || id, 0);
        END LOOP;
    END LOOP;
    IF jsonb_typeof(value -> 'alike') = 'object' THEN
        FOR id IN SELECT jsonb_object_keys(value -> 'alike') LOOP
            keys := keys || hashtextextended(owner || id, 0);
        END LOOP;
    END IF;
    RETURN keys;
END
$$;

-- What follows on each other: the messages of a conversation, a user's episodes.
CREATE OR REPLACE FUNCTION memory_line(prefix text, value jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(
        prefix || '/' || CASE value ->> 'kind' WHEN 'message' THEN coalesce(value ->> 'session_id', '') ELSE '' END, 0
    )
$$;

CREATE OR REPLACE FUNCTION memory_place(value jsonb) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN value ->> 'kind' = 'message' AND jsonb_typeof(value -> 'turn') = 'number' THEN (value -> 'turn')::float8
        WHEN value ->> 'created_at' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$'
            THEN extract(epoch FROM (value ->> 'created_at')::timestamptz)::float8
        ELSE 0
    END
$$;

-- Of what waits to be merged into the index every search reads all: it is merged at once.
CREATE INDEX IF NOT EXISTS store_memory_targets_idx ON store USING gin (memory_target_keys(prefix, value))
    WITH (fastupdate = off);
CREATE INDEX IF NOT EXISTS store_memory_lines_idx ON store (memory_line(prefix, value), memory_place(value))
    WHERE prefix ~>=~ 'memory.' AND prefix ~<~ 'memory/' AND value ->> 'kind' IN ('message', 'episode');
