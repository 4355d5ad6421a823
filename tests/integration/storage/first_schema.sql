-- A database as the first version of the store left it, as pg_dump tells it: two owners with messages, facts, an episode,
-- a profile and a turn that waits, an item of an application's own, and a thread. Its vectors are those of
-- `word_model(16)`. Never edited: what later versions make of it is tested.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE checkpoint_blobs (
    thread_id text NOT NULL,
    checkpoint_ns text DEFAULT ''::text NOT NULL,
    channel text NOT NULL,
    version text NOT NULL,
    type text NOT NULL,
    blob bytea
);

CREATE TABLE checkpoint_migrations (
    v integer NOT NULL
);

CREATE TABLE checkpoint_writes (
    thread_id text NOT NULL,
    checkpoint_ns text DEFAULT ''::text NOT NULL,
    checkpoint_id text NOT NULL,
    task_id text NOT NULL,
    idx integer NOT NULL,
    channel text NOT NULL,
    type text,
    blob bytea NOT NULL,
    task_path text DEFAULT ''::text NOT NULL
);

CREATE TABLE checkpoints (
    thread_id text NOT NULL,
    checkpoint_ns text DEFAULT ''::text NOT NULL,
    checkpoint_id text NOT NULL,
    parent_checkpoint_id text,
    type text,
    checkpoint jsonb NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL
);

CREATE TABLE memory_embedding (
    only_row boolean DEFAULT true NOT NULL,
    name text NOT NULL,
    dims integer NOT NULL,
    CONSTRAINT memory_embedding_only_row_check CHECK (only_row)
);

CREATE TABLE memory_migrations (
    v integer NOT NULL
);

CREATE TABLE store (
    prefix text NOT NULL,
    key text NOT NULL,
    value jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP,
    expires_at timestamp with time zone,
    ttl_minutes integer
);

CREATE TABLE store_migrations (
    v integer NOT NULL
);

