"""All of an owner, read, exported and erased: in parts, beside the event loop, and at once."""

from __future__ import annotations

import gc
import json
import threading
from typing import Any

import pytest
from langgraph.store.base import GetOp, Item, PutOp, SearchItem
from langgraph.store.memory import InMemoryStore
from psycopg import errors

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import (
    meta_namespace,
    owner_namespace,
    scope_namespace,
    terminal_namespace,
    work_namespace,
)
from react_mem.memory.store import capabilities as owned
from react_mem.memory.store import postgres, reading, row_codec
from react_mem.memory.store.capabilities import everything, in_pages
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.searches import Wanted, listed
from react_mem.memory.store.transactions import Guard
from tests.support.databases import WordEmbeddings, fresh_memory_store

ANN, BOB = scope_namespace("ann", MemoryScope.SEMANTIC), scope_namespace("bob", MemoryScope.SEMANTIC)
PLACES = [scope_namespace("ann", scope) for scope in (MemoryScope.SEMANTIC, MemoryScope.DIALOG, MemoryScope.STATE)]


async def fill(store: Any, number: int = 120) -> None:
    """Store records in three scopes, and what is no record."""
    puts = [
        PutOp(PLACES[n % 3], f"k{n:03}", {"id": f"k{n:03}", "text": f"{n} " * 400}, index=False) for n in range(number)
    ]
    await store.abatch([*puts, PutOp(meta_namespace("ann"), "revision", {"revision": 3}, index=False)])


async def test_what_is_read_is_decoded_in_a_thread_and_taken_in_parts(
    memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    item_of = row_codec.item_of

    def noted(*opened: Any) -> Any:
        threads.append(threading.current_thread())
        return item_of(*opened)

    await fill(memory_store)
    monkeypatch.setattr(row_codec, "item_of", noted)
    # one that leaves a rest, and one that does not
    for at_once in (50, 40):
        monkeypatch.setattr(reading, "_ROWS_AT_ONCE", at_once)
        assert sorted(item.key for item in await everything(memory_store, "ann")) == [f"k{n:03}" for n in range(120)]
    assert len(threads) == 2 * 121
    assert threading.main_thread() not in threads


def live_items() -> int:
    """Return how many items there are in this process."""
    return sum(type(one) in (Item, SearchItem) for one in gc.get_objects())


@pytest.mark.parametrize("sealed", [False, True])
async def test_an_export_holds_a_part_at_a_time(
    database_server: str, monkeypatch: pytest.MonkeyPatch, sealed: bool
) -> None:
    in_memory = InMemoryStore()
    await fill(in_memory, 60)
    expected = [line async for line in MemoryFacade(in_memory).export_user("ann")]
    del in_memory
    async with fresh_memory_store(database_server, sealed=sealed) as memory_store:
        await fill(memory_store, 60)
        gc.collect()
        before, held, read, page = live_items(), list[int](), list[int](), memory_store.apage

        async def noted(*arguments: Any) -> Any:
            found = await page(*arguments)
            read.append(len(found.items))
            held.append(live_items() - before)
            return found

        monkeypatch.setattr(memory_store, "apage", noted)
        monkeypatch.setattr(owned, "_PAGE", 10)
        lines = []
        async for line in MemoryFacade(memory_store).export_user("ann"):
            lines.append(line)
            if len(lines) % 25 == 0:
                held.append(live_items() - before)
        assert lines == expected
        assert max(read) == 10
        # what is handed on, and what has been read after it
        assert max(held) <= 20


async def test_an_export_misses_nothing_that_stays(memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned, "_PAGE", 10)
    exported = []
    await fill(memory_store)
    async for line in MemoryFacade(memory_store).export_user("ann"):
        if len(exported) == 35:
            # before what is read, and behind it
            gone = [PutOp(PLACES[1], "k001", None), PutOp(PLACES[2], "k119", None)]
            await memory_store.abatch([*gone, PutOp(PLACES[1], "k000", {"id": "new"}, index=False)])
        exported.append(json.loads(line))
    found = [one["record"]["id"] for one in exported[1:]]
    assert sorted(found) == [f"k{n:03}" for n in range(119)]


async def test_a_namespace_is_a_tuple_wherever_it_is_told(memory_store: MemoryStore) -> None:
    for store in (InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]}), memory_store):
        await store.aput(ANN, "tea", {"text": "green tea", "created_at": "2026-01-01T00:00:00Z"})
        [item] = await store.abatch([GetOp(ANN, "tea")])
        told = [
            item.namespace,  # type: ignore[union-attr]
            *[found.namespace for found in await store.asearch(ANN, query="tea")],
            *[found.namespace for found in await store.asearch(ANN)],
            *await store.alist_namespaces(prefix=ANN[:2]),
            *[one.namespace async for items in in_pages(store, "ann") for one in items],
            *[one.namespace for _, one in (await listed(store, "ann", Wanted([ANN]), None, 10)).items],
        ]
        assert told == [ANN] * 6


async def test_an_owner_is_erased_at_once_and_nobody_else(memory_store: MemoryStore) -> None:
    await fill(memory_store)
    await memory_store.aput(ANN, "indexed", {"text": "I like tea"})
    for place in (work_namespace("ann"), terminal_namespace("ann"), ("users", "ann"), BOB):
        await memory_store.aput(place, "k", {"text": "I like tea"})
    stale = Guard(meta_namespace("ann"), "revision", {"revision": 2})
    assert not await memory_store.aerase_if([], stale)
    assert len(await everything(memory_store, "ann")) == 121
    assert await memory_store.aerase_if([], Guard(meta_namespace("ann"), "revision", {"revision": 3}))
    for place in (owner_namespace("ann"), work_namespace("ann"), terminal_namespace("ann")):
        assert await memory_store.asearch(place) == []
    assert [item.key for item in await memory_store.asearch(BOB, query="tea")] == ["k"]
    assert [item.key for item in await memory_store.asearch(("users", "ann"))] == ["k"]
    async with memory_store.pool.connection() as conn:
        left = await (
            await conn.execute("SELECT owner FROM memory_owners UNION SELECT owner FROM store_vectors")
        ).fetchall()
    assert {row["owner"] for row in left} == {"bob", "users.ann"}


async def test_an_owner_is_erased_though_others_are_in_the_way(
    memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory_store.aput(ANN, "k", {"text": "I like tea"})
    await memory_store.asearch(ANN, query="tea")
    assert "ann" in memory_store.owners._kept
    erase_if, tries = postgres.erase_if, [errors.DeadlockDetected(), errors.DeadlockDetected()]

    async def erase(*arguments: Any) -> bool:
        if tries:
            raise tries.pop()
        return await erase_if(*arguments)

    monkeypatch.setattr(postgres, "erase_if", erase)
    assert await memory_store.aerase_if([], Guard(meta_namespace("ann"), "revision", None))
    assert "ann" not in memory_store.owners._kept
    assert memory_store.owners.nbytes == 0
    assert await memory_store.asearch(ANN) == []
