"""Keys on a database: made once, wrapped, forgotten with their owner, and rotated by commands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from pydantic import SecretStr

from react_mem.agents import open_agent
from react_mem.agents.cli import main
from react_mem.errors import EncryptionKeyError, StorageError
from react_mem.memory.opening import open_memory, open_storage
from react_mem.memory.store.key_ring import STALE_KEY, KeyRing, OwnerKey, need_keys
from react_mem.memory.store.master_key import LocalMasterKey, MasterKey
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.storage_settings import StorageSettings
from react_mem.memory.store.transactions import Guard
from react_mem.memory.store.writes import revise
from tests.support.citus import one_server
from tests.support.databases import fresh_memory_store

MASTER = MasterKey(LocalMasterKey(bytes(range(32))))


ANN = ("memory", "ann", "semantic")


NEW = bytes(range(1, 33))


@pytest.fixture
async def store(database_server: str) -> AsyncIterator[MemoryStore]:
    async with fresh_memory_store(database_server) as opened:
        yield opened


async def rows(store: MemoryStore) -> list[DictRow]:
    async with store.pool.connection() as conn:
        return await (await conn.execute("SELECT * FROM memory_keys ORDER BY owner")).fetchall()


async def needed(store: MemoryStore, key: OwnerKey) -> None:
    async with store.pool.connection() as conn, conn.pipeline(), conn.transaction():
        await revise(conn, [key.owner], removes=False)
        await need_keys(conn, [key])


def settings_of(url: str, **keys: Any) -> StorageSettings:
    return StorageSettings(database_url=SecretStr(url), embedding="local", pool_max=2, **keys)


async def test_a_key_is_made_once_by_all_who_ask_and_is_in_the_database_only_wrapped(store: MemoryStore) -> None:
    rings = [KeyRing(store.pool, MASTER) for _ in range(4)]
    keys = await asyncio.gather(*(ring.of("ann") for ring in rings for _ in range(3)))
    assert len({key.keyed("x") for key in keys}) == 1
    [row] = await rows(store)
    assert (row["version"], row["wrapped_by"]) == (keys[0].version, MASTER.id)
    assert await KeyRing(store.pool, MASTER).find(["bob"]) == {}
    assert len(await rows(store)) == 1


async def test_a_key_moved_to_another_owner_is_refused(store: MemoryStore) -> None:
    await KeyRing(store.pool, MASTER).of("ann")
    async with store.pool.connection() as conn:
        copied = "SELECT version, wrapped, wrapped_by FROM memory_keys WHERE owner = 'ann'"
        [row] = await (await conn.execute(copied)).fetchall()
        moved = "INSERT INTO memory_keys (owner, version, wrapped, wrapped_by) VALUES ('bob', %s, %s, %s)"
        await conn.execute(moved, tuple(row.values()))
    with pytest.raises(EncryptionKeyError, match="moved from"):
        await KeyRing(store.pool, MASTER).of("bob")


async def test_a_forgotten_user_has_no_key_and_who_still_has_it_cannot_write_with_it(store: MemoryStore) -> None:
    ring, elsewhere = KeyRing(store.pool, MASTER), KeyRing(store.pool, MASTER)
    await store.aput(ANN, "1", {"text": "tea"})
    stale = await elsewhere.of("ann")
    await ring.of("bob")
    await needed(store, stale)
    assert await store.aerase_if([], Guard(("memory", "ann", "meta"), "revision", None))
    assert [row["owner"] for row in await rows(store)] == ["bob"]
    with pytest.raises(psycopg.Error) as refused:
        await needed(store, stale)
    assert refused.value.sqlstate == STALE_KEY
    elsewhere.forget("ann")
    fresh = await elsewhere.of("ann")
    assert fresh.keyed("x") != stale.keyed("x")
    await needed(store, fresh)


@one_server  # the lock is seen here
async def test_who_writes_while_a_user_is_forgotten_is_told(store: MemoryStore) -> None:
    """The writer waits for the row of the owner that the other holds, and then sees that the key is gone."""
    key = await KeyRing(store.pool, MASTER).of("ann")
    async with await AsyncConnection.connect(store.pool.conninfo) as other:
        await other.execute("INSERT INTO memory_owners (owner) VALUES ('ann')")
        await other.execute("DELETE FROM memory_keys WHERE owner = 'ann'")
        writing = asyncio.create_task(needed(store, key))
        async with store.pool.connection() as conn:
            waits = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            while not await (await conn.execute(waits)).fetchone():
                assert not writing.done()
        await other.commit()
    with pytest.raises(psycopg.Error) as refused:
        await writing
    assert refused.value.sqlstate == STALE_KEY


async def test_a_database_is_opened_only_with_the_key_that_it_is_encrypted_under(database_url: str) -> None:
    ours, theirs = (SecretStr(bytes(range(start, start + 32)).hex()) for start in (0, 1))
    async with open_storage(settings_of(database_url)):
        pass
    async with open_storage(settings_of(database_url, encryption_key=ours)) as storage:
        assert storage.store.keys is not None
        await storage.store.keys.of("ann")
        before = await rows(storage.store)
    with pytest.raises(EncryptionKeyError, match=r"and none is set. Set MEMORY_ENCRYPTION_KEY.*Nothing was changed"):
        async with open_storage(settings_of(database_url)):
            pass
    with pytest.raises(EncryptionKeyError, match=r"and set is .*Nothing was changed"):
        async with open_storage(settings_of(database_url, encryption_key=theirs)):
            pass
    both = {"encryption_key": theirs, "encryption_key_former": ours}
    async with open_storage(settings_of(database_url, **both)) as storage:
        assert await rows(storage.store) == before


async def test_a_database_that_was_opened_with_a_key_is_encrypted_from_then_on(database_url: str) -> None:
    """Its threads are, though no memory has been written."""
    async with open_storage(settings_of(database_url, encryption_key=SecretStr("00" * 32))):
        pass
    with pytest.raises(EncryptionKeyError, match="and none is set"):
        async with open_storage(settings_of(database_url)):
            pass


async def test_what_would_keep_memories_in_plain_beside_a_key_is_refused(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = {"vector_store": "my_store:make", "encryption_key": SecretStr("00" * 32)}
    with pytest.raises(StorageError, match="would hold in plain"):
        async with open_storage(settings_of(database_url, **elsewhere)):
            pass
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", "00" * 32)
    with pytest.raises(StorageError, match="InMemoryStore would keep memories in plain"):
        async with open_memory(store=InMemoryStore()):
            pass
    with pytest.raises(StorageError, match="InMemoryStore would keep memories in plain"):
        async with open_agent("assistant", store=InMemoryStore(), checkpointer=InMemorySaver()):
            pass


def test_the_command_makes_a_key_tells_of_keys_and_rotates(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    assert main(["keys", "new"]) == 0
    key = capsys.readouterr().out.strip()
    assert main(["keys", "rotate"]) == 2
    assert "No master key is set" in capsys.readouterr().err

    async def make() -> str:
        settings = StorageSettings(database_url=SecretStr(database_url), encryption_key=SecretStr(key))
        async with open_storage(settings) as storage:
            assert storage.store.keys is not None
            await storage.store.keys.of("ann")
            return storage.store.keys.master.id

    made = asyncio.run(make())
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", NEW.hex())
    assert main(["keys", "status"]) == 2
    assert f"master key '{made}'" in capsys.readouterr().err
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY_FORMER", key)
    assert main(["keys", "rotate"]) == 0
    # that of the user, that of the threads, and one that tells the right master key from a wrong one
    assert capsys.readouterr().out.startswith("3 data keys are wrapped anew by the master key")
    monkeypatch.delenv("MEMORY_ENCRYPTION_KEY_FORMER")
    assert main(["keys", "status"]) == 0
    name = MasterKey(LocalMasterKey(NEW)).id
    expected = {"master_key": name, "in_use": 1, "former": 0, "wrapped_by": {name: 1}}
    assert json.loads(capsys.readouterr().out) == expected


def test_the_command_seals_what_is_in_plain_and_gives_new_data_keys(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")

    async def facts(*new: str) -> list[str]:
        async with open_memory() as memory:
            if new:
                await memory.semantic.add(list(new), user_id="ann", session_id="monday", agent_id="assistant")
            return [fact.payload["text"] for fact in await memory.semantic.search("What do I like?", user_id="ann")]

    before = asyncio.run(facts("I like tea", "I have a red car", "I like my cat"))
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", NEW.hex())
    assert asyncio.run(facts()) == before
    assert main(["keys", "seal"]) == 0
    told = capsys.readouterr().out
    assert "VACUUM FULL" in told
    assert "and 0 with another data key" in told
    assert asyncio.run(facts()) == before
    assert main(["keys", "rotate", "--data-keys"]) == 0
    told = capsys.readouterr().out
    assert "1 owner has a new data key" in told
    assert "0 records that were in plain are sealed, and 0 with" not in told
    assert asyncio.run(facts()) == before
    assert main(["keys", "seal"]) == 0
    assert "0 records that were in plain are sealed, and 0 with" in capsys.readouterr().out