CREATE TABLE store_vectors (
    prefix text NOT NULL,
    key text NOT NULL,
    field_name text NOT NULL,
    embedding vector(16),
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE vector_migrations (
    v integer NOT NULL
);

INSERT INTO checkpoint_blobs VALUES ('monday', '', '__start__', '00000000000000000000000000000001.0.8964663165350786', 'msgpack', '\x81a86d657373616765739183a4726f6c65a475736572a7636f6e74656e74ab48692c2049276d20416e6ea26964a26831');
INSERT INTO checkpoint_blobs VALUES ('monday', '', 'messages', '00000000000000000000000000000002.0.3291370208387595', 'msgpack', '\x91c7920594bd6c616e67636861696e5f636f72652e6d657373616765732e68756d616eac48756d616e4d65737361676586a7636f6e74656e74ab48692c2049276d20416e6eb16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a568756d616ea46e616d65c0a26964a26831b36d6f64656c5f76616c69646174655f6a736f6e');
INSERT INTO checkpoint_blobs VALUES ('monday', '', 'messages', '00000000000000000000000000000003.0.6446572179088876', 'msgpack', '\x92c7920594bd6c616e67636861696e5f636f72652e6d657373616765732e68756d616eac48756d616e4d65737361676586a7636f6e74656e74ab48692c2049276d20416e6eb16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a568756d616ea46e616d65c0a26964a26831b36d6f64656c5f76616c69646174655f6a736f6ec7b70594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a948656c6c6f20416e6eb16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964a26131aa746f6f6c5f63616c6c7390b2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e');

INSERT INTO checkpoint_migrations VALUES (0);
INSERT INTO checkpoint_migrations VALUES (1);
INSERT INTO checkpoint_migrations VALUES (2);
INSERT INTO checkpoint_migrations VALUES (3);
INSERT INTO checkpoint_migrations VALUES (4);
INSERT INTO checkpoint_migrations VALUES (5);
INSERT INTO checkpoint_migrations VALUES (6);
INSERT INTO checkpoint_migrations VALUES (7);
INSERT INTO checkpoint_migrations VALUES (8);
INSERT INTO checkpoint_migrations VALUES (9);

INSERT INTO checkpoint_writes VALUES ('monday', '', '1f1e6bf9-b4c2-629e-bfff-ca5bf063a01f', 'cf5662b1-da7f-ebdf-21ae-6b5fb99d4ed0', 0, 'messages', 'msgpack', '\x9183a4726f6c65a475736572a7636f6e74656e74ab48692c2049276d20416e6ea26964a26831', '~__pregel_pull, __start__');
INSERT INTO checkpoint_writes VALUES ('monday', '', '1f1e6bf9-b4c2-629e-bfff-ca5bf063a01f', 'cf5662b1-da7f-ebdf-21ae-6b5fb99d4ed0', 1, 'branch:to:answer', 'null', '\x', '~__pregel_pull, __start__');
INSERT INTO checkpoint_writes VALUES ('monday', '', '1f1e6bf9-b4e2-67cc-8000-5332ca83863b', '977d4002-f16e-414e-5f67-951220f4b188', 0, 'messages', 'msgpack', '\x91c7b70594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a948656c6c6f20416e6eb16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964a26131aa746f6f6c5f63616c6c7390b2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e', '~__pregel_pull, answer');

INSERT INTO checkpoints VALUES ('monday', '', '1f1e6bf9-b4c2-629e-bfff-ca5bf063a01f', NULL, NULL, '{"v": 4, "id": "1f1e6bf9-b4c2-629e-bfff-ca5bf063a01f", "ts": "2026-11-22T21:56:44.379604+00:00", "versions_seen": {"__input__": {}}, "channel_values": {}, "channel_versions": {"__start__": "00000000000000000000000000000001.0.8964663165350786"}, "updated_channels": ["__start__"]}', '{"step": -1, "source": "input", "parents": {}}');
INSERT INTO checkpoints VALUES ('monday', '', '1f1e6bf9-b4e2-67cc-8000-5332ca83863b', '1f1e6bf9-b4c2-629e-bfff-ca5bf063a01f', NULL, '{"v": 4, "id": "1f1e6bf9-b4e2-67cc-8000-5332ca83863b", "ts": "2026-11-22T21:56:44.392828+00:00", "versions_seen": {"__input__": {}, "__start__": {"__start__": "00000000000000000000000000000001.0.8964663165350786"}}, "channel_values": {"branch:to:answer": null}, "channel_versions": {"messages": "00000000000000000000000000000002.0.3291370208387595", "__start__": "00000000000000000000000000000002.0.3291370208387595", "branch:to:answer": "00000000000000000000000000000002.0.3291370208387595"}, "updated_channels": ["branch:to:answer", "messages"]}', '{"step": 0, "source": "loop", "parents": {}}');
INSERT INTO checkpoints VALUES ('monday', '', '1f1e6bf9-b4fe-6d71-8001-d9db84d88224', '1f1e6bf9-b4e2-67cc-8000-5332ca83863b', NULL, '{"v": 4, "id": "1f1e6bf9-b4fe-6d71-8001-d9db84d88224", "ts": "2026-11-22T21:56:44.404450+00:00", "versions_seen": {"answer": {"branch:to:answer": "00000000000000000000000000000002.0.3291370208387595"}, "__input__": {}, "__start__": {"__start__": "00000000000000000000000000000001.0.8964663165350786"}}, "channel_values": {}, "channel_versions": {"messages": "00000000000000000000000000000003.0.6446572179088876", "__start__": "00000000000000000000000000000002.0.3291370208387595", "branch:to:answer": "00000000000000000000000000000003.0.6446572179088876"}, "updated_channels": ["messages"]}', '{"step": 1, "source": "loop", "parents": {}}');

INSERT INTO memory_embedding VALUES (true, 'test:words', 16);

INSERT INTO memory_migrations VALUES (0);
INSERT INTO memory_migrations VALUES (1);

INSERT INTO store VALUES ('memory.ann.dialog', '687929cb-562a-5d1e-ac94-ca9931c0ebcf', '{"id": "687929cb-562a-5d1e-ac94-ca9931c0ebcf", "kind": "message", "role": "assistant", "text": "Noted: you live in Đà Nẵng.", "turn": 1, "content": "Noted: you live in Đà Nẵng.", "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.ann.dialog', '7ee0b369-ec3c-5adc-92a6-19778f2e3652', '{"id": "7ee0b369-ec3c-5adc-92a6-19778f2e3652", "kind": "message", "role": "user", "text": "It''s 20 % off: \\ ''quoted'' \"zebra\" {dims}", "turn": 2, "content": "It''s 20 % off: \\ ''quoted'' \"zebra\" {dims}", "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.ann.dialog', 'a24767e2-220d-5e9f-b617-d46a24db72e4', '{"id": "a24767e2-220d-5e9f-b617-d46a24db72e4", "kind": "message", "role": "user", "text": "I live in Đà Nẵng now, no longer in Huế", "turn": 0, "content": "I live in Đà Nẵng now, no longer in Huế", "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.ann.episodic', '0c42b3b0-8d69-5ff2-8263-8aa64912f15a', '{"id": "0c42b3b0-8d69-5ff2-8263-8aa64912f15a", "goal": "move house", "kind": "episode", "text": "Helped to move house", "level": "task", "steps": [], "lessons": [], "outcome": "done", "agent_id": "agent", "situation": "", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.ann.pending', '1b597546-1962-58c6-a25a-78a2ccad1b5b', '{"id": "1b597546-1962-58c6-a25a-78a2ccad1b5b", "kind": "pending", "text": "", "agent_id": "agent", "attempts": 0, "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "last_error": "", "session_id": "monday", "source_ids": ["7ee0b369-ec3c-5adc-92a6-19778f2e3652"]}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.ann.profile', 'profile', '{"id": "profile", "kind": "profile", "text": "lives in Đà Nẵng", "fields": {"city": {"value": "Đà Nẵng", "source_ids": ["a24767e2-220d-5e9f-b617-d46a24db72e4"], "updated_at": "2025-01-06T09:00:00Z"}}, "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.ann.semantic', '0a0028e2-a12c-5f73-8ecc-393948c42c70', '{"id": "0a0028e2-a12c-5f73-8ecc-393948c42c70", "kind": "fact", "text": "User lives in Huế", "object": "Huế", "current": false, "subject": "user", "support": 1, "agent_id": "agent", "valid_to": null, "verbatim": false, "predicate": "lives in", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "retired_at": "2025-01-06T09:00:00Z", "session_id": "monday", "source_ids": ["a24767e2-220d-5e9f-b617-d46a24db72e4"], "valid_from": null, "superseded_by": "fb40f460-7bce-5596-9348-098528ac9d7a"}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.ann.semantic', 'fb40f460-7bce-5596-9348-098528ac9d7a', '{"id": "fb40f460-7bce-5596-9348-098528ac9d7a", "kind": "fact", "text": "User lives in Đà Nẵng", "object": "Đà Nẵng", "current": true, "subject": "user", "support": 1, "agent_id": "agent", "valid_to": null, "verbatim": false, "predicate": "lives in", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "retired_at": null, "session_id": "monday", "source_ids": ["a24767e2-220d-5e9f-b617-d46a24db72e4"], "valid_from": null, "superseded_by": null}', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.dialog', '1979c0e2-0429-5be7-97a2-4aa96137eea6', '{"id": "1979c0e2-0429-5be7-97a2-4aa96137eea6", "kind": "message", "role": "user", "text": "I live in Lisbon now, no longer in Paris", "turn": 0, "content": "I live in Lisbon now, no longer in Paris", "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.dialog', '6dd29c2b-ba89-58fb-bb46-a72a8a386618', '{"id": "6dd29c2b-ba89-58fb-bb46-a72a8a386618", "kind": "message", "role": "user", "text": "It''s 20 % off: \\ ''quoted'' \"zebra\" {dims}", "turn": 2, "content": "It''s 20 % off: \\ ''quoted'' \"zebra\" {dims}", "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.dialog', '9bed05e7-4855-521b-8748-405da7bc3c3b', '{"id": "9bed05e7-4855-521b-8748-405da7bc3c3b", "kind": "message", "role": "assistant", "text": "Noted: you live in Lisbon.", "turn": 1, "content": "Noted: you live in Lisbon.", "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.episodic', '4152b9a8-2940-5e46-a88b-da0069c54c84', '{"id": "4152b9a8-2940-5e46-a88b-da0069c54c84", "goal": "move house", "kind": "episode", "text": "Helped to move house", "level": "task", "steps": [], "lessons": [], "outcome": "done", "agent_id": "agent", "situation": "", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.pending', 'cd6ed373-bd5d-564a-a734-90f9d180d293', '{"id": "cd6ed373-bd5d-564a-a734-90f9d180d293", "kind": "pending", "text": "", "agent_id": "agent", "attempts": 0, "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "last_error": "", "session_id": "monday", "source_ids": ["6dd29c2b-ba89-58fb-bb46-a72a8a386618"]}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.profile', 'profile', '{"id": "profile", "kind": "profile", "text": "lives in Lisbon", "fields": {"city": {"value": "Lisbon", "source_ids": ["1979c0e2-0429-5be7-97a2-4aa96137eea6"], "updated_at": "2025-01-06T09:00:00Z"}}, "agent_id": "agent", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "session_id": "monday", "source_ids": []}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.semantic', 'a206388f-da01-575a-8ffc-83115bee4648', '{"id": "a206388f-da01-575a-8ffc-83115bee4648", "kind": "fact", "text": "User lives in Lisbon", "object": "Lisbon", "current": true, "subject": "user", "support": 1, "agent_id": "agent", "valid_to": null, "verbatim": false, "predicate": "lives in", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "retired_at": null, "session_id": "monday", "source_ids": ["1979c0e2-0429-5be7-97a2-4aa96137eea6"], "valid_from": null, "superseded_by": null}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('memory.bob%40example%2Ecom.semantic', 'f91b1d9d-3cd1-5fb0-9462-3dad2d82bbc8', '{"id": "f91b1d9d-3cd1-5fb0-9462-3dad2d82bbc8", "kind": "fact", "text": "User lives in Paris", "object": "Paris", "current": false, "subject": "user", "support": 1, "agent_id": "agent", "valid_to": null, "verbatim": false, "predicate": "lives in", "created_at": "2025-01-06T09:00:00Z", "importance": 0.5, "retired_at": "2025-01-06T09:00:00Z", "session_id": "monday", "source_ids": ["1979c0e2-0429-5be7-97a2-4aa96137eea6"], "valid_from": null, "superseded_by": "a206388f-da01-575a-8ffc-83115bee4648"}', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00', NULL, NULL);
INSERT INTO store VALUES ('notes', 'short', '{"text": "an application''s own"}', '2026-11-22 21:56:44.338125+00', '2026-11-22 21:56:44.338125+00', '3167-09-09 13:56:44.338125+00', 600000000);

INSERT INTO store_migrations VALUES (0);
INSERT INTO store_migrations VALUES (1);
INSERT INTO store_migrations VALUES (2);
INSERT INTO store_migrations VALUES (3);

INSERT INTO store_vectors VALUES ('memory.ann.dialog', '687929cb-562a-5d1e-ac94-ca9931c0ebcf', 'text', '[-0.17778,-0.17778,-0.355559,-0.017778,-0.17778,0,0.337781,0.160002,0.533339,0,-0.195557,0,0,0.17778,0,0.533339]', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00');
INSERT INTO store_vectors VALUES ('memory.ann.dialog', '7ee0b369-ec3c-5adc-92a6-19778f2e3652', 'text', '[0.138356,0.553425,0,-0.013836,0.691781,0.138356,-0.013836,-0.152192,0,0.138356,-0.013836,-0.138356,0.138356,0,-0.276712,-0.138356]', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00');
INSERT INTO store_vectors VALUES ('memory.ann.dialog', 'a24767e2-220d-5e9f-b617-d46a24db72e4', 'text', '[-0.223384,0.223384,-0.223384,-0.022338,-0.446767,0.223384,0.201045,-0.022338,0.446767,-0.446767,-0.245722,-0.223384,0,0,0,0.223384]', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00');
INSERT INTO store_vectors VALUES ('memory.ann.episodic', '0c42b3b0-8d69-5ff2-8263-8aa64912f15a', 'text', '[-0.232873,0,0,-0.721907,0,-0.232873,0.209586,-0.023287,0,-0.232873,-0.023287,0.232873,-0.232873,-0.232873,-0.232873,-0.232873]', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00');
INSERT INTO store_vectors VALUES ('memory.ann.profile', 'profile', 'text', '[0,0,-0.281272,-0.309399,-0.281272,-0.281272,-0.590671,0.253145,0.281272,0,-0.309399,0,0,0,0,0.281272]', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00');
INSERT INTO store_vectors VALUES ('memory.ann.semantic', '0a0028e2-a12c-5f73-8ecc-393948c42c70', 'text', '[0.348367,0,-0.348367,-0.034837,0.348367,-0.348367,-0.383203,0.31353,0,0,-0.383203,0,0,0,-0.348367,0]', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00');
INSERT INTO store_vectors VALUES ('memory.ann.semantic', 'fb40f460-7bce-5596-9348-098528ac9d7a', 'text', '[0,0,-0.281272,-0.309399,0,-0.281272,-0.590671,0.253145,0.281272,0,-0.309399,0,0,0,-0.281272,0.281272]', '2026-11-22 21:56:44.295054+00', '2026-11-22 21:56:44.295054+00');
INSERT INTO store_vectors VALUES ('memory.bob%40example%2Ecom.dialog', '1979c0e2-0429-5be7-97a2-4aa96137eea6', 'text', '[-0.46269,0,-0.15423,-0.015423,-0.15423,0.30846,0.293037,-0.015423,0.46269,-0.30846,-0.323883,-0.30846,0,0.15423,0.15423,0]', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00');
INSERT INTO store_vectors VALUES ('memory.bob%40example%2Ecom.dialog', '6dd29c2b-ba89-58fb-bb46-a72a8a386618', 'text', '[0.138356,0.553425,0,-0.013836,0.691781,0.138356,-0.013836,-0.152192,0,0.138356,-0.013836,-0.138356,0.138356,0,-0.276712,-0.138356]', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00');
INSERT INTO store_vectors VALUES ('memory.bob%40example%2Ecom.dialog', '9bed05e7-4855-521b-8748-405da7bc3c3b', 'text', '[-0.205673,0,-0.205673,-0.020567,0,0.205673,0.390778,0.185105,0.617018,-0.411345,-0.22624,0,0.205673,0,0,0.205673]', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00');
INSERT INTO store_vectors VALUES ('memory.bob%40example%2Ecom.episodic', '4152b9a8-2940-5e46-a88b-da0069c54c84', 'text', '[-0.232873,0,0,-0.721907,0,-0.232873,0.209586,-0.023287,0,-0.232873,-0.023287,0.232873,-0.232873,-0.232873,-0.232873,-0.232873]', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00');
INSERT INTO store_vectors VALUES ('memory.bob%40example%2Ecom.profile', 'profile', 'text', '[0,-0.281272,-0.281272,-0.309399,0,-0.281272,-0.309399,0.253145,0.281272,0,-0.590671,-0.281272,0,0,0,0]', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00');
INSERT INTO store_vectors VALUES ('memory.bob%40example%2Ecom.semantic', 'a206388f-da01-575a-8ffc-83115bee4648', 'text', '[0,-0.261354,-0.261354,-0.28749,0.261354,-0.261354,-0.28749,0.235219,0.261354,0,-0.548844,-0.261354,0,0,-0.261354,0]', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00');
INSERT INTO store_vectors VALUES ('memory.bob%40example%2Ecom.semantic', 'f91b1d9d-3cd1-5fb0-9462-3dad2d82bbc8', 'text', '[-0.348367,0,-0.348367,-0.034837,0.348367,0,-0.383203,0.31353,0.348367,0,-0.383203,0,0,0.348367,0,0]', '2026-11-22 21:56:44.319061+00', '2026-11-22 21:56:44.319061+00');
INSERT INTO store_vectors VALUES ('notes', 'short', 'text', '[-0.357143,-0.357143,0.357143,-0.035714,-0.357143,0,-0.035714,0.321429,-0.357143,0,-0.035714,0,0,0.357143,0.357143,0]', '2026-11-22 21:56:44.338125+00', '2026-11-22 21:56:44.338125+00');

INSERT INTO vector_migrations VALUES (0);
INSERT INTO vector_migrations VALUES (1);
INSERT INTO vector_migrations VALUES (2);

ALTER TABLE ONLY checkpoint_blobs
    ADD CONSTRAINT checkpoint_blobs_pkey PRIMARY KEY (thread_id, checkpoint_ns, channel, version);

ALTER TABLE ONLY checkpoint_migrations
    ADD CONSTRAINT checkpoint_migrations_pkey PRIMARY KEY (v);

ALTER TABLE ONLY checkpoint_writes
    ADD CONSTRAINT checkpoint_writes_pkey PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx);

ALTER TABLE ONLY checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id);

ALTER TABLE ONLY memory_embedding
    ADD CONSTRAINT memory_embedding_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY memory_migrations
    ADD CONSTRAINT memory_migrations_pkey PRIMARY KEY (v);

ALTER TABLE ONLY store_migrations
    ADD CONSTRAINT store_migrations_pkey PRIMARY KEY (v);

ALTER TABLE ONLY store
    ADD CONSTRAINT store_pkey PRIMARY KEY (prefix, key);

ALTER TABLE ONLY store_vectors
    ADD CONSTRAINT store_vectors_pkey PRIMARY KEY (prefix, key, field_name);

ALTER TABLE ONLY vector_migrations
    ADD CONSTRAINT vector_migrations_pkey PRIMARY KEY (v);

CREATE INDEX checkpoint_blobs_thread_id_idx ON checkpoint_blobs USING btree (thread_id);

CREATE INDEX checkpoint_writes_thread_id_idx ON checkpoint_writes USING btree (thread_id);

CREATE INDEX checkpoints_thread_id_idx ON checkpoints USING btree (thread_id);

CREATE INDEX idx_store_expires_at ON store USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX store_prefix_idx ON store USING btree (prefix text_pattern_ops);

CREATE INDEX store_vectors_embedding_idx ON store_vectors USING hnsw (embedding vector_cosine_ops);

CREATE INDEX store_vectors_prefix_idx ON store_vectors USING btree (prefix text_pattern_ops);

ALTER TABLE ONLY store_vectors
    ADD CONSTRAINT store_vectors_prefix_key_fkey FOREIGN KEY (prefix, key) REFERENCES store(prefix, key) ON DELETE CASCADE;
