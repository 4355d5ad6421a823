-- A search reads one owner's vectors by a range of prefixes, whatever the database's collation.
CREATE INDEX IF NOT EXISTS store_vectors_prefix_idx ON store_vectors (prefix text_pattern_ops);
