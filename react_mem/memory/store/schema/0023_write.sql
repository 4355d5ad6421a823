-- A batch of writes of one owner that the index has no part in, as one statement: what a turn writes, and claims and
-- leases. Item by item, so that no plan for many is taken for a few. Returns whether what was to be held was held.
CREATE FUNCTION memory_write(
    whose text, removes boolean, held_prefix text, held_key text, held_value jsonb,
    gone_prefixes text[], gone_keys text[], prefixes text[], keys text[], new_values text[], ttls float8[]
)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    now_held jsonb;
    dropped boolean := FALSE;
BEGIN
    INSERT INTO memory_owners AS o (owner) VALUES (whose) ON CONFLICT (owner) DO UPDATE
        SET revision = o.revision + 1, removed = CASE WHEN removes THEN o.revision + 1 ELSE o.removed END;
    IF held_key IS NOT NULL THEN
        SELECT s.value INTO now_held FROM store s
        WHERE s.owner = whose AND s.prefix = held_prefix AND s.key = held_key FOR UPDATE;
        IF now_held IS DISTINCT FROM held_value THEN
            DELETE FROM memory_owners o
            WHERE o.owner = whose AND NOT EXISTS (SELECT FROM store s WHERE s.owner = whose);
            RETURN FALSE;
        END IF;
    END IF;
    FOR i IN 1 .. cardinality(gone_keys) LOOP
        DELETE FROM store s WHERE s.owner = whose AND s.prefix = gone_prefixes[i] AND s.key = gone_keys[i];
    END LOOP;
    FOR i IN 1 .. cardinality(keys) LOOP
        INSERT INTO store (owner, prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
        VALUES (
            whose, prefixes[i], keys[i], new_values[i]::jsonb, now(), now(), now() + ttls[i] * interval '1 minute', ttls[i]
        )
        ON CONFLICT (owner, prefix, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
            expires_at = excluded.expires_at, ttl_minutes = excluded.ttl_minutes;
        -- what an item no longer says is not found
        DELETE FROM store_vectors v WHERE v.owner = whose AND v.prefix = prefixes[i] AND v.key = keys[i];
        dropped := dropped OR FOUND;
    END LOOP;
    IF dropped THEN
        UPDATE memory_owners o SET removed = o.revision WHERE o.owner = whose;
    END IF;
    -- the row of an owner goes with the last item
    IF cardinality(keys) = 0 THEN
        DELETE FROM memory_owners o
        WHERE o.owner = whose AND NOT EXISTS (SELECT FROM store s WHERE s.owner = whose);
    END IF;
    RETURN TRUE;
END
$$;

-- Notes, bookkeeping and work have no part in the index: that one of them goes is no reason to look what is left of it.
CREATE OR REPLACE FUNCTION memory_note_deleted_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM memory_revise(o.owner, o.removes)
    FROM (
        SELECT coalesce(owner, memory_owner(prefix)) AS owner, bool_or(
            prefix NOT LIKE 'memory\_work.%' AND prefix NOT LIKE 'memory.%.pending' AND prefix NOT LIKE 'memory.%.meta'
        ) AS removes
        FROM gone GROUP BY 1 ORDER BY 1
    ) o;
    RETURN NULL;
END
$$;
