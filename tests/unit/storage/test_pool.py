"""Waiting for a connection ends when the task that waits is cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from react_mem.memory.store.pool import DatabasePool


class Connection:
    """A connection that stands."""

    async def check(self) -> None:
        """Find nothing wrong."""


@pytest.fixture
def pool() -> DatabasePool:
    """A pool that nobody has opened."""
    return DatabasePool("postgresql://nowhere/memory", revive=None, min_size=0, max_size=1)


@pytest.mark.parametrize("outcome", [Connection(), PoolTimeout("waited"), PoolClosed("closed")])
async def test_a_cancellation_that_the_wait_loses_is_heeded(
    pool: DatabasePool, monkeypatch: pytest.MonkeyPatch, outcome: Any
) -> None:
    waiting, given_back = asyncio.Event(), []

    async def getconn(*_: Any) -> Any:
        waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if isinstance(outcome, Exception):
                raise outcome from None
            return outcome

    async def putconn(_: Any, conn: Any) -> None:
        given_back.append(conn)

    monkeypatch.setattr(AsyncConnectionPool, "getconn", getconn)
    monkeypatch.setattr(AsyncConnectionPool, "putconn", putconn)
    task = asyncio.create_task(pool.getconn(60.0))
    await waiting.wait()
    task.cancel()
    await asyncio.wait([task], timeout=30)
    assert task.cancelled()
    assert given_back == ([outcome] if isinstance(outcome, Connection) else [])
