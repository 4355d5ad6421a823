"""Group commit: statements of many callers in one transaction, with a result for each caller.

A single caller waits for no one. While one batch is under way the next one gathers; so the more callers there are, the
more share a connection, a round trip and a commit.
"""

from __future__ import annotations

import asyncio
import contextvars
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, Self, TypeVar, cast

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

_CALLERS = 64
"""Callers of a batch at most: after a failure each caller's statements run again alone."""

_CONNECTIONS = 2
"""Batches under way at once."""


class Statements:
    """Statements of one caller, collected to run later; serves as a cursor for callers that want no results."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Sequence[Any]]] = []

    def __bool__(self) -> bool:
        """Return true if there is a statement."""
        return bool(self._kept)

    async def execute(self, query: Any, parameters: Any = None) -> Self:
        """Add a statement."""
        self._kept.append((query, [parameters]))
        return self

    async def executemany(self, query: Any, rows: Iterable[Any]) -> None:
        """Add a statement that runs for each of some rows."""
        if parameters := list(rows):
            self._kept.append((query, parameters))

    @property
    def is_one(self) -> bool:
        """True for a single statement, which is atomic by itself."""
        return len(self._kept) == 1 and len(self._kept[0][1]) == 1

    async def run(self, conn: AsyncConnection[DictRow]) -> None:
        """Run the statements."""
        cursor = conn.cursor(binary=True)
        for query, rows in self._kept:
            if len(rows) == 1:
                await cursor.execute(query, rows[0])
            else:
                await cursor.executemany(query, rows)


class _Select:
    """Statement that returns rows."""

    def __init__(self, query: Any, parameters: Any) -> None:
        self.rows: list[DictRow] = []
        self._asked = query, parameters
        self._cursor: AsyncCursor[DictRow] | None = None

    async def run(self, conn: AsyncConnection[DictRow]) -> None:
        self._cursor = conn.cursor(binary=True, row_factory=dict_row)
        await self._cursor.execute(*self._asked)

    async def take(self) -> None:
        """Fetch the rows, once the whole batch has run."""
        if self._cursor is not None:
            self.rows = await self._cursor.fetchall()


class GroupCursor:
    """Read cursor that sends each statement together with other callers' statements."""

    def __init__(self, group: GroupRead) -> None:
        self._group = group
        self._rows: list[DictRow] = []

    async def execute(self, query: Any, parameters: Any = None, *, binary: bool = True) -> Self:
        """Run a statement; its rows are always read in binary form."""
        [self._rows] = await self._group.rows((query, parameters))
        return self

    async def fetchone(self) -> DictRow | None:
        """Return the next row; None after the last."""
        return self._rows.pop(0) if self._rows else None

    async def fetchall(self) -> list[DictRow]:
        """Return the remaining rows."""
        rows, self._rows = self._rows, []
        return rows


_Sent = TypeVar("_Sent")


@dataclass(frozen=True)
class _Caller(Generic[_Sent]):
    statements: _Sent
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def ended(self, error: BaseException | None = None) -> None:
        # nobody waits any more for one that was cancelled
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class _Group(ABC, Generic[_Sent]):
    """Idempotent statements for one database, of one event loop; a lost connection has them sent again."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]]) -> None:
        self._pool = pool
        self._waiting: deque[_Caller[_Sent]] = deque()
        self._senders: set[asyncio.Task[None]] = set()
        """Tasks that will still look at the queue."""

    @abstractmethod
    async def _run(self, conn: AsyncConnection[DictRow], batch: Sequence[_Sent]) -> None:
        """Run the statements of some callers, for all of them or for none."""

    async def send(self, statements: _Sent) -> None:
        """Run statements, all or none, and return after the commit.

        Raises:
            DatabaseUnavailable: If the database cannot be reached; the writes may or may not be stored.
        """
        caller = _Caller(statements)
        self._waiting.append(caller)
        if len(self._senders) < min(_CONNECTIONS, self._pool.max_size):
            # it sends for others too: neither the run nor the trace of this caller are its own
            sender = asyncio.create_task(self._work(), name="group-commit", context=contextvars.Context())
            self._senders.add(sender)
            # of one that is cancelled before it begins
            sender.add_done_callback(self._senders.discard)
        await caller.done

    async def _work(self) -> None:
        try:
            await self._send_all()
        finally:
            # at once: who was told just now may send again before the loop says that this task has ended
            self._senders.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _send_all(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_CALLERS, len(self._waiting)))]
            try:
                await self._send_together([caller for caller in batch if not caller.done.cancelled()])
            finally:
                # where this task is cancelled, as with its event loop
                for caller in batch:
                    caller.done.cancel()

    async def _send_together(self, batch: Sequence[_Caller[_Sent]]) -> None:
        error, conn = await self._try(batch)
        if error is not None and conn is not None and conn.closed:
            # The connection was lost in the middle, committed or not: writing it again changes nothing that was.
            error, conn = await self._try(batch)
        if error is not None and len(batch) > 1 and conn is not None and not conn.closed:
            # it is the error of one of them
            for caller in batch:
                caller.ended((await self._try([caller]))[0])
            return
        for caller in batch:
            caller.ended(error)

    async def _try(self, batch: Sequence[_Caller[_Sent]]) -> tuple[Exception | None, AsyncConnection[DictRow] | None]:
        """Run statements; return the error and the connection, each None if there is none."""
        conn = None
        try:
            async with self._pool.connection() as conn:
                await self._run(conn, [caller.statements for caller in batch])
        except Exception as error:
            return error, conn
        return None, conn


class GroupCommit(_Group[Statements]):
    """Group commit of writes: each caller's statements are atomic, and so is a batch."""

    async def _run(self, conn: AsyncConnection[DictRow], batch: Sequence[Statements]) -> None:
        if len(batch) == 1 and batch[0].is_one:
            await batch[0].run(conn)
            return
        # As statements among the others, for `conn.transaction()` waits for an answer to each of them. What fails in
        # between leaves a transaction behind, which the pool ends.
        async with conn.pipeline():
            cursor = conn.cursor()
            # said, though the statements of a pipeline are one transaction anyway: the nodes of a cluster take the
            # first of them for one that is alone
            await cursor.execute("BEGIN")
            for statements in batch:
                await statements.run(conn)
            await cursor.execute("COMMIT")


class GroupRead(_Group[Sequence[_Select]]):
    """Reads of many callers, without a transaction."""

    async def rows(self, *statements: tuple[Any, Any]) -> list[list[DictRow]]:
        """Return the rows of each statement, given with its parameters."""
        selects = [_Select(*statement) for statement in statements]
        await self.send(selects)
        return [select.rows for select in selects]

    async def _run(self, conn: AsyncConnection[DictRow], batch: Sequence[Sequence[_Select]]) -> None:
        selects = list(chain.from_iterable(batch))
        # a pipeline of one statement would only cost
        async with conn.pipeline() if len(selects) > 1 else nullcontext():
            for select in selects:
                await select.run(conn)
        for select in selects:
            await select.take()
