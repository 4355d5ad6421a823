"""The database's connections and reads where turns and the work behind them want them at once."""

from __future__ import annotations

import asyncio

from react_mem.memory.store.pool import DatabasePool
from react_mem.memory.store.priority import behind_turns

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
