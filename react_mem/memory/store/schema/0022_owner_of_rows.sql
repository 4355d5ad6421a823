-- The columns, the owners of the rows that are there, and the keys: beside reading and writing, by the version before
-- and by LangGraph's own store as well. A step that was interrupted goes on where it was.

-- Each table by itself: who writes both would wait for the one and be waited for with the other.
-- step: transaction
ALTER TABLE store ADD COLUMN owner text;
CREATE TRIGGER memory_fill_item BEFORE INSERT ON store
    FOR EACH ROW WHEN (NEW.owner IS NULL) EXECUTE FUNCTION memory_fill_item();
CREATE TRIGGER memory_note_deleted_items AFTER DELETE ON store
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION memory_note_deleted_items();
-- step: transaction
ALTER TABLE store_vectors
    ADD COLUMN owner text,
    ADD COLUMN revision bigint NOT NULL DEFAULT 0,
    ADD COLUMN words int4[],
    ALTER COLUMN half DROP EXPRESSION;
SELECT memory_watch_entries();

-- step: batches
WITH batch AS (
    SELECT s.prefix, s.key FROM store s
    WHERE %(place)s::text[] IS NULL OR (s.prefix, s.key) > ((%(place)s::text[])[1], (%(place)s::text[])[2])
    ORDER BY s.prefix, s.key LIMIT 5000 FOR NO KEY UPDATE
), filled AS (
    UPDATE store s SET owner = memory_owner(s.prefix) FROM batch b
    WHERE s.prefix = b.prefix AND s.key = b.key AND s.owner IS NULL
)
SELECT ARRAY[prefix, key] AS place FROM batch ORDER BY prefix DESC, key DESC LIMIT 1;

-- step: batches
WITH batch AS (
    SELECT v.prefix, v.key, v.field_name FROM store_vectors v
    WHERE %(place)s::text[] IS NULL OR (v.prefix, v.key, v.field_name)
        > ((%(place)s::text[])[1], (%(place)s::text[])[2], (%(place)s::text[])[3])
    ORDER BY v.prefix, v.key, v.field_name LIMIT 2000 FOR NO KEY UPDATE
), filled AS (
    UPDATE store_vectors v SET owner = memory_owner(v.prefix), words = memory_words(v.terms) FROM batch b
    WHERE v.prefix = b.prefix AND v.key = b.key AND v.field_name = b.field_name AND v.owner IS NULL
)
SELECT ARRAY[prefix, key, field_name] AS place FROM batch ORDER BY prefix DESC, key DESC, field_name DESC LIMIT 1;

-- The keys. LangGraph's own store names no owner: for it there are unique indexes without, which find what is below a
-- namespace, too.
-- step: index
CREATE UNIQUE INDEX CONCURRENTLY store_owner_key ON store (owner, prefix, key);
-- step: index
CREATE UNIQUE INDEX CONCURRENTLY store_item_key ON store (prefix text_pattern_ops, key);
-- step: index
CREATE INDEX CONCURRENTLY store_owner_lines_idx ON store (owner, memory_line(prefix, value), memory_place(value))
    WHERE prefix ~>=~ 'memory.' AND prefix ~<~ 'memory/' AND value ->> 'kind' IN ('message', 'episode');
-- step: index
CREATE UNIQUE INDEX CONCURRENTLY store_vectors_owner_key ON store_vectors (owner, prefix, key, field_name);
-- step: index
CREATE UNIQUE INDEX CONCURRENTLY store_vectors_entry_key ON store_vectors (prefix text_pattern_ops, key, field_name);
-- step: index
CREATE INDEX CONCURRENTLY store_vectors_revision_idx ON store_vectors (owner, revision);
-- step: index
CREATE INDEX CONCURRENTLY store_vectors_lacking_idx ON store_vectors (owner, prefix, key, field_name) WHERE half IS NULL;

