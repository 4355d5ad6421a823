"""Sealing what is there already, and rotating data keys, beside reading and writing."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.store.base import PutOp
from psycopg.rows import DictRow

from react_mem.memory.store.key_ring import KeyRing
from react_mem.memory.store.master_key import LocalMasterKey, MasterKey
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.resealing import owners_of, renew, reseal, rotate
from react_mem.memory.store.sealed_entries import opened_value
from tests.support.databases import fresh_memory_store, open_memory_store, word_model

MASTER = MasterKey(LocalMasterKey(bytes(range(32))))


WORD = "quokkaberry"


Items = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture
async def store(database_server: str) -> AsyncIterator[MemoryStore]:
    async with fresh_memory_store(database_server, sealed=False) as opened:
        yield opened


@pytest.fixture
async def sealed(store: MemoryStore) -> AsyncIterator[MemoryStore]:
    """A store on the same database, in a process that has the key; something in plain was there before it."""
    await store.aput(("notes", "early"), "early", {"text": "early"})
    async with open_memory_store(store.pool.conninfo, word_model(), sealed=True) as opened:
        await store.adelete(("notes", "early"), "early")
        yield opened


def item(owner: str, number: int) -> PutOp:
    value = {"kind": "fact", "id": f"{WORD}-{number}", "text": f"I like {WORD} {number}", "source_ids": [WORD]}
    return PutOp(("memory", owner, "semantic"), f"{WORD}-{number}", value)


async def fill(store: MemoryStore, owners: int = 3, each: int = 120) -> Items:
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


class Stopped(Exception):  # noqa: N818 - Ctrl-C
    """Somebody has stopped it."""


async def test_a_rotation_that_is_stopped_makes_no_second_key_and_the_next_begins_anew(store: MemoryStore) -> None:
    await fill(store, each=1)
    ring = KeyRing(store.pool, MASTER)
    await reseal(store.pool, ring, lambda done, total: None)

    def stop(done: int, total: int) -> None:
        if done:
            raise Stopped

    with pytest.raises(Stopped):
        await rotate(store.pool, KeyRing(store.pool, MASTER), stop)
    done, before = await rotate(store.pool, KeyRing(store.pool, MASTER), lambda done, total: None)
    assert (done.owners, before is None) == (3, False)
    # of somebody whose items are all gone, too
    async with store.pool.connection() as conn:
        await conn.execute("DELETE FROM store WHERE owner = 'notes.ann'")
    with pytest.raises(Stopped):
        await rotate(store.pool, KeyRing(store.pool, MASTER), stop)
    # ended by sealing alone
    async for owner in owners_of(store.pool):
        await renew(store.pool, ring, owner)
    await reseal(store.pool, KeyRing(store.pool, MASTER), lambda done, total: None)
    done, before = await rotate(store.pool, KeyRing(store.pool, MASTER), lambda done, total: None)
    assert (done.owners, before) == (4, None)


async def test_everything_in_plain_is_sealed_and_stays_what_it_was(store: MemoryStore) -> None:
    items, before, texts = await fill(store), await times(store), len(await rows(store, "store_vectors"))
    assert await in_plain(store) > 360
    ring = KeyRing(store.pool, MASTER)
    reports: list[tuple[int, int]] = []
    assert await reseal(store.pool, ring, lambda *counts: reports.append(counts)) == (363, 0, 0, 0)
    # after every transaction, of a large owner too
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert max(later[0] - done[0] for done, later in itertools.pairwise(reports)) == 100
    assert (reports[0], reports[-1]) == ((0, 363), (363, 363))
    assert await in_plain(store) == 0
    assert await opened(store, ring) == items
    assert await times(store) == before
    assert len(await rows(store, "store_vectors")) == texts
    assert all(row["sealed_vector"] and not row["half"] for row in await rows(store, "store_vectors"))
    assert await reseal(store.pool, ring, lambda done, total: None) == (0, 0, 0, 0)


async def test_what_an_older_version_and_another_store_wrote_is_sealed_too(store: MemoryStore) -> None:
    items = await fill(store, each=3)
    async with store.pool.connection() as conn:
        # as in a database that the first version made, and as the store of LangGraph leaves a text
        await conn.execute("DELETE FROM memory_owners")
        await conn.execute("UPDATE store_vectors SET words = NULL, length = NULL")
    ring = KeyRing(store.pool, MASTER)
    assert (await reseal(store.pool, ring, lambda done, total: None)).from_plain == len(items)
    assert await in_plain(store) == 0
    assert all(row["sealed"] for row in await rows(store, "store_vectors"))
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
    assert await reseal(store.pool, ring, lambda done, total: None) == (0, 363, 0, 0)
    fresh = KeyRing(store.pool, MASTER)
    assert (await fresh.of("user0")).versions == (await ring.of("user0")).versions
    assert not {(await fresh.of(owner)).version for owner in former} & set(former.values())
    assert await opened(store, fresh) == items
    now = {(row["prefix"], row["key"]): row["value"] for row in await rows(store)}
    assert now.keys() == sealed.keys()
    assert not [place for place in now if now[place][":sealed"] == sealed[place][":sealed"]]
    assert len(await rows(store, "memory_keys")) == 4


async def test_a_damaged_text_of_the_index_does_not_cost_its_record_the_former_key(sealed: MemoryStore) -> None:
    ring = sealed.keys
    assert ring is not None
    await sealed.abatch([item("ann", number) for number in range(3)])
    async with sealed.pool.connection() as conn:
        damaged = "UPDATE store_vectors SET sealed = overlay(sealed placing '\\x00ff'::bytea from 12)"
        assert (await conn.execute(damaged)).rowcount > 0
    await renew(sealed.pool, ring, "ann")
    assert (await reseal(sealed.pool, ring, lambda *_: None)).anew == 3
    async with open_memory_store(sealed.pool.conninfo, word_model(), sealed=True) as opened:
        assert len(await opened.asearch(("memory", "ann"), limit=10)) == 3


async def test_two_at_once_and_a_writer_in_plain_lose_nothing(store: MemoryStore) -> None:
    items = await fill(store, owners=1, each=150)
    rings = [KeyRing(store.pool, MASTER) for _ in range(2)]

    async def write() -> None:
        # as a process does that was started before there was a key
        for number in range(0, 150, 7):
            put = item("user0", number)._replace(value={"kind": "fact", "text": f"{WORD} again"})
            await store.abatch([put])
            items["memory.user0.semantic", put.key] = dict(put.value or {})

    await asyncio.gather(*(reseal(store.pool, ring, lambda done, total: None) for ring in rings), write())
    # of one that goes on afterwards nothing is taken any more
    await reseal(store.pool, KeyRing(store.pool, MASTER), lambda done, total: None)
    assert await in_plain(store) == 0
    assert await opened(store, rings[0]) == items


async def test_who_reads_meanwhile_sees_everything_as_it_was(store: MemoryStore, sealed: MemoryStore) -> None:
    items = await fill(store, owners=1, each=120)
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
        one = await sealed.aget(namespace, f"{WORD}-{reads % 120}")
        assert one is not None
        assert one.value["text"] == f"I like {WORD} {reads % 120}"
        reads += 1
    await rotating
    assert reads > 1
    assert await in_plain(store) == 0


async def test_who_writes_meanwhile_loses_nothing(store: MemoryStore, sealed: MemoryStore) -> None:
    items = await fill(store, owners=1, each=120)
    ring = KeyRing(store.pool, MASTER)

    async def write() -> None:
        for number in range(0, 120, 5):
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
