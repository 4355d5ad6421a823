"""The checkpointer: LangGraph's own, with one SELECT reworded, and with all threads' statements sent together.

LangGraph reads a checkpoint's channels by joining a function over the outer row in a sub-select. Citus plans that and
then fails to run it (`invalid attnum 6`). The same function in a sub-select of its own means the same everywhere. And a
sub-select that takes the thread from the outer row is sent to every shard: where the thread is known, it is named.

A turn writes some nine times to its thread and reads three times, each time on a connection of its own: with many
conversations at once that is most of what the pool is asked for. So they share connections: see `group_commit`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow
from psycopg.sql import Literal
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import StorageError
from react_mem.memory.store.group_commit import GroupCommit, GroupCursor, GroupRead, Statements

_THEIRS = "from jsonb_each_text(checkpoint -> 'channel_versions')"
_OURS = "from (select key, value from jsonb_each_text(checkpoint -> 'channel_versions')) cv"
_COLUMN, _OUR_COLUMN = "jsonb_each_text.", "cv."

_SAME_THREAD = "thread_id = checkpoints.thread_id"

_thread: ContextVar[str | None] = ContextVar("thread_of_a_read", default=None)
"""The thread that is read, where it is one: then by statements that find a few rows, beside what others read."""


def reworded(select: str) -> str | None:
    """Return LangGraph's SELECT of a checkpoint as distributed tables can run it.

    Args:
        select: LangGraph's.

    Returns:
        Ours; None if theirs is not the one that is known here.

    >>> reworded("select 1 from checkpoints") is None
    True
    """
    if select.count(_THEIRS) != 1 or select.count(_COLUMN) != 2:
        return None
    return select.replace(_THEIRS, _OURS).replace(_COLUMN, _OUR_COLUMN)


class ThreadSaver(AsyncPostgresSaver):
    """`AsyncPostgresSaver`, on one server or on distributed tables.

    Args:
        pool: Connections to the database.
    """

    SELECT_SQL = reworded(AsyncPostgresSaver.SELECT_SQL) or AsyncPostgresSaver.SELECT_SQL
    """LangGraph's own where it has changed, which is right on one server: see `check_distributable`."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]]) -> None:
        super().__init__(pool)
        # LangGraph's own lock lets in one operation at a time, all users together, though each has a connection of the
        # pool to itself. Half of the connections stay free for memory.
        self.lock = asyncio.Semaphore(max(1, pool.max_size // 2))  # type: ignore[assignment]
        self._writes, self._reads = GroupCommit(pool), GroupRead(pool)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint, as LangGraph does, from the node of its thread alone."""
        with _of_thread(config):
            return await super().aget_tuple(config)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what was written to channels, as LangGraph does."""
        with _of_thread(config):
            return await super().aget_delta_channel_history(config=config, channels=channels)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Lend a cursor; one for a pipeline, which LangGraph reads nothing from, keeps what is to be written."""
        if pipeline:
            statements: Any = Statements()
            yield statements
            if statements:
                await self._writes.send(statements)
        elif (thread := _thread.get()) is not None:
            yield cast("AsyncCursor[DictRow]", _ThreadCursor(self._reads, thread))
        else:
            async with super()._cursor() as own:
                yield own


class _ThreadCursor(GroupCursor):
    """A cursor for statements about one thread, which says so of each table that they read."""

    def __init__(self, group: GroupRead, thread: str) -> None:
        super().__init__(group)
        self._named = f"thread_id = {Literal(thread).as_string(None).replace('%', '%%')}"

    async def execute(self, query: Any, parameters: Any = None, *, binary: bool = True) -> Self:
        return await super().execute(query.replace(_SAME_THREAD, self._named).encode(), parameters, binary=binary)


@contextmanager
def _of_thread(config: RunnableConfig) -> Iterator[None]:
    before = _thread.set(str(config["configurable"]["thread_id"]))
    try:
        yield
    finally:
        _thread.reset(before)


def check_distributable() -> None:
    """Make sure that this LangGraph's checkpoints can be read from distributed tables.

    Raises:
        StorageError: If its SELECT is another than the one that is known here.
    """
    if reworded(AsyncPostgresSaver.SELECT_SQL) is None:
        raise StorageError(
            "This version of langgraph-checkpoint-postgres reads checkpoints by SQL that is not known to run on "
            "distributed tables. Install the version that requirements.lock of this release names."
        )