-- What is checked against every row is added first and checked afterwards, when nobody has to wait for it.
-- step: transaction
ALTER TABLE store ADD CONSTRAINT store_has_owner CHECK (owner IS NOT NULL) NOT VALID;
-- step: transaction
ALTER TABLE store_vectors ADD CONSTRAINT store_vectors_has_owner CHECK (owner IS NOT NULL) NOT VALID;
-- step: transaction
ALTER TABLE store VALIDATE CONSTRAINT store_has_owner;
-- step: transaction
ALTER TABLE store_vectors VALIDATE CONSTRAINT store_vectors_has_owner;
-- step: transaction
ALTER TABLE store ALTER COLUMN owner SET NOT NULL;
ALTER TABLE store DROP CONSTRAINT store_has_owner;
-- step: transaction
ALTER TABLE store_vectors ALTER COLUMN owner SET NOT NULL;
ALTER TABLE store_vectors DROP CONSTRAINT store_vectors_has_owner;
-- Of both tables, writers are waited for in the order in which they take them.
-- step: transaction
LOCK TABLE store IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE store_vectors IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE store_vectors ADD CONSTRAINT store_vectors_item_fkey
    FOREIGN KEY (owner, prefix, key) REFERENCES store (owner, prefix, key) ON DELETE CASCADE NOT VALID;
-- step: transaction
ALTER TABLE store_vectors VALIDATE CONSTRAINT store_vectors_item_fkey;
-- step: transaction
LOCK TABLE store IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE store_vectors IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE store_vectors DROP CONSTRAINT store_vectors_prefix_key_fkey;
ALTER TABLE store DROP CONSTRAINT store_pkey;
ALTER TABLE store ADD CONSTRAINT store_owner_key PRIMARY KEY USING INDEX store_owner_key;
ALTER TABLE store_vectors DROP CONSTRAINT store_vectors_pkey;
ALTER TABLE store_vectors ADD CONSTRAINT store_vectors_owner_key PRIMARY KEY USING INDEX store_vectors_owner_key;
DROP INDEX IF EXISTS store_prefix_idx;
DROP INDEX IF EXISTS store_vectors_prefix_idx;
DROP INDEX IF EXISTS store_vectors_missing_idx;
DROP INDEX store_memory_lines_idx;

