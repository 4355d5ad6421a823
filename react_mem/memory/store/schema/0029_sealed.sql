-- Of a text that is sealed, the index holds what it is found by, and its vector, as bytes that only its owner's key
-- opens. The columns in which the database would read them are empty then.
-- step: transaction
ALTER TABLE store_vectors ADD COLUMN sealed bytea, ADD COLUMN sealed_vector bytea;
-- what an interrupted re-embedding has made so far
ALTER TABLE IF EXISTS store_vectors_next
    ADD COLUMN IF NOT EXISTS sealed bytea, ADD COLUMN IF NOT EXISTS sealed_vector bytea;
-- step: index
CREATE INDEX CONCURRENTLY store_vectors_wanting_idx ON store_vectors (owner, prefix, key, field_name)
    WHERE half IS NULL AND sealed_vector IS NULL;
-- step: transaction
DROP INDEX store_vectors_lacking_idx;
ALTER INDEX store_vectors_wanting_idx RENAME TO store_vectors_lacking_idx;
-- The records that a read of links finds, each with its key and with what is sealed of it: of a sealed one, the ids that
-- it names are there. Another name, for the version before goes on with the former one meanwhile.
-- step: transaction
DO $$ BEGIN
    EXECUTE replace(
        replace(pg_get_functiondef('memory_linked'::regproc), 'memory_linked', 'memory_linked_sealed'),
        'value -> ''task_preferences'', value -> ''alike''',
        'value -> ''task_preferences'', value -> ''alike'', key, value -> '':sealed'''
    );
END $$;
