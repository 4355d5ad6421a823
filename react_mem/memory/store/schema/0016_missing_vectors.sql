-- Rows that lack a vector are found without reading the rest.
CREATE INDEX IF NOT EXISTS store_vectors_missing_idx ON store_vectors (prefix, key, field_name) WHERE embedding IS NULL;