-- Some records of an owner with all that their links are derived from, an array each: the prefix, and the fields from
-- which links are derived. One may be there twice. It is planned once a connection, which takes as long as running it; a
-- connection that planned it for an empty table has to find its way in a full one, so nothing is read from end to end.
CREATE OR REPLACE FUNCTION memory_linked(owner text, spaces text[], ids text[], most bigint) RETURNS json
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $function$
#variable_conflict use_column
BEGIN
    RETURN (
        WITH seed AS MATERIALIZED (
            SELECT s.prefix, s.key, s.value, s.value ->> 'kind' AS kind,
                split_part(s.prefix, '.', 3) IN ('experience', 'state', 'episodic') AS deed
            -- by arrays: where statistics are missing, a join reads all of an owner's
            FROM store s WHERE s.owner = memory_linked.owner AND s.prefix = ANY(spaces) AND s.key = ANY(ids)
        ), named AS MATERIALIZED (
            SELECT s.prefix, s.key, s.value FROM store s
            WHERE s.owner = memory_linked.owner AND s.prefix = ANY(spaces) AND s.key = ANY(ARRAY(
                SELECT split_part(coalesce(target ->> 'to', target #>> '{}'), ':', 1)
                FROM seed, unnest('{source_ids,linked_steps,depends_on,needs,superseded_by,links}'::text[]) field,
                    jsonb_path_query(value -> field, '$[*]') target
                UNION SELECT other FROM seed,
                    jsonb_object_keys(CASE jsonb_typeof(value -> 'alike') WHEN 'object' THEN value -> 'alike' END) other
            ))
            LIMIT most
        ), naming AS MATERIALIZED (
            -- what names a record is found by that alone, so that no other index is taken for it
            SELECT s.prefix, s.key, s.value FROM store s WHERE memory_target_keys(s.prefix, s.value) && ARRAY(
                SELECT hashtextextended(concat(memory_linked.owner, '/', key), 0) FROM seed
            )
            ORDER BY s.created_at DESC LIMIT most
        ), deeds AS MATERIALIZED (
            -- what was done and concluded when they came up, a concept by its facts as well
            SELECT s.prefix, s.key, s.value FROM store s WHERE memory_target_keys(s.prefix, s.value) && ARRAY(
                SELECT unnest(memory_target_keys(prefix, value)) FROM seed WHERE deed OR kind IN ('fact', 'concept')
                UNION SELECT unnest(memory_target_keys(prefix, value)) FROM named
                WHERE value ->> 'kind' = 'fact' AND EXISTS (SELECT FROM seed WHERE kind = 'concept')
            ) AND split_part(s.prefix, '.', 3) IN ('experience', 'state', 'episodic')
            ORDER BY s.created_at DESC LIMIT most
        ), beside AS MATERIALIZED (
            -- what came up when it was done
            SELECT s.prefix, s.key, s.value FROM store s WHERE memory_target_keys(s.prefix, s.value) && ARRAY(
                SELECT unnest(memory_target_keys(prefix, value)) FROM seed WHERE deed
            ) AND s.value ->> 'kind' IN ('fact', 'concept')
            ORDER BY s.created_at DESC LIMIT most
        ), concepts AS MATERIALIZED (
            SELECT s.prefix, s.key, s.value FROM store s WHERE memory_target_keys(s.prefix, s.value) && ARRAY(
                SELECT hashtextextended(concat(memory_linked.owner, '/', key), 0) FROM beside WHERE value ->> 'kind' = 'fact'
            ) AND s.value ->> 'kind' = 'concept'
            ORDER BY s.created_at DESC LIMIT most
        ), place AS MATERIALIZED (
            SELECT memory_line(prefix, value) AS line, memory_place(value) AS place, key FROM seed
            WHERE kind IN ('message', 'episode')
        ), line AS MATERIALIZED (
            -- the conditions of the partial index, as they stand there
            SELECT next.prefix, next.key, next.value FROM place CROSS JOIN LATERAL (
                (SELECT s.prefix, s.key, s.value FROM store s
                 WHERE s.owner = memory_linked.owner AND s.prefix ~>=~ 'memory.' AND s.prefix ~<~ 'memory/'
                    AND s.value ->> 'kind' IN ('message', 'episode')
                    AND memory_line(s.prefix, s.value) = place.line
                    AND (memory_place(s.value), s.key) < (place.place, place.key)
                 ORDER BY memory_place(s.value) DESC, s.key DESC LIMIT 1)
                UNION ALL
                (SELECT s.prefix, s.key, s.value FROM store s
                 WHERE s.owner = memory_linked.owner AND s.prefix ~>=~ 'memory.' AND s.prefix ~<~ 'memory/'
                    AND s.value ->> 'kind' IN ('message', 'episode')
                    AND memory_line(s.prefix, s.value) = place.line
                    AND (memory_place(s.value), s.key) > (place.place, place.key)
                 ORDER BY memory_place(s.value), s.key LIMIT 1)
            ) next
        )
        SELECT json_agg(json_build_array(
            prefix, value -> 'id', value -> 'kind', value -> 'level', value -> 'session_id', value -> 'turn',
            value -> 'created_at', value -> 'source_ids', value -> 'linked_steps', value -> 'depends_on', value -> 'needs',
            value -> 'superseded_by', value -> 'links', value -> 'alike'
        ))
        FROM (
            SELECT prefix, key, value FROM seed UNION ALL TABLE named UNION ALL TABLE naming
            UNION ALL TABLE deeds UNION ALL TABLE beside UNION ALL TABLE concepts UNION ALL TABLE line
        ) found
        WHERE prefix = ANY(spaces)
    );
END
$function$;
