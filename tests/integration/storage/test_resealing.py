"""Sealing what is there already, and rotating data keys, beside reading and writing."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.store.base import PutOp
from psycopg.rows import DictRow

from react_mem.memory.store.keys.key_ring import KeyRing
from react_mem.memory.store.keys.master_key import LocalMasterKey, MasterKey
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.sealing.resealing import owners_of, renew, reseal
from react_mem.memory.store.sealing.sealed_entries import opened_value
from react_mem.memory.store.transactions import Guard
from tests.support.databases import open_memory_store, word_model

MASTER = MasterKey(LocalMasterKey(bytes(range(32))))
WORD = "quokkaberry"

Items = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[MemoryStore]:
    async with open_memory_store(database_url, word_model(), sealed=False) as opened:
        yield opened


@pytest.fixture
async def sealed(store: MemoryStore, database_url: str) -> AsyncIterator[MemoryStore]:
    """A store on the same database, in a process that has the key."""
    async with open_memory_store(database_url, word_model(), sealed=True) as opened:
        yield opened


def item(owner: str, number: int) -> PutOp:
    value = {"kind": "fact", "id": f"{WORD}-{number}", "text": f"I like {WORD} {number}", "source_ids": [WORD]}
    return PutOp(("memory", owner, "semantic"), f"{WORD}-{number}", value)


async def fill(store: MemoryStore, owners: int = 3, each: int = 250) -> Items:
    puts = [item(f"user{owner}", number) for owner in range(owners) for number in range(each)]
    puts += [
        PutOp(("notes", "ann"), WORD, {"text": f"{WORD} of an application", "sealed": "with wax"}),
        PutOp(("memory_work", "user0"), WORD, {"kind": "extract", "what": WORD}, index=False),
        PutOp(("memory", "user0", "profile"), "profile", {"name": WORD}, index=False, ttl=60),
    ]
    await store.abatch(puts)
    return {(".".join(put.namespace), put.key): dict(put.value or {}) for put in puts}


async def rows(store: MemoryStore, table: str = "store") -> list[DictRow]:
    async with store.pool.connection() as conn:
        return await (await conn.execute(f"SELECT * FROM {table}".encode())).fetchall()


async def in_plain(store: MemoryStore) -> int:
    """Count the rows that hold the word in any column."""
    found = 0
    async with store.pool.connection() as conn:
        for table in ("store", "store_vectors", "memory_owners", "memory_keys"):
            asked = f"SELECT count(*) AS count FROM {table} t WHERE t::text LIKE %s".encode()
            row = await (await conn.execute(asked, (f"%{WORD}%",))).fetchone()
            assert row is not None
            found += row["count"]
    return found


async def opened(store: MemoryStore, ring: KeyRing) -> Items:
    found = {}
    for row in await rows(store):
        own, value = opened_value(await ring.of(row["owner"]), row["prefix"], row["key"], row["value"])
        found[row["prefix"], own] = value
    return found


async def times(store: MemoryStore) -> list[tuple[Any, ...]]:
    kept = [
        (row["prefix"], row["created_at"], row["updated_at"], row["expires_at"], row["ttl_minutes"])
        for row in await rows(store)
    ]
    return sorted(kept, key=str)


async def test_everything_in_plain_is_sealed_and_stays_what_it_was(store: MemoryStore) -> None:
    items, before, texts = await fill(store), await times(store), len(await rows(store, "store_vectors"))
    assert await in_plain(store) > 750
    ring = KeyRing(store.pool, MASTER)
    reports: list[tuple[int, int]] = []
    assert await reseal(store.pool, ring, lambda *counts: reports.append(counts)) == (753, 0)
    # after every transaction, of a large owner too
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert max(later[0] - done[0] for done, later in itertools.pairwise(reports)) == 100
    assert (reports[0], reports[-1]) == ((0, 753), (753, 753))
    assert await in_plain(store) == 0
    assert await opened(store, ring) == items
    assert await times(store) == before
    assert len(await rows(store, "store_vectors")) == texts
    assert all(row["sealed_vector"] and not row["half"] for row in await rows(store, "store_vectors"))
    assert await reseal(store.pool, ring, lambda done, total: None) == (0, 0)


async def test_an_owner_who_has_not_written_since_there_are_revisions_is_sealed_too(store: MemoryStore) -> None:
    items = await fill(store, each=3)
    async with store.pool.connection() as conn:
        await conn.execute("DELETE FROM memory_owners")  # as in a database that the first version made
    ring = KeyRing(store.pool, MASTER)
    assert (await reseal(store.pool, ring, lambda done, total: None)).from_plain == len(items)
    assert await in_plain(store) == 0
    assert await opened(store, ring) == items


async def test_it_goes_on_where_it_was_interrupted(store: MemoryStore) -> None:
    items = await fill(store)
    ring = KeyRing(store.pool, MASTER)

    def stop(done: int, total: int) -> None:
        if done:
            raise KeyError

    with pytest.raises(KeyError):
        await reseal(store.pool, ring, stop)
    left = 753 - len([row for row in await rows(store) if ":sealed" in row["value"]])
    assert 0 < left < 753
    assert await reseal(store.pool, ring, lambda done, total: None) == (left, 0)
    assert await opened(store, ring) == items


async def test_new_data_keys_seal_anew_and_the_former_ones_go(store: MemoryStore) -> None:
    items = await fill(store)
    ring, elsewhere = KeyRing(store.pool, MASTER), KeyRing(store.pool, MASTER)
    await reseal(store.pool, ring, lambda done, total: None)
    sealed = {(row["prefix"], row["key"]): row["value"] for row in await rows(store)}
    former = {owner: (await elsewhere.of(owner)).version for owner in ("user0", "user1")}
    async for owner in owners_of(store.pool):
        await renew(store.pool, ring, owner)
    assert len((await ring.of("user0")).versions) == 2
    assert await opened(store, ring) == items
    assert await reseal(store.pool, ring, lambda done, total: None) == (0, 753)
    fresh = KeyRing(store.pool, MASTER)
    assert (await fresh.of("user0")).versions == (await ring.of("user0")).versions
    assert not {(await fresh.of(owner)).version for owner in former} & set(former.values())
    assert await opened(store, fresh) == items
    now = {(row["prefix"], row["key"]): row["value"] for row in await rows(store)}
    assert now.keys() == sealed.keys()
    assert not [place for place in now if now[place][":sealed"] == sealed[place][":sealed"]]
    assert len(await rows(store, "memory_keys")) == 4


async def test_two_at_once_and_a_writer_in_plain_lose_nothing(store: MemoryStore) -> None:
    items = await fill(store, owners=1, each=400)
    rings = [KeyRing(store.pool, MASTER) for _ in range(2)]

    async def write() -> None:
        # as a process does that was started before there was a key
        for number in range(0, 400, 7):
            put = item("user0", number)._replace(value={"kind": "fact", "text": f"{WORD} again"})
            await store.abatch([put])
            items["memory.user0.semantic", put.key] = dict(put.value or {})

    await asyncio.gather(*(reseal(store.pool, ring, lambda done, total: None) for ring in rings), write())
    await reseal(store.pool, rings[0], lambda done, total: None)
    assert await in_plain(store) == 0
    assert await opened(store, rings[0]) == items


async def test_the_words_of_what_another_store_wrote_are_sealed_as_well(store: MemoryStore) -> None:
    await fill(store, owners=1, each=5)
    async with store.pool.connection() as conn:
        await conn.execute("UPDATE store_vectors SET words = NULL, length = NULL, revision = revision + 1")
    ring = KeyRing(store.pool, MASTER)
    await reseal(store.pool, ring, lambda done, total: None)
    assert all(row["sealed"] for row in await rows(store, "store_vectors"))


async def test_who_reads_meanwhile_sees_everything_as_it_was(store: MemoryStore, sealed: MemoryStore) -> None:
    items = await fill(store, owners=1, each=300)
    namespace = ("memory", "user0", "semantic")
    wanted = {key for prefix, key in items if prefix == ".".join(namespace)}
    before = await sealed.asearch(namespace, query=f"I like {WORD} 7", limit=20)
    ring, done = KeyRing(store.pool, MASTER), asyncio.Event()

    async def rotate() -> None:
        await reseal(store.pool, ring, lambda done, total: None)
        await renew(store.pool, ring, "user0")
        await reseal(store.pool, ring, lambda done, total: None)
        done.set()

    rotating, reads = asyncio.create_task(rotate()), 0
    while not done.is_set() and not rotating.done():
        assert {one.key for one in await sealed.asearch(namespace, limit=1_000)} == wanted
        found = await sealed.asearch(namespace, query=f"I like {WORD} 7", limit=20)
        assert [(one.key, one.value) for one in found] == [(one.key, one.value) for one in before]
        assert [one.score for one in found] == pytest.approx([one.score for one in before], abs=1e-3)
        one = await sealed.aget(namespace, f"{WORD}-{reads % 300}")
        assert one is not None
        assert one.value["text"] == f"I like {WORD} {reads % 300}"
        reads += 1
    await rotating
    assert reads > 3
    assert await in_plain(store) == 0


async def test_who_writes_meanwhile_loses_nothing(store: MemoryStore, sealed: MemoryStore) -> None:
    items = await fill(store, owners=1, each=300)
    ring = KeyRing(store.pool, MASTER)

    async def write() -> None:
        for number in range(0, 300, 5):
            put = item("user0", number)._replace(value={"kind": "fact", "text": f"{WORD} again {number}"})
            await sealed.abatch([put])
            items["memory.user0.semantic", put.key] = dict(put.value or {})
            gone = item("user0", number + 1)
            await sealed.adelete(gone.namespace, gone.key)
            del items["memory.user0.semantic", gone.key]

    async def rotate() -> None:
        await reseal(store.pool, ring, lambda done, total: None)
        for _ in range(3):
            await renew(store.pool, ring, "user0")
            await reseal(store.pool, ring, lambda done, total: None)

    await asyncio.gather(write(), rotate())
    await reseal(store.pool, ring, lambda done, total: None)
    assert await in_plain(store) == 0
    assert await opened(store, ring) == items


async def test_what_is_sealed_survives_a_forgotten_user_who_comes_back(store: MemoryStore, sealed: MemoryStore) -> None:
    await sealed.abatch([item("user0", 1)])
    one, other = sealed, KeyRing(store.pool, MASTER)
    before = await other.of("user0")
    assert await store.aerase_if([], Guard(("memory", "user0", "meta"), "revision", None))
    # another process forgot the user: this one still has the key at hand
    await one.abatch([item("user0", 2)])
    found = await one.asearch(("memory", "user0", "semantic"), limit=10)
    assert [each.key for each in found] == [f"{WORD}-2"]
    fresh = KeyRing(store.pool, MASTER)
    assert (await fresh.of("user0")).version != before.version
    assert [value["text"] for value in (await opened(store, fresh)).values()] == [f"I like {WORD} 2"]
