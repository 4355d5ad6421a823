-- Recalls are scored in the process, by the numbers of words: the function goes, and the sparse vectors that it compared.
DROP FUNCTION IF EXISTS memory_recall(jsonb, vector);

-- Of a text that a writer has changed who does not know words, they are not known, until they are read anew. A vector in
-- half precision alone stays where nothing else of the text is written.
CREATE OR REPLACE FUNCTION memory_fill_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.owner := memory_owner(NEW.prefix);
    IF TG_OP = 'INSERT' OR NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN
        NEW.half := NEW.embedding::halfvec;
        NEW.words := NULL;
    ELSIF NEW.embedding IS DISTINCT FROM OLD.embedding THEN
        NEW.half := NEW.embedding::halfvec;
    END IF;
    NEW.revision := memory_revise(NEW.owner, FALSE);
    RETURN NEW;
END
$$;
DROP FUNCTION memory_words(sparsevec);

ALTER TABLE store_vectors DROP COLUMN terms;
-- what an interrupted re-embedding has made so far
ALTER TABLE IF EXISTS store_vectors_next DROP COLUMN IF EXISTS terms;
