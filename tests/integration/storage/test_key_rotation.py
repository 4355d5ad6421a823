"""Rotation of the master key, while others make and read keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from react_mem.agents.cli import main
from react_mem.errors import EncryptionKeyError
from react_mem.memory.opening import open_memory, open_storage
from react_mem.memory.store.keys.key_ring import KeyRing, key_counts, rewrap
from react_mem.memory.store.keys.master_key import LocalMasterKey, MasterKey
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.storage_settings import StorageSettings
from tests.support.databases import open_memory_store, word_model

OLD, NEW = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[MemoryStore]:
    async with open_memory_store(database_url, word_model()) as opened:
        yield opened


async def test_every_key_is_wrapped_anew_and_stays_what_it_is(store: MemoryStore) -> None:
    old, both = MasterKey(LocalMasterKey(OLD)), MasterKey(LocalMasterKey(NEW), [LocalMasterKey(OLD)])
    # still wraps by the old one, and knows the new one already
    ring = KeyRing(store.pool, MasterKey(LocalMasterKey(OLD), [LocalMasterKey(NEW)]))
    owners = [f"user{number}" for number in range(1_100)]
    before = {owner: (await ring.of(owner)).keyed("x") for owner in owners}
    derived = await ring.derive("checkpoints")

    async def new_users() -> None:
        for number in range(50):
            before[f"new{number}"] = (await ring.of(f"new{number}")).keyed("x")

    reports: list[tuple[int, int]] = []
    done, _ = await asyncio.gather(rewrap(store.pool, both, lambda *counts: reports.append(counts)), new_users())
    assert reports[0][0] == 0
    assert reports[-1][0] == sum(done)
    assert len(reports) >= 4
    late = await rewrap(store.pool, both, lambda done, total: None)
    assert (done.of_owners + late.of_owners, done.own + late.own) == (1_150, 1)
    assert await key_counts(store.pool) == (1_150, 0, {MasterKey(LocalMasterKey(NEW)).id: 1_150})
    fresh = KeyRing(store.pool, MasterKey(LocalMasterKey(NEW)))
    found = await fresh.find(list(before))
    assert {owner: key.keyed("x") for owner, key in found.items()} == before
    assert await fresh.derive("checkpoints") == derived
    with pytest.raises(EncryptionKeyError, match="Nothing was changed"):
        await KeyRing(store.pool, old).of("user0")


async def test_without_the_former_key_nothing_is_wrapped_anew(store: MemoryStore) -> None:
    await KeyRing(store.pool, MasterKey(LocalMasterKey(OLD))).of("ann")
    with pytest.raises(EncryptionKeyError, match="MEMORY_ENCRYPTION_KEY_FORMER"):
        await rewrap(store.pool, MasterKey(LocalMasterKey(NEW)), lambda done, total: None)
    assert (await key_counts(store.pool)).wrapped_by == {MasterKey(LocalMasterKey(OLD)).id: 1}


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
    told = capsys.readouterr().out
    assert told.startswith("1 data key of an owner is wrapped anew by")
    assert told.rstrip().endswith("and 2 keys that the store keeps for itself")
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
