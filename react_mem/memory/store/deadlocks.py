"""Writes that are sent again where the database ended them for reasons that are over."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import TypeVar

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.store.wall import REFUSALS

_ATTEMPTS = 3
"""A batch can deadlock with LangGraph's own store, which takes items before their owner."""

Result = TypeVar("Result")


async def until_no_deadlock(
    pool: AsyncConnectionPool[AsyncConnection[DictRow]],
    carry_out: Callable[[AsyncConnection[DictRow]], Awaitable[Result]],
) -> Result:
    """Carry out a write, again where it ends in a deadlock or at a wall that is down since, and return what it does.

    Args:
        pool: Connections to the database.
        carry_out: Writes in a transaction of its own; it may be called again.
    """
    attempts = itertools.count(1)
    while True:
        had_wall = getattr(pool, "has_wall", False)
        try:
            async with pool.connection() as conn:
                return await carry_out(conn)
        except errors.DeadlockDetected:
            if next(attempts) == _ATTEMPTS:
                raise
        except REFUSALS:
            # the tables were distributed meanwhile, of which the pool knows now
            if not had_wall or getattr(pool, "has_wall", False):
                raise
