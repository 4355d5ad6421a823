"""The database's connections and reads where turns and the work behind them want them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from langgraph.store.base import Op, Result

from react_mem.memory.store.pool import DatabasePool
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.priority import behind_turns, is_behind

PATIENCE = 60


async def test_a_turn_that_came_later_has_its_connection_first(database_url: str) -> None:
    pool = DatabasePool(database_url, revive=None, min_size=1, max_size=1, kwargs={"autocommit": True})
    order: list[str] = []

    async def take(who: str) -> None:
        async with pool.connection():
            order.append(who)

    async with pool, asyncio.timeout(PATIENCE):
        async with pool.connection():
            first = asyncio.create_task(take("turn 1"))
            await asyncio.sleep(0)
            with behind_turns():
                work = asyncio.create_task(take("work"))
            await asyncio.sleep(0)
            second = asyncio.create_task(take("turn 2"))
            await asyncio.sleep(0)
        await asyncio.gather(first, work, second)
    assert order == ["turn 1", "turn 2", "work"]


async def test_reads_of_turns_and_of_work_do_not_wait_for_each_other(
    memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory_store.aput(("notes",), "a", {"text": "tea"})
    go_on, inner = asyncio.Event(), memory_store.abatch

    async def slow_for_turns(ops: Iterable[Op]) -> list[Result]:
        if not is_behind():
            await go_on.wait()
        return await inner(ops)

    monkeypatch.setattr(memory_store, "abatch", slow_for_turns)
    async with asyncio.timeout(PATIENCE):
        turn = asyncio.create_task(memory_store.aget(("notes",), "a"))
        await asyncio.sleep(0)
        with behind_turns():
            got = await memory_store.aget(("notes",), "a")
            found = await memory_store.asearch(("notes",), query="tea", filter={"text": "tea"}, limit=1)
        assert not turn.done()
        go_on.set()
        assert await turn == got
    assert got is not None
    assert [item.value for item in found] == [got.value]
