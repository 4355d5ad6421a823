-- What is attached to messages belongs to their owner too, apart from memory. There was nothing there before.
CREATE OR REPLACE FUNCTION memory_owner(prefix text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN split_part(prefix, '.', 1) IN ('memory', 'memory_work', 'terminal', 'memory_attachments')
            AND strpos(prefix, '.') > 0
            THEN split_part(prefix, '.', 2)
        ELSE split_part(prefix, '.', 1) || '.' || split_part(prefix, '.', 2)
    END
$$;
