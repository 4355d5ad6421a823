"""The connection pool of a process: it detects a dead server, restarts an embedded one, and reports the cause.

psycopg's pool makes each caller wait its whole timeout for a dead server, retries at intervals of up to
minutes, and raises an error without a cause. Here a failed attempt is reported to all waiting callers, a few
attempts are made within seconds, and the next caller tries at once.

Background work has a share of the connections, and takes one only while no turn waits for it: see `priority`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar, LiteralString, cast
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, AsyncPipeline
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, scalar_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from psycopg_pool.pool_async import StopWorker

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.failures import all_in_use, no_connection, place_of, translated
from react_mem.memory.store.priority import PoolShare
from react_mem.memory.store.row_security import REFUSALS

_LONG_REST = 30.0
"""Seconds; firewalls and load balancers drop a silent connection after a minute at the earliest."""
_PATIENCE = 2.0
"""Seconds that a caller keeps trying to connect: a restarted server is back by then."""
_PAUSE = 0.2
"""Seconds between two of a caller's attempts."""

_PREPARED_AFTER = 2
"""Executions of a statement on a connection before it is prepared: each prepared one takes memory on the server."""

log = logging.getLogger(__name__)

# Prepared statements need a server session of their own: a pooler that hands the statements of one connection to
# several sessions tells a number of its own for the session.
_IS_DIRECT: LiteralString = "SELECT pg_backend_pid() = %s"


class DatabasePool(AsyncConnectionPool[AsyncConnection[DictRow]]):
    """Connection pool of one database; its use raises `DatabaseUnavailable` if the database is gone, full or read-only.

    `revive` starts the server if necessary before a connection is made; None for an external one. `check_row_security`
    is called after a refusal by the database, and returns true if row-level security can still be used.
    """

    def __init__(
        self,
        url: str,
        *,
        revive: Callable[[], Awaitable[None]] | None,
        has_row_security: bool = False,
        check_row_security: Callable[[AsyncConnection[DictRow]], Awaitable[bool]] | None = None,
        **options: Any,
    ) -> None:
        self._place = place_of(url)
        self._revive = revive
        self.has_row_security = has_row_security
        self._check_row_security = check_row_security
        self._failure: Exception | None = None
        self._made: WeakSet[AsyncConnection[DictRow]] = WeakSet()
        self._waits: set[asyncio.Timeout] = set()
        watched = type("WatchedConnection", (_WatchedConnection,), {"made_by": self})
        # no background attempts at growing intervals: each caller makes a connection if necessary
        super().__init__(url, connection_class=watched, reconnect_timeout=0, open=False, **options)
        self._share = PoolShare(self.max_size)

    @asynccontextmanager
    async def connection(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's signature
    ) -> AsyncIterator[AsyncConnection[DictRow]]:
        """Lend a connection; raise `DatabaseUnavailable` if there is none, or it breaks meanwhile."""
        with translated(self._place):
            async with self._share.admitted(), super().connection(timeout) as conn, self._watched(conn):
                yield conn

    @asynccontextmanager
    async def _watched(self, conn: AsyncConnection[DictRow]) -> AsyncIterator[None]:
        """Clean up after errors on a connection before it returns to the pool."""
        try:
            yield
        except asyncio.CancelledError:
            # of a pipeline that was cut off the driver takes statements for prepared that the server never saw: others
            # would get this connection, and the error
            await conn.close()
            raise
        except REFUSALS:
            # the tables may have been distributed meanwhile, which ends row-level security
            if self.has_row_security and self._check_row_security is not None and not conn.closed:
                if conn.info.transaction_status != TransactionStatus.IDLE:
                    await conn.rollback()
                self.has_row_security = await self._check_row_security(conn)
            raise

    @classmethod
    async def worker(cls, q: Any) -> None:
        """Run the pool's own tasks, and end when cancelled: psycopg's goes on, so that its event loop never ends."""
        while not isinstance(task := await q.get(), StopWorker):
            try:
                await task.run()
            except (Exception, asyncio.CancelledError) as error:
                log.warning("a task of the pool failed: %s", cause_of(error))
            _heed_cancellation(0)

    async def getconn(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's signature
    ) -> AsyncConnection[DictRow]:
        """Take a working connection, to be given back with `putconn`; raise `DatabaseUnavailable` if there is none."""
        seconds = self.timeout if timeout is None else timeout
        before = _cancellations()
        while True:
            try:
                conn = await self._wait(seconds)
            except Exception:
                _heed_cancellation(before)
                raise
            try:
                _heed_cancellation(before)
                await cast("_WatchedConnection", conn).check()
            except psycopg.Error:
                await self.putconn(conn)  # which takes it out of the pool and makes another
            except BaseException:
                await self.putconn(conn)
                raise
            else:
                return conn

    async def _wait(self, seconds: float) -> AsyncConnection[DictRow]:
        give_up = time.monotonic() + min(_PATIENCE, seconds)
        while True:
            try:
                async with asyncio.timeout(None) as waiting:
                    self._waits.add(waiting)
                    try:
                        with self._share.waiting():
                            return await super().getconn(seconds)
                    finally:
                        self._waits.discard(waiting)
            except PoolTimeout as error:
                if self._has_connections():
                    raise all_in_use(self.max_size, self._place, seconds) from error
                raise no_connection(self._failure, self._place, seconds) from error
            except TimeoutError:
                if time.monotonic() >= give_up:
                    raise no_connection(self._failure, self._place, seconds) from self._failure
            await asyncio.sleep(_PAUSE)

    async def connect(self, connecting: Callable[[], Awaitable[AsyncConnection[DictRow]]]) -> AsyncConnection[DictRow]:
        """Make a connection for the pool; a failure is reported to all waiting callers."""
        try:
            if self._revive is not None:
                await self._revive()
            conn = await connecting()
            async with conn.cursor(row_factory=scalar_row) as cursor:
                # parsing and planning are two fifths of the server's work for a turn
                if await (await cursor.execute(_IS_DIRECT, (conn.info.backend_pid,))).fetchone():
                    conn.prepare_threshold = _PREPARED_AFTER
        except Exception as error:
            self._failure = error
            if not self._has_connections():
                for waiting in self._waits:
                    if not waiting.expired():
                        waiting.reschedule(asyncio.get_running_loop().time())
            raise
        self._made.add(conn)
        self._failure = None
        return conn

    def _has_connections(self) -> bool:
        return any(not conn.closed for conn in self._made)


