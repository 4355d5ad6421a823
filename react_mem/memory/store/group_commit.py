"""Group commit: statements of many callers in one transaction, with a result for each caller.

A single caller waits for no one. While one batch is under way the next one gathers; so the more callers there are, the
more share a connection, a round trip and a commit.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Generic, Self, TypeVar, cast

from psycopg.rows import DictRow, dict_row

from react_mem.memory.store.row_security import Connection, Pool

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

    async def run(self, conn: Connection) -> None:
        """Run the statements."""
        cursor = conn.cursor(binary=True)
        for query, rows in self._kept:
            if len(rows) == 1:
                await cursor.execute(query, rows[0])
            else:
                await cursor.executemany(query, rows)


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


class _Group(Generic[_Sent]):
    """Idempotent statements for one database, of one event loop; a lost connection has them sent again."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: deque[tuple[_Sent, asyncio.Future[None]]] = deque()
        self._senders: set[asyncio.Task[None]] = set()
        """Tasks that will still look at the queue."""

    async def _run(self, conn: Connection, batch: Sequence[_Sent]) -> None:
        """Run the statements of some callers, for all of them or for none."""
        raise NotImplementedError

    async def send(self, statements: _Sent) -> None:
        """Run statements, all or none, and return after the commit.

        DatabaseUnavailable says that the database cannot be reached; the writes may or may not be stored.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((statements, done))
        if len(self._senders) < min(_CONNECTIONS, self._pool.max_size):
            # it sends for others too: neither the run nor the trace of this caller are its own
            sender = asyncio.create_task(self._work(), name="group-commit", context=contextvars.Context())
            self._senders.add(sender)
            # of one that is cancelled before it begins
            sender.add_done_callback(self._senders.discard)
        await done

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(_CALLERS, len(self._waiting)))]
                try:
                    await self._send_together([caller for caller in batch if not caller[1].cancelled()])
                finally:
                    # where this task is cancelled, as with its event loop
                    for _, done in batch:
                        done.cancel()
        finally:
            # at once: who was told just now may send again before the loop says that this task has ended
            self._senders.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _send_together(self, batch: Sequence[tuple[_Sent, asyncio.Future[None]]]) -> None:
        sent = [statements for statements, _ in batch]
        error, conn = await self._try(sent)
        if error is not None and conn is not None and conn.closed:
            # The connection was lost in the middle, committed or not: writing it again changes nothing that was.
            error, conn = await self._try(sent)
        of_one = error is not None and len(batch) > 1 and conn is not None and not conn.closed
        for statements, done in batch:
            # an error of one of several is not the others'
            ended = (await self._try([statements]))[0] if of_one else error
            if done.done():  # cancelled meanwhile
                continue
            if ended is None:
                done.set_result(None)
            else:
                done.set_exception(ended)

    async def _try(self, batch: Sequence[_Sent]) -> tuple[Exception | None, Connection | None]:
        """Run statements; return the error and the connection, each None if there is none."""
        conn = None
        try:
            async with self._pool.connection() as conn:
                await self._run(conn, batch)
        except Exception as error:
            return error, conn
        return None, conn


class GroupCommit(_Group[Statements]):
    """Group commit of writes: each caller's statements are atomic, and so is a batch."""

    async def _run(self, conn: Connection, batch: Sequence[Statements]) -> None:
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


_Asked = tuple[Sequence[tuple[Any, Any]], list[list[DictRow]]]
"""Statements with their parameters, and the list that takes the rows of each."""


class GroupRead(_Group[_Asked]):
    """Reads of many callers, without a transaction."""

    async def rows(self, *statements: tuple[Any, Any]) -> list[list[DictRow]]:
        """Return the rows of each statement, given with its parameters."""
        found: list[list[DictRow]] = []
        await self.send((statements, found))
        return found

    async def _run(self, conn: Connection, batch: Sequence[_Asked]) -> None:
        # a pipeline of one statement would only cost
        async with conn.pipeline() if sum(len(statements) for statements, _ in batch) > 1 else nullcontext():
            sent = [
                [await conn.cursor(binary=True, row_factory=dict_row).execute(*asked) for asked in statements]
                for statements, _ in batch
            ]
        for (_, found), cursors in zip(batch, sent, strict=True):
            found[:] = [await cursor.fetchall() for cursor in cursors]
