-- The data keys of owners, wrapped by a master key that is not in the database. One is in use; those before it open what
-- they sealed until that is sealed anew. What belongs to the database itself has owners with a colon.
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

-- For a transaction that has raised the owner's revision: fails unless the key that it seals with is the one in use.
CREATE FUNCTION memory_need_key(whose text, wanted bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM memory_keys k WHERE k.owner = whose AND k.version = wanted AND k.state = 'live';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the data key is not the one in use' USING ERRCODE = 'RM001';
    END IF;
END
$$;
