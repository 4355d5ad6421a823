-- What a listing picks out by a field of its items, though an owner has ten thousand of them: those of one conversation,
-- and those that have not been read yet. Without these, every item of the namespace is read and decoded for each listing.
-- step: index
CREATE INDEX CONCURRENTLY store_session_idx ON store (owner, (value ->> 'session_id')) WHERE value ->> 'session_id' IS NOT NULL;
-- step: index
CREATE INDEX CONCURRENTLY store_unread_idx ON store (owner) WHERE value -> 'unread' = 'true'::jsonb;
