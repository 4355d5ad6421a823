-- What the planner keeps of columns are samples of them, and stay after the rows are gone: none are taken of what was
-- said. No statement is planned by them; those of owners, places and times are kept. Where the tables are distributed,
-- such a column cannot be changed, and before PostgreSQL 18 only a superuser clears the samples that there are.
DO $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT n.nspname AS space, c.relname AS name, a.attname AS attribute
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relkind = 'r' AND n.nspname = current_schema()
          AND (c.relname::text, a.attname::text) IN (
              ('store', 'value'), ('checkpoints', 'checkpoint'), ('checkpoints', 'metadata'),
              ('checkpoint_blobs', 'blob'), ('checkpoint_writes', 'blob')
          )
    LOOP
        BEGIN
            EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN %I SET STATISTICS 0', place.space, place.name, place.attribute);
            IF current_setting('server_version_num')::int >= 180000 THEN
                EXECUTE format(
                    'SELECT pg_clear_attribute_stats(%L, %L, %L, false)', place.space, place.name, place.attribute
                );
            ELSE
                DELETE FROM pg_statistic WHERE starelid = format('%I.%I', place.space, place.name)::regclass
                    AND staattnum = (
                        SELECT attnum FROM pg_attribute
                        WHERE attrelid = format('%I.%I', place.space, place.name)::regclass
                          AND attname = place.attribute
                    );
            END IF;
        EXCEPTION WHEN feature_not_supported OR insufficient_privilege THEN
            NULL;
        END;
    END LOOP;
END $$;
