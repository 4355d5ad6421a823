"""The connection of a piece of work behind turns, kept from one of its statements to the next.

Work asks the database some twenty times and is quick in between, except while it waits for a model. So it keeps its
connection for a moment after each use, unless a turn waits for one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.store.priority import PoolShare, inside

_KEPT_SECONDS = 0.02
"""Seconds that a connection is kept after its use: work that has more to ask does so by then."""

_MOST_SECONDS = 1.0
"""Seconds after which other work has its turn."""


class KeptConnection:
    """The connection of one piece of work.

    Args:
        pool: Whose connection it is.
        share: The places that work has in it.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]], share: PoolShare) -> None:
        self._pool = pool
        self._share = share
        self._conn: AsyncConnection[DictRow] | None = None
        self._giving_back: asyncio.Task[None] | None = None
        self._taken_at = self._used_at = 0.0
        self.is_used = False

    @asynccontextmanager
    async def connection(
        self,
        timeout: float | None,  # noqa: ASYNC109 - psycopg's signature
    ) -> AsyncIterator[AsyncConnection[DictRow]]:
        """Lend the connection, or take one; only while it is not used.

        Args:
            timeout: Seconds to wait for one; by default those of the pool.
        """
        self.is_used = True
        try:
            conn = await self._take(timeout)
            with inside():
                async with conn:  # what was begun is ended, with the pool's own rules; it stays open
                    yield conn
        finally:
            self.is_used = False
            await self._used()

    async def give_back(self) -> None:
        """Give the connection back to the pool, unless it is used at this moment."""
        if self._conn is None or self.is_used:
            return
        conn, self._conn = self._conn, None
        try:
            await self._pool.putconn(conn)
        finally:
            self._share.leave()

    async def _take(self, seconds: float | None) -> AsyncConnection[DictRow]:
        if self._conn is None:
            await self._share.enter()
            try:
                self._conn = await self._pool.getconn(seconds)
            except BaseException:
                self._share.leave()
                raise
            self._taken_at = time.monotonic()
        return self._conn

    async def _used(self) -> None:
        conn = self._conn
        if conn is None:
            return
        self._used_at = time.monotonic()
        is_over = self._share.is_wanted or self._used_at - self._taken_at > _MOST_SECONDS
        if is_over or conn.closed or conn.info.transaction_status != TransactionStatus.IDLE:
            await self.give_back()
        elif self._giving_back is None or self._giving_back.done():
            self._giving_back = asyncio.create_task(self._give_back_later(), name="memory:kept-connection")

    async def _give_back_later(self) -> None:
        while True:
            left = self._used_at + _KEPT_SECONDS - time.monotonic()
            # who uses it now sees to it afterwards
            if self.is_used or left <= 0:
                break
            await asyncio.sleep(left)
        await self.give_back()
