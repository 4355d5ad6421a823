"""Statements that the server keeps for a connection, where the connection has a session for itself."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from psycopg import AsyncConnection

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


async def test_a_read_that_is_cut_off_leaves_nothing_to_the_next(database_url: str) -> None:
    """Sent for the third time, a statement is prepared; of this one the server never comes to that."""
    options = {"autocommit": True, "prepare_threshold": None}
    async with (
        DatabasePool(database_url, revive=None, min_size=1, max_size=1, kwargs=options) as pool,
        await AsyncConnection.connect(database_url) as holding,
        await AsyncConnection.connect(database_url, autocommit=True) as looking,
    ):

        async def read() -> list[tuple[int]]:
            async with pool.connection() as conn:
                async with conn.pipeline():
                    first = await conn.execute("SELECT count(*) FROM waited_for")
                    await conn.execute("SELECT count(*) FROM pg_class")
                return await first.fetchall()  # type: ignore[return-value]

        await looking.execute("CREATE TABLE waited_for ()")
        for _ in range(2):
            await read()
        await holding.execute("LOCK TABLE waited_for IN ACCESS EXCLUSIVE MODE")
        reading = asyncio.create_task(read())
        while (await looking.execute("SELECT FROM pg_locks WHERE NOT granted")).rowcount == 0:
            assert not reading.done()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await holding.commit()
        for _ in range(3):
            assert await read() == [(0,)]


async def test_an_error_among_statements_leaves_nothing_to_the_next(database_url: str) -> None:
    options = {"autocommit": True, "prepare_threshold": None}
    async with DatabasePool(database_url, revive=None, min_size=1, max_size=1, kwargs=options) as pool:

        async def read(number: int) -> None:
            async with pool.connection() as conn, conn.pipeline():
                await conn.execute("SELECT 1 / %s::int", (number,))
                await conn.execute("SELECT count(*) FROM pg_class")

        # the first error comes before anything is prepared
        for number in (0, 1, 1, 1, 0, 1, 1, 0, 0, 1):
            if number:
                await read(number)
            else:
                with pytest.raises(psycopg.errors.DivisionByZero):
                    await read(number)
