-- The tables of a new database, beside those of LangGraph's store. A database of before comes to the same by the files of
-- `schema/`; a test compares the two. A change is a new file there, and is made here as well.

-- The model that made the vectors: those of another cannot be compared with them, and its cosines mean something else.
-- Another epoch is another index: all that is known of the one before is void.
CREATE TABLE memory_embedding (
    only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    name text NOT NULL,
    dims integer NOT NULL,
    calibration jsonb,
    epoch bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
);

-- A writer takes its owner's row first, and holds it until the transaction ends: revisions become visible in order. The
-- row goes with the last item; one that is made anew begins at the clock, above all earlier ones. `removed` is the
-- revision in which rows of the index were last deleted. It comes first, as it must not be read from a later clock.
CREATE TABLE memory_owners (
    owner text PRIMARY KEY,
    removed bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    revision bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
) WITH (fillfactor = 50);

-- The progress of files that run beside reading and writing.
CREATE TABLE memory_migration_steps (v integer PRIMARY KEY, step integer NOT NULL DEFAULT 0, place text[]);

-- The data keys of owners, wrapped by a master key that is not in the database. One is in use; those before it open what
-- they sealed until that is sealed anew. Keys of the database itself have owners with a colon.
CREATE TABLE memory_keys (
    owner text NOT NULL,
    version bigint NOT NULL CHECK (version BETWEEN 0 AND 4294967295),
    wrapped bytea NOT NULL,
    wrapped_by text NOT NULL,
    state text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'former')),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, version)
);
CREATE UNIQUE INDEX memory_keys_live_idx ON memory_keys (owner) WHERE state = 'live';

-- The audit log: entries are only ever added, each with the hash of the one before it. An owner is in it by a hash, so
-- that the chain outlives the owner. The head says where the chain ends.
CREATE TABLE memory_audit (
    seq bigint PRIMARY KEY,
    at timestamptz NOT NULL,
    subject text NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    kind text NOT NULL,
    records bigint NOT NULL,
    why text NOT NULL,
    keyed boolean NOT NULL,
    hash bytea NOT NULL
);
CREATE INDEX memory_audit_subject_idx ON memory_audit (subject, seq);

CREATE TABLE memory_audit_head (
    one boolean PRIMARY KEY DEFAULT TRUE CHECK (one),
    salt text NOT NULL DEFAULT gen_random_uuid()::text,
    seq bigint NOT NULL DEFAULT 0,
    hash bytea NOT NULL DEFAULT ''
);
INSERT INTO memory_audit_head DEFAULT VALUES;

CREATE FUNCTION memory_audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'memory_audit is append-only';
END
$$;
CREATE TRIGGER memory_audit_append_only BEFORE UPDATE OR DELETE ON memory_audit
    FOR EACH ROW EXECUTE FUNCTION memory_audit_append_only();
CREATE TRIGGER memory_audit_not_truncated BEFORE TRUNCATE ON memory_audit
    FOR EACH STATEMENT EXECUTE FUNCTION memory_audit_append_only();

