-- What a re-embedding of the version before had gathered so far when it was interrupted: now it is done in place.
DROP TABLE IF EXISTS store_vectors_next;
