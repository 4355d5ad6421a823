-- Every row gets its owner, by which all keys and indexes begin, and every owner a revision, which each write raises.
-- Here is what fills them for writers that do not know them: LangGraph's own store, and the version before, whose
-- processes go on meanwhile. The next file makes the columns.

-- As `owner_of` in Python. An application's owner holds a dot, which no label of ours does.
CREATE FUNCTION memory_owner(prefix text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN split_part(prefix, '.', 1) IN ('memory', 'memory_work', 'terminal') AND strpos(prefix, '.') > 0
            THEN split_part(prefix, '.', 2)
        ELSE split_part(prefix, '.', 1) || '.' || split_part(prefix, '.', 2)
    END
$$;

-- The numbers of words, in order, of the vector of ones that they were kept as.
CREATE FUNCTION memory_words(terms sparsevec) RETURNS int4[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT replace(replace(split_part(terms::text, '/', 1), ':1,', ','), ':1}', '}')::int4[]
$$;

-- Who writes takes an owner's row first, and holds it until the transaction ends: revisions become visible in order. The
-- row goes with the last item; one that is made anew begins at the clock, above all that there were. `removed` is the
-- revision in which rows of the index were last deleted. It comes first, as it must not be read from a later clock.
CREATE TABLE memory_owners (
    owner text PRIMARY KEY,
    removed bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    revision bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
) WITH (fillfactor = 50);

-- Another epoch is another index: all that is known of the one before is void.
ALTER TABLE memory_embedding
    ADD COLUMN epoch bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- Where the steps of files that run beside reading and writing have come to.
CREATE TABLE memory_migration_steps (v integer PRIMARY KEY, step integer NOT NULL DEFAULT 0, place text[]);

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

CREATE FUNCTION memory_fill_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.owner := memory_owner(NEW.prefix);
    PERFORM memory_revise(NEW.owner, FALSE);
    RETURN NEW;
END
$$;

CREATE FUNCTION memory_fill_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.owner := memory_owner(NEW.prefix);
    IF TG_OP = 'INSERT' THEN
        NEW.half := NEW.embedding::halfvec;
        NEW.words := memory_words(NEW.terms);
    ELSE
        IF NEW.embedding IS DISTINCT FROM OLD.embedding OR NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN
            NEW.half := NEW.embedding::halfvec;
        END IF;
        -- another text, by a writer that knows no words: those of the former one are void
        IF NEW.embedding IS DISTINCT FROM OLD.embedding AND NEW.updated_at IS DISTINCT FROM OLD.updated_at
            AND NEW.terms IS NOT DISTINCT FROM OLD.terms
        THEN
            NEW.terms := NULL;
        END IF;
        IF NEW.terms IS DISTINCT FROM OLD.terms OR OLD.owner IS NULL THEN
            NEW.words := memory_words(NEW.terms);
        END IF;
    END IF;
    NEW.revision := memory_revise(NEW.owner, FALSE);
    RETURN NEW;
END
$$;

CREATE FUNCTION memory_note_deleted_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM memory_revise(o.owner, TRUE)
    FROM (SELECT DISTINCT coalesce(owner, memory_owner(prefix)) AS owner FROM gone ORDER BY 1) o;
    RETURN NULL;
END
$$;

CREATE FUNCTION memory_note_deleted_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM memory_revise(coalesce(OLD.owner, memory_owner(OLD.prefix)), TRUE);
    RETURN NULL;
END
$$;

-- For the table of the index, also for the one that takes its place when it is embedded anew. Who knows the columns
-- raises the revision of each row that it writes; what goes with its item is noted there.
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
-- Its parameter has the name that the column has now.
DO $$ BEGIN
    EXECUTE replace(pg_get_functiondef('memory_linked'::regproc), '#variable_conflict use_column', '#variable_conflict use_variable');
END $$;