def _cancellations() -> int:
    """Return the number of cancellation requests of the current task."""
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0


def _heed_cancellation(before: int) -> None:
    """End a task that was cancelled since it had `before` cancellations, while it waited for a connection.

    On Python 3.11 `asyncio.wait_for`, by which psycopg's pool waits, loses a cancellation that arrives together
    with the connection, or with the end of the pool. A task that goes on then keeps its event loop from ending.
    """
    if _cancellations() > before:
        raise asyncio.CancelledError


class _WatchedConnection(AsyncConnection[DictRow]):
    """A connection that knows its pool; each pool has a subclass, as psycopg makes connections by class."""

    made_by: ClassVar[DatabasePool]
    is_confined = False
    """True within `confined`."""
    _lent_at: float | None = None

    @property
    def has_row_security(self) -> bool:
        """True if queries about owners run in the application role."""
        return self.made_by.has_row_security

    @classmethod
    async def connect(cls, *args: Any, **options: Any) -> Any:
        """Connect, as `AsyncConnection` does."""
        connect = super().connect
        return await cls.made_by.connect(lambda: connect(*args, **options))

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        """Send statements without waiting for their answers, as `AsyncConnection` does.

        A RuntimeError within `confined`: the end of an inner pipeline would end the confinement.
        """
        if self.is_confined:
            raise RuntimeError(
                "No pipeline and no transaction begins within `confined`: the confinement would end with it."
            )
        try:
            async with super().pipeline() as pipeline:
                yield pipeline
        except Exception:
            # What came after an error the driver takes for prepared, and the server never saw it; the error itself may
            # be hidden by one of ours. A DEALLOCATE ALL is no cure: the driver heeds only the first on a connection.
            if not self.closed and self.info.transaction_status == TransactionStatus.IDLE:
                self._prepared.clear()
            raise

    async def check(self) -> None:
        """Raise OperationalError if the server has closed the connection meanwhile; the pool then takes another.

        A closed one is detected without a query: measured, 0.03 ms instead of a round trip of 0.35. Only after a long
        rest the server is asked, as a firewall may have dropped the connection.
        """
        before, self._lent_at = self._lent_at, time.monotonic()
        for _ in range(2):  # the server's last words come first, that nothing follows them comes next
            self.pgconn.consume_input()
        if before is not None and self._lent_at - before > _LONG_REST:
            await AsyncConnectionPool.check_connection(self)
