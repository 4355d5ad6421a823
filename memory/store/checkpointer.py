"""The checkpointer: LangGraph's own, with one SELECT reworded so that it runs on distributed tables too.

LangGraph reads a checkpoint's channels by joining a function over the outer row in a sub-select. Citus plans that and
then fails to run it (`invalid attnum 6`). The same function in a sub-select of its own means the same everywhere.
"""

from __future__ import annotations

import asyncio

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import StorageError

_THEIRS = "from jsonb_each_text(checkpoint -> 'channel_versions')"
_OURS = "from (select key, value from jsonb_each_text(checkpoint -> 'channel_versions')) cv"
_COLUMN, _OUR_COLUMN = "jsonb_each_text.", "cv."


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
    """Where LangGraph's own has changed it stays as it is, which is right on one server: see `check_distributable`."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]]) -> None:
        super().__init__(pool)
        # LangGraph's own lock lets in one operation at a time, all users together, though each has a connection of the
        # pool to itself. Half of the connections stay free for memory.
        self.lock = asyncio.Semaphore(max(1, pool.max_size // 2))  # type: ignore[assignment]


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
