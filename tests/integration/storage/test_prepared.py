"""Statements that the server keeps for a connection, where the connection has a session for itself."""

from __future__ import annotations

import psycopg
import pytest

from react_mem.memory.store.pool import DatabasePool
from tests.support.citus import one_server

pytestmark = one_server

_TIMES = 8


async def prepared(url: str) -> int:
    """Return how many statements the server has kept of one that was sent again and again."""
    options = {"autocommit": True, "prepare_threshold": None}
    async with DatabasePool(url, revive=None, min_size=1, max_size=1, kwargs=options) as pool:
        for _ in range(_TIMES):
            async with pool.connection() as conn:
                await conn.execute("SELECT %s::int", (1,))
        async with pool.connection() as conn, conn.cursor() as cursor:
            found = await cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%::int'")
            [(count,)] = await found.fetchall()
    return int(count)


async def test_a_statement_is_prepared_that_is_sent_again(database_url: str) -> None:
    assert await prepared(database_url) == 1


async def test_behind_a_pooler_nothing_is_prepared(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # a pooler tells a number of its own for the session, which it hands from one connection to the next
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", 1)
    assert await prepared(database_url) == 0
