-- A batch of writes of one owner as `memory_write`, of which the index holds the words at once and the vectors later:
-- what a turn says. Another name, for the version before goes on with the former one meanwhile.
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
