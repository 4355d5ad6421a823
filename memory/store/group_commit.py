"""Group commit: what many callers write at once goes to the database together, and each learns what became of its own.

A caller alone waits for nobody. While one batch is being written the next one gathers, so that the more there are, the
more share a connection, a round trip and a commit.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import DatabaseUnavailable

_CALLERS = 64
"""Callers whose statements are written together, at most: one that fails has the others written again, one by one."""

_CONNECTIONS = 2
"""Batches on their way at once."""


class Statements:
    """Statements of one caller, kept to be run later; a cursor to whoever wants no results."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Sequence[Any]]] = []

    def __bool__(self) -> bool:
        """Return whether there is anything to run."""
        return bool(self._kept)

    async def execute(self, query: Any, parameters: Any = None) -> Self:
        """Keep a statement."""
        self._kept.append((query, [parameters]))
        return self

    async def executemany(self, query: Any, rows: Iterable[Any]) -> None:
        """Keep a statement that is run for each of some rows."""
        if parameters := list(rows):
            self._kept.append((query, parameters))

    async def run(self, conn: AsyncConnection[DictRow]) -> None:
        """Run them."""
        async with conn.cursor(binary=True) as cursor:
            for query, rows in self._kept:
                if len(rows) == 1:
                    await cursor.execute(query, rows[0])
                else:
                    await cursor.executemany(query, rows)


@dataclass(frozen=True)
class _Caller:
    statements: Statements
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def ended(self, error: BaseException | None = None) -> None:
        # nobody waits any more for one that was cancelled
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class GroupCommit:
    """Writes to one database, of one event loop.

    Args:
        pool: Autocommit connections.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]]) -> None:
        self._pool = pool
        self._waiting: deque[_Caller] = deque()
        self._writers: set[asyncio.Task[None]] = set()

    async def write(self, statements: Statements) -> None:
        """Run statements, all or none, and return once they are committed.

        Args:
            statements: The statements.

        Raises:
            DatabaseUnavailable: If the database cannot be reached; what was written may not be stored.
        """
        caller = _Caller(statements)
        self._waiting.append(caller)
        if len(self._writers) < min(_CONNECTIONS, self._pool.max_size):
            # it writes for others too: neither the run nor the trace of this caller are its own
            writer = asyncio.create_task(self._work(), name="group-commit", context=contextvars.Context())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)
        await caller.done

    async def _work(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_CALLERS, len(self._waiting)))]
            try:
                await self._write_together([caller for caller in batch if not caller.done.cancelled()])
            finally:
                # where this task is cancelled, as with its event loop
                for caller in batch:
                    caller.done.cancel()

    async def _write_together(self, batch: Sequence[_Caller]) -> None:
        error = await self._write(batch)
        if error is not None and len(batch) > 1 and not isinstance(error, DatabaseUnavailable):
            # it is the error of one of them
            for caller in batch:
                caller.ended(await self._write([caller]))
            return
        for caller in batch:
            caller.ended(error)

    async def _write(self, batch: Sequence[_Caller]) -> Exception | None:
        try:
            # statements of a pipeline without a transaction are one
            async with self._pool.connection() as conn, conn.pipeline():
                for caller in batch:
                    await caller.statements.run(conn)
        except Exception as error:
            return error
        return None
