-- Asked for several times a neighbour: in this language it takes a fraction of the time.
CREATE OR REPLACE FUNCTION memory_place(value jsonb) RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF value ->> 'kind' = 'message' AND jsonb_typeof(value -> 'turn') = 'number' THEN
        RETURN (value -> 'turn')::float8;
    ELSIF value ->> 'created_at' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$' THEN
        RETURN extract(epoch FROM (value ->> 'created_at')::timestamptz)::float8;
    END IF;
    RETURN 0;
END
$$;

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
            FROM store s WHERE s.prefix = ANY(spaces) AND s.key = ANY(ids)
        ), named AS MATERIALIZED (
            SELECT s.prefix, s.key, s.value FROM store s WHERE s.prefix = ANY(spaces) AND s.key = ANY(ARRAY(
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
                SELECT hashtextextended(concat(owner, '/', key), 0) FROM seed
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
                SELECT hashtextextended(concat(owner, '/', key), 0) FROM beside WHERE value ->> 'kind' = 'fact'
            ) AND s.value ->> 'kind' = 'concept'
            ORDER BY s.created_at DESC LIMIT most
        ), place AS MATERIALIZED (
            SELECT memory_line(prefix, value) AS line, memory_place(value) AS place, key FROM seed
            WHERE kind IN ('message', 'episode')
        ), line AS MATERIALIZED (
            -- the conditions of the partial index, as they stand there
            SELECT next.prefix, next.key, next.value FROM place CROSS JOIN LATERAL (
                (SELECT s.prefix, s.key, s.value FROM store s
                 WHERE s.prefix ~>=~ 'memory.' AND s.prefix ~<~ 'memory/' AND s.value ->> 'kind' IN ('message', 'episode')
                    AND memory_line(s.prefix, s.value) = place.line
                    AND (memory_place(s.value), s.key) < (place.place, place.key)
                 ORDER BY memory_place(s.value) DESC, s.key DESC LIMIT 1)
                UNION ALL
                (SELECT s.prefix, s.key, s.value FROM store s
                 WHERE s.prefix ~>=~ 'memory.' AND s.prefix ~<~ 'memory/' AND s.value ->> 'kind' IN ('message', 'episode')
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
