-- Who did what with whose memory: entries that are only ever added, each with the hash of the one before it. An owner is in it
-- by a hash, so that the chain outlives the owner. The head says where the chain ends.
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
