"""Memories by the thousand, for a benchmark to search: one user's, as `react_mem` keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from psycopg.sql import SQL, Identifier

from benchmarks.stand_ins import words
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.records import Episode, Fact, Message, Record, now, record_id
from react_mem.memory.store.postgres import Pool

BATCH = 500
"""Records written at once."""

_A_CONVERSATION = 20
"""Messages of one."""

_A_MEMORY = timedelta(hours=1)
"""Time between them: ten thousand span a year."""

_Item = TypeVar("_Item")


def memories(user_id: str, number: int) -> Iterator[tuple[MemoryScope, Record]]:
    """Yield a user's memories: half of them messages, three in ten facts, the others episodes.

    >>> scopes = [str(scope) for scope, _ in memories("ann", 10)]
    >>> [scopes.count(scope) for scope in ("dialog", "semantic", "episodic")]
    [5, 3, 2]
    """
    start = now() - number * _A_MEMORY
    for place in range(number):
        seed = f"{user_id} {place}"
        common = {
            "created_at": start + place * _A_MEMORY,
            "session_id": f"{user_id}-{place // (2 * _A_CONVERSATION)}",
            "agent_id": "benchmark",
        }
        kind = place % 10
        if kind < 5:
            role = "assistant" if kind % 2 else "user"
            text = words(seed, 60 if kind % 2 else 20)
            turn = place // 2 % _A_CONVERSATION
            message = Message(id=record_id(seed), text=text, content=text, role=role, turn=turn, **common)
            yield MemoryScope.DIALOG, message
        elif kind < 8:
            yield MemoryScope.SEMANTIC, Fact(id=record_id(seed), text=words(seed, 10), **common)
        else:
            goal = words(seed, 25)
            yield MemoryScope.EPISODIC, Episode(id=record_id(seed), text=goal, goal=goal, **common)


async def fill(memory: MemoryFacade, user_id: str, number: int) -> None:
    """Let a user have so many memories."""
    changes: Iterator[Change] = (put(user_id, record) for _scope, record in memories(user_id, number))
    for batch in in_batches(changes):
        await memory.apply(batch)


def in_batches(items: Iterator[_Item]) -> Iterator[Sequence[_Item]]:
    """Yield `BATCH` items at a time."""
    while batch := list(islice(items, BATCH)):
        yield batch


@asynccontextmanager
async def in_bulk(pool: Pool) -> AsyncIterator[None]:
    """Fill a store's tables without its vector index, which is made anew at the end: ten times as fast."""
    async with pool.connection() as conn:
        cursor = await conn.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND indexdef ~ 'USING hnsw'"
        )
        indexes = await cursor.fetchall()
        for index in indexes:
            await conn.execute(SQL("DROP INDEX {}").format(Identifier(index["indexname"])))
    yield
    async with pool.connection() as conn:
        for index in indexes:
            await conn.execute(index["indexdef"].encode())
        await conn.execute("ANALYZE")
