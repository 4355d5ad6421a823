"""The connection pool of a process: it detects a dead server, restarts an embedded one, and reports the cause.

psycopg's pool makes each caller wait its whole timeout for a dead server, retries at intervals of up to
minutes, and raises an error without a cause. Here a failed attempt is reported to all waiting callers, a few
attempts are made within seconds, and the next caller tries at once.

Background work has a share of the connections, and takes one only while no turn waits for it: see `priority`.

Errors of the driver are raised as errors of ours, which name the cause and the cure. A message has no statement, no
value and no password in it: it reaches logs, and people who watch a turn.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, ClassVar, LiteralString, cast
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, AsyncPipeline, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, scalar_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout
from psycopg_pool.pool_async import StopWorker

from react_mem.errors import DatabaseFull, DatabaseReadOnly, DatabaseUnavailable, StorageError
from react_mem.memory.llm.causes import cause_of, scrub
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
                    raise _all_in_use(self.max_size, self._place, seconds) from error
                raise _no_connection(self._failure, self._place, seconds) from error
            except TimeoutError:
                if time.monotonic() >= give_up:
                    raise _no_connection(self._failure, self._place, seconds) from self._failure
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


# Errors of the driver as errors of ours.

_LOST = ("57P0", "08000", "08003", "08006", "53300")
"""SQLSTATEs, or prefixes: the server stops or starts, the connection is broken, there are too many connections."""
_CHECK_IT = "Check that it runs and that DATABASE_URL is right, or unset DATABASE_URL to use the embedded database."


def place_of(url: str, name: str = "DATABASE_URL") -> str:
    """Return host, port and database of a URL or libpq's key=value form of it, without its password.

    Every URL is checked here before a connection. A DatabaseUnavailable says that the URL, `name` in the error, is
    none, or that a part of its password would be taken for a host or a database.
    """
    parts = _read(url)
    if parts is None:
        raise DatabaseUnavailable(
            f"{name} is not a PostgreSQL URL. It looks like postgresql://user:password@host:5432/database, without a "
            "driver such as `+psycopg`, and with special characters of the password percent-encoded: %40 for @, %2F "
            "for /, %25 for %. In the form key=value a password with spaces stands in single quotes."
        )
    return f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"


def _read(url: str) -> Mapping[str, Any] | None:
    """Return the parts of a URL, or None instead of an error: the parser's errors quote the password."""
    if url.startswith(("postgresql://", "postgres://")):
        before, _, behind = url.partition("://")[2].partition("@")
        # libpq ends the password at the first @, and takes all for a host where a / stands before that
        if "@" in behind or (behind and "/" in before):
            return None
    try:
        parts = conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        return None
    return parts if re.fullmatch(r"[\d,]*", str(parts.get("port") or "")) else None


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise a DatabaseUnavailable where the driver reports that the database is gone, full or read-only."""
    try:
        yield
    except psycopg.Error as error:
        meaning = _meaning_of(error, place)
        if meaning is None:
            raise
        raise meaning from error


def not_available(cause: str, place: str) -> DatabaseUnavailable:
    """Return the error that no connection can be made, with its cause."""
    # the client's own words may end as a question
    ended = cause if cause.rstrip().endswith((".", "?", "!")) else f"{cause}."
    return DatabaseUnavailable(f"The database at {place} is not available: {ended} {_CHECK_IT}")


def _no_connection(failure: Exception | None, place: str, seconds: float) -> DatabaseUnavailable:
    """Return the error that a pool has no connection after some seconds.

    `failure` is the error of the last attempt to connect; None if the attempt has not ended.
    """
    if isinstance(failure, DatabaseFull):
        return DatabaseFull(str(failure))
    if isinstance(failure, StorageError):
        return DatabaseUnavailable(str(failure))  # the embedded server does not start, and has said why
    return not_available(_says(failure) if failure else f"no answer within {seconds:.0f} seconds", place)


def _all_in_use(connections: int, place: str, seconds: float) -> DatabaseUnavailable:
    """Return the error that all connections of a pool were busy for too long."""
    return DatabaseUnavailable(
        f"All {connections} connections to the database at {place} were in use for {seconds:.0f} seconds. Raise "
        "DATABASE_POOL_MAX, or have fewer conversations at once."
    )


def _meaning_of(error: psycopg.Error, place: str) -> DatabaseUnavailable | None:
    if isinstance(error, errors.DiskFull):
        return DatabaseFull(
            f"The disk of the database at {place} is full ({_says(error)}). What was being written is not stored; "
            "what was stored before is intact. Free space on it, and go on."
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return DatabaseReadOnly(
            f"The database at {place} takes no writes ({_says(error)}). What was being written is not stored. Point "
            "DATABASE_URL at the primary server and not at a replica, or turn default_transaction_read_only off."
        )
    if isinstance(error, PoolClosed):
        return DatabaseUnavailable(
            "This memory is closed: the block of `async with open_memory()` or `open_agent()` has ended. Use it within "
            "the block, or open it again."
        )
    # Without a code the driver itself speaks: the server is gone and has said nothing.
    gone = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    if (error.sqlstate or "").startswith(_LOST) or (gone and not isinstance(error, errors.PipelineAborted)):
        return DatabaseUnavailable(
            f"The connection to the database at {place} was lost ({_says(error)}). What was being written may not be "
            "stored, all before it is. The next attempt connects again; if it fails too, check that the database runs."
        )
    return None


def _says(error: Exception) -> str:
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return scrub((said or str(error).strip() or type(error).__name__).splitlines()[0])
