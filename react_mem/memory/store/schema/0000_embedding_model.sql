-- The model that made the vectors of this database: those of another model cannot be compared with them.
CREATE TABLE memory_embedding (
    only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    name text NOT NULL,
    dims integer NOT NULL
);
