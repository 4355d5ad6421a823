-- Beside its vector a row gets what else it is found by: words, place in the conversation, time. It loses the index over
-- all tenants, which is most of the cost of a write and no good for a search within one tenant.
DROP TABLE IF EXISTS store_vectors_next;

-- Columns that every row of an owner is compared by come first: a column costs all that stand before it. Vectors are
-- compared in half precision, which the database makes of the whole ones, so that a writer need not know.
CREATE TABLE store_vectors_next (
    half halfvec({dims}) GENERATED ALWAYS AS (embedding::halfvec({dims})) STORED,
    terms sparsevec(1000000000),
    length real,
    place bigint,
    said_at timestamptz,
    prefix text NOT NULL,
    key text NOT NULL,
    field_name text NOT NULL,
    embedding vector({dims}),
    created_at timestamptz DEFAULT CURRENT_TIMESTAMP,
    updated_at timestamptz DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT store_vectors_next_pkey PRIMARY KEY (prefix, key, field_name),
    CONSTRAINT store_vectors_next_prefix_key_fkey
        FOREIGN KEY (prefix, key) REFERENCES store (prefix, key) ON DELETE CASCADE
);

-- The bytes up to which a row stays in one piece: the half vector and a hundred words, but not the whole vector, which
-- few are compared by. The largest column is moved out first.
ALTER TABLE store_vectors_next SET (toast_tuple_target = {inline});

-- An owner's rows in the order of the conversation, by a range of prefixes, whatever the database's collation.
CREATE INDEX store_vectors_next_place_idx ON store_vectors_next (prefix text_pattern_ops, place);

INSERT INTO store_vectors_next (prefix, key, field_name, embedding, created_at, updated_at)
SELECT prefix, key, field_name, embedding, created_at, updated_at FROM store_vectors ORDER BY prefix, key;

DROP TABLE store_vectors;
ALTER TABLE store_vectors_next RENAME TO store_vectors;
ALTER INDEX store_vectors_next_pkey RENAME TO store_vectors_pkey;
ALTER INDEX store_vectors_next_place_idx RENAME TO store_vectors_place_idx;
ALTER TABLE store_vectors
    RENAME CONSTRAINT store_vectors_next_prefix_key_fkey TO store_vectors_prefix_key_fkey;
