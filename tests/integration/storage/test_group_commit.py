"""Many callers' writes share connections and commits, and each learns what became of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from psycopg import AsyncConnection, OperationalError, errors
from psycopg.rows import DictRow

from react_mem.errors import DatabaseUnavailable
from react_mem.memory.store.checkpointer import GroupCommit, Statements
from react_mem.memory.store.postgres import MemoryStore

_INSERT = "INSERT INTO committed VALUES (%s)"


@pytest.fixture
async def commits(memory_store: MemoryStore) -> GroupCommit:
    async with memory_store.pool.connection() as conn:
        await conn.execute("CREATE TABLE committed (number int PRIMARY KEY)")
    return GroupCommit(memory_store.pool)


async def _statements(*numbers: Any) -> Statements:
    statements = Statements()
    first, *rest = numbers
    await statements.execute(_INSERT, (first,))
    await statements.executemany(_INSERT, ((number,) for number in rest))
    return statements


async def _stored(store: MemoryStore) -> list[int]:
    async with store.pool.connection() as conn:
        rows = await (await conn.execute("SELECT number FROM committed ORDER BY number")).fetchall()
    return [row["number"] for row in rows]


async def test_writes_at_once_share_a_connection(memory_store: MemoryStore, commits: GroupCommit) -> None:
    writes = [commits.send(await _statements(10 * n, 10 * n + 1, 10 * n + 2)) for n in range(20)]
    memory_store.pool.pop_stats()
    await asyncio.gather(*writes)
    assert memory_store.pool.pop_stats()["requests_num"] <= 2
    assert await _stored(memory_store) == [10 * n + m for n in range(20) for m in range(3)]


async def test_an_error_is_that_of_the_one_who_made_it(memory_store: MemoryStore, commits: GroupCommit) -> None:
    made = [_statements(1), _statements(2, 2), _statements("three"), _statements(4, 5), _statements(1)]
    results = await asyncio.gather(*[commits.send(await one) for one in made], return_exceptions=True)
    assert [type(result) for result in results] == [
        type(None),
        errors.UniqueViolation,
        errors.InvalidTextRepresentation,
        type(None),
        errors.UniqueViolation,
    ]
    assert await _stored(memory_store) == [1, 4, 5]


async def test_who_gives_up_leaves_the_others_theirs(memory_store: MemoryStore, commits: GroupCommit) -> None:
    given_up, kept = await _statements(1), await _statements(2)
    first, second = asyncio.create_task(commits.send(given_up)), asyncio.create_task(commits.send(kept))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert first.cancelled()
    assert 2 in await _stored(memory_store)


class _LosingItsConnection(Statements):
    """Statements in the middle of which their connection is ended, as often as is said."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def run(self, conn: AsyncConnection[DictRow]) -> None:
        """Run them."""
        await super().run(conn)
        if self.times:
            self.times -= 1
            await conn.execute("SELECT pg_terminate_backend(pg_backend_pid(), 10000)")


@pytest.mark.parametrize("times", [1, 2])
async def test_what_loses_its_connection_is_sent_once_more(
    memory_store: MemoryStore, commits: GroupCommit, times: int
) -> None:
    losing = _LosingItsConnection(times)
    await losing.execute(_INSERT, (1,))
    results = await asyncio.gather(commits.send(losing), commits.send(await _statements(2)), return_exceptions=True)
    if times == 1:
        assert results == [None, None]
        assert await _stored(memory_store) == [1, 2]
    else:
        # as the driver says it, or as the pool does
        assert all(isinstance(result, OperationalError | DatabaseUnavailable) for result in results)
