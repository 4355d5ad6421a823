-- A summary names the episodes and the preferences that it stands for. No record has named any before, so the index of
-- what records name needs nothing.
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
    FOREACH field IN ARRAY '{source_ids,linked_steps,depends_on,needs,superseded_by,links,episodes,task_preferences}'::text[] LOOP
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

-- As before, with the two fields among those that name records.
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
                FROM seed, unnest('{source_ids,linked_steps,depends_on,needs,superseded_by,links,episodes,task_preferences}'::text[]) field,
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
            value -> 'superseded_by', value -> 'links', value -> 'episodes', value -> 'task_preferences', value -> 'alike'
        ))
        FROM (
            SELECT prefix, key, value FROM seed UNION ALL TABLE named UNION ALL TABLE naming
            UNION ALL TABLE deeds UNION ALL TABLE beside UNION ALL TABLE concepts UNION ALL TABLE line
        ) found
        WHERE prefix = ANY(spaces)
    );
END
$function$;