-- The owner of a namespace, as `owner_of` in Python. An application's owner holds a dot, which no label of ours does.
CREATE FUNCTION memory_owner(prefix text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN split_part(prefix, '.', 1) IN ('memory', 'memory_work', 'terminal', 'memory_attachments')
            AND strpos(prefix, '.') > 0
            THEN split_part(prefix, '.', 2)
        ELSE split_part(prefix, '.', 1) || '.' || split_part(prefix, '.', 2)
    END
$$;

-- The owner's new revision, once a transaction.
CREATE FUNCTION memory_revise(whose text, removes boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    noted boolean;
BEGIN
    SELECT o.revision, o.removed = o.revision INTO at, noted FROM memory_owners o
    WHERE o.owner = whose AND o.xmin = pg_current_xact_id()::xid;
    IF at IS NOT NULL AND removes AND NOT noted THEN
        UPDATE memory_owners o SET removed = o.revision WHERE o.owner = whose;
    ELSIF at IS NULL THEN
        INSERT INTO memory_owners AS o (owner) VALUES (whose) ON CONFLICT (owner) DO UPDATE
            SET revision = o.revision + 1, removed = CASE WHEN removes THEN o.revision + 1 ELSE o.removed END
            RETURNING o.revision INTO at;
    END IF;
    RETURN at;
END
$$;

-- Fails unless the key that a transaction seals with is the one in use; the transaction has raised the owner's revision.
CREATE FUNCTION memory_need_key(whose text, wanted bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM memory_keys k WHERE k.owner = whose AND k.version = wanted AND k.state = 'live';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the data key is not the one in use' USING ERRCODE = 'RM001';
    END IF;
END
$$;

-- The ids that a record names, a number each: ids are not its owner's alone, and a number is shorter than both. Every
-- write runs it: it fails for no value, and asks for nothing that would have to be planned.
CREATE FUNCTION memory_target_keys(prefix text, value jsonb) RETURNS bigint[]
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

-- The line in which a record follows others: the messages of a conversation, a user's episodes.
CREATE FUNCTION memory_line(prefix text, value jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(
        prefix || '/' || CASE value ->> 'kind' WHEN 'message' THEN coalesce(value ->> 'session_id', '') ELSE '' END, 0
    )
$$;

-- A record's place in its line. Asked for several times a neighbour: in this language it takes a fraction of the time.
CREATE FUNCTION memory_place(value jsonb) RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF value ->> 'kind' = 'message' AND jsonb_typeof(value -> 'turn') = 'number' THEN
        RETURN (value -> 'turn')::float8;
    ELSIF value ->> 'created_at' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$' THEN
        RETURN extract(epoch FROM (value ->> 'created_at')::timestamptz)::float8;
    END IF;
    RETURN 0;
END
$$;

-- Items. LangGraph's own store names no owner: for it there is a unique index without, which also finds the items below a
-- namespace.
DROP TABLE store_vectors;
ALTER TABLE store DROP CONSTRAINT store_pkey, ADD COLUMN owner text NOT NULL,
    ADD CONSTRAINT store_owner_key PRIMARY KEY (owner, prefix, key);
DROP INDEX store_prefix_idx;
CREATE UNIQUE INDEX store_item_key ON store (prefix text_pattern_ops, key);
-- Entries that wait to be merged into a GIN index are all read by every search: they are merged at once.
CREATE INDEX store_memory_targets_idx ON store USING gin (memory_target_keys(prefix, value)) WITH (fastupdate = off);
CREATE INDEX store_owner_lines_idx ON store (owner, memory_line(prefix, value), memory_place(value))
    WHERE prefix ~>=~ 'memory.' AND prefix ~<~ 'memory/' AND value ->> 'kind' IN ('message', 'episode');
-- Listings by a field: the items of one conversation, and those that have not been read yet.
CREATE INDEX store_session_idx ON store (owner, (value ->> 'session_id')) WHERE value ->> 'session_id' IS NOT NULL;
CREATE INDEX store_unread_idx ON store (owner) WHERE value -> 'unread' = 'true'::jsonb;
-- Due work is searched across owners; the expressions are those of a search's filter.
CREATE INDEX store_work_due_idx ON store (
    (COALESCE(value #> '{agent}'::text[], 'null'::jsonb)), (COALESCE(value #> '{due_at}'::text[], 'null'::jsonb))
) WHERE prefix = 'memory_work' OR (prefix ~>=~ 'memory_work.' AND prefix ~<~ 'memory_work/');

-- The index of texts: their vectors in half precision, words, places and times, or all of these sealed. Columns that
-- every row of an owner is compared by come first: a column costs all that stand before it.
CREATE TABLE store_vectors (
    half halfvec({dims}),
    length real,
    place bigint,
    said_at timestamptz,
    prefix text NOT NULL,
    key text NOT NULL,
    field_name text NOT NULL,
    embedding vector({dims}),
    created_at timestamptz DEFAULT CURRENT_TIMESTAMP,
    updated_at timestamptz DEFAULT CURRENT_TIMESTAMP,
    owner text NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    words int4[],
    sealed bytea,
    sealed_vector bytea,
    CONSTRAINT store_vectors_owner_key PRIMARY KEY (owner, prefix, key, field_name),
    CONSTRAINT store_vectors_item_fkey
        FOREIGN KEY (owner, prefix, key) REFERENCES store (owner, prefix, key) ON DELETE CASCADE
);
-- The bytes up to which a row stays in one piece: the half vector and a hundred words. The largest column is moved out
-- first.
ALTER TABLE store_vectors SET (toast_tuple_target = {inline});
CREATE UNIQUE INDEX store_vectors_entry_key ON store_vectors (prefix text_pattern_ops, key, field_name);
-- An owner's rows in the order of the conversation, by a range of prefixes, whatever the database's collation.
CREATE INDEX store_vectors_place_idx ON store_vectors (prefix text_pattern_ops, place);
CREATE INDEX store_vectors_revision_idx ON store_vectors (owner, revision);
CREATE INDEX store_vectors_lacking_idx ON store_vectors (owner, prefix, key, field_name)
    WHERE half IS NULL AND sealed_vector IS NULL;

-- Writers that know no owners: LangGraph's own store. The words of a text that they change are not known until it is read
-- anew.
CREATE FUNCTION memory_fill_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.owner := memory_owner(NEW.prefix);
    PERFORM memory_revise(NEW.owner, FALSE);
    RETURN NEW;
END
$$;
CREATE TRIGGER memory_fill_item BEFORE INSERT ON store
    FOR EACH ROW WHEN (NEW.owner IS NULL) EXECUTE FUNCTION memory_fill_item();

CREATE FUNCTION memory_fill_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.owner := memory_owner(NEW.prefix);
    IF TG_OP = 'INSERT' OR NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN
        NEW.half := NEW.embedding::halfvec;
        NEW.words := NULL;
    ELSIF NEW.embedding IS DISTINCT FROM OLD.embedding THEN
        NEW.half := NEW.embedding::halfvec;
    END IF;
    NEW.revision := memory_revise(NEW.owner, FALSE);
    RETURN NEW;
END
$$;

-- Notes, bookkeeping and work have no part in the index: that one of them goes is no reason to look what is left of it.
CREATE FUNCTION memory_note_deleted_items() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER memory_note_deleted_items AFTER DELETE ON store
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION memory_note_deleted_items();

CREATE FUNCTION memory_note_deleted_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM memory_revise(coalesce(OLD.owner, memory_owner(OLD.prefix)), TRUE);
    RETURN NULL;
END
$$;

-- A writer that knows the columns raises the revision of each row that it writes; an entry that goes with its item is
-- noted there.
CREATE FUNCTION memory_watch_entries() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    CREATE TRIGGER memory_fill_new_entry BEFORE INSERT ON store_vectors
        FOR EACH ROW WHEN (NEW.owner IS NULL) EXECUTE FUNCTION memory_fill_entry();
    CREATE TRIGGER memory_fill_entry BEFORE UPDATE ON store_vectors
        FOR EACH ROW WHEN (NEW.revision = OLD.revision AND NEW.owner IS NOT DISTINCT FROM OLD.owner)
        EXECUTE FUNCTION memory_fill_entry();
    CREATE TRIGGER memory_note_deleted_entry AFTER DELETE ON store_vectors
        FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION memory_note_deleted_entry();
END
$$;
SELECT memory_watch_entries();

-- A batch of writes of one owner that the index has no part in, as one statement: the writes of a turn, claims and
-- leases. Item by item, so that no plan for many is taken for a few. Returns whether the held item was still as expected.
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

-- A batch of writes of one owner as `memory_write`, of which the index holds the words at once and the vectors later.
CREATE FUNCTION memory_write_words(
    whose text, removes boolean, held_prefix text, held_key text, held_value jsonb,
    gone_prefixes text[], gone_keys text[], prefixes text[], keys text[], new_values text[], ttls float8[],
    row_prefixes text[], row_keys text[], row_names text[], row_words text[], row_lengths real[], row_places bigint[],
    row_times timestamptz[], row_seals bytea[]
)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF NOT memory_write(
        whose, removes, held_prefix, held_key, held_value, gone_prefixes, gone_keys, prefixes, keys, new_values, ttls
    ) THEN
        RETURN FALSE;
    END IF;
    -- those that there were of these items have gone with it
    FOR i IN 1 .. cardinality(row_keys) LOOP
        INSERT INTO store_vectors (
            owner, prefix, key, field_name, words, length, place, said_at, sealed, revision, created_at, updated_at
        )
        SELECT whose, row_prefixes[i], row_keys[i], row_names[i], row_words[i]::int4[], row_lengths[i], row_places[i],
            row_times[i], row_seals[i], o.revision, now(), now()
        FROM memory_owners o WHERE o.owner = whose;
    END LOOP;
    RETURN TRUE;
END
$$;

-- Some records of an owner with all that their links are derived from, an array each: the prefix, and the fields from
-- which links are derived. One may be there twice. It is planned once a connection, which takes as long as running it; a
-- connection that planned it for an empty table has to find its way in a full one, so nothing is read from end to end.
CREATE FUNCTION memory_linked(owner text, spaces text[], ids text[], most bigint) RETURNS json
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

-- The same, each record with its key and its sealed part: of a sealed one, the ids that it names are there.
DO $$ BEGIN
    EXECUTE replace(
        replace(pg_get_functiondef('memory_linked'::regproc), 'memory_linked', 'memory_linked_sealed'),
        'value -> ''task_preferences'', value -> ''alike''',
        'value -> ''task_preferences'', value -> ''alike'', key, value -> '':sealed'''
    );
END $$;

-- The planner's statistics are samples of columns, and stay after the rows are gone: none are taken of the columns that
-- hold content. No statement is planned by them. Where the tables are distributed, such a column cannot be changed.
DO $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT c.relname AS name, a.attname AS attribute
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
          AND (c.relname::text, a.attname::text) IN (
              ('store', 'value'), ('checkpoints', 'checkpoint'), ('checkpoints', 'metadata'),
              ('checkpoint_blobs', 'blob'), ('checkpoint_writes', 'blob')
          )
    LOOP
        BEGIN
            EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', place.name, place.attribute);
        EXCEPTION WHEN feature_not_supported OR insufficient_privilege THEN
            NULL;
        END;
    END LOOP;
END $$;
