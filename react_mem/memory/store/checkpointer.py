"""The checkpointer: LangGraph's own, with one SELECT rewritten for Citus, and with statements of all threads batched.

LangGraph reads a checkpoint's channels by joining a function over the outer row in a sub-select. Citus plans
that and then fails to run it (`invalid attnum 6`). The same function in a sub-select of its own means the same
everywhere. And a sub-select that takes the thread from the outer row is sent to every shard; the rewritten one
names the thread.

A turn writes some nine times to its thread and reads three times, each time on a connection of its own: with
many parallel conversations this is most of the pool's load. So threads share connections: see `group_commit`.

Rows are deserialised as data: see `serialisation`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

from cachetools import LRUCache
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    writes_sort_key,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import StorageError
from react_mem.memory.model.namespaces import setting
from react_mem.memory.store.group_commit import GroupCommit, GroupCursor, GroupRead, Statements
from react_mem.memory.store.serialisation import Plain, StrictSerializer, sealing_serializer
from react_mem.memory.store.thread_owners import OWNER_OF_THREAD

# History of a thread's delta channels (stored as their writes), read in one statement.

_SAME = "thread_id = %(thread)s AND checkpoint_ns = %(ns)s"

# Each table by its key, one row or one checkpoint at a time: joins of a thread's rows would be planned by the average
# thread. A blob has precedence over an inline value, which is then a mark.
_HISTORY = f"""
    WITH RECURSIVE chain AS (
        SELECT wanted.channel, c.checkpoint_id AS target, c.checkpoint_id, c.parent_checkpoint_id AS parent, 0 AS place,
            NULL::text AS version, NULL::jsonb AS inline, FALSE AS has_blob
        FROM (
            SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
            WHERE {_SAME} AND (%(checkpoint)s::text IS NULL OR checkpoint_id = %(checkpoint)s)
            ORDER BY checkpoint_id DESC LIMIT 1
        ) c, unnest(%(channels)s::text[]) AS wanted (channel)
        UNION ALL
        SELECT after.channel, after.target, c.checkpoint_id, c.parent_checkpoint_id, after.place + 1,
            c.versions ->> after.channel, nullif(c.stored -> after.channel, 'null'),
            EXISTS (
                SELECT FROM checkpoint_blobs
                WHERE {_SAME} AND channel = after.channel AND version = c.versions ->> after.channel AND type <> 'empty'
            )
        FROM chain after, LATERAL (
            SELECT checkpoint_id, parent_checkpoint_id,
                checkpoint -> 'channel_versions' AS versions, checkpoint -> 'channel_values' AS stored
            FROM checkpoints WHERE {_SAME} AND checkpoint_id = after.parent LIMIT 1
        ) c
        WHERE NOT after.has_blob AND after.inline IS NULL
    )
    SELECT chain.target, chain.channel, chain.place, w.task_path, w.task_id, w.idx, w.type, w.blob,
        NULL::jsonb AS inline, FALSE AS is_seed
    FROM chain LEFT JOIN LATERAL (
        SELECT task_path, task_id, idx, type, blob FROM checkpoint_writes
        WHERE {_SAME} AND checkpoint_id = chain.checkpoint_id AND channel = chain.channel AND chain.place > 0 OFFSET 0
    ) w ON TRUE
    UNION ALL
    SELECT chain.target, chain.channel, chain.place, NULL, NULL, NULL, b.type, b.blob, chain.inline, TRUE
    FROM chain LEFT JOIN LATERAL (
        SELECT type, blob FROM checkpoint_blobs
        WHERE {_SAME} AND channel = chain.channel AND version = chain.version AND chain.has_blob LIMIT 1
    ) b ON TRUE
    WHERE chain.version IS NOT NULL AND (chain.has_blob OR chain.inline IS NOT NULL)
""".encode()  # noqa: S608 - of literals


def history_statement(config: RunnableConfig, channels: Sequence[str]) -> tuple[bytes, Mapping[str, Any]]:
    """Return the statement that reads the history of channels, up to a checkpoint or to the thread's latest."""
    asked = config["configurable"]
    return _HISTORY, {
        "thread": asked["thread_id"],
        "ns": asked.get("checkpoint_ns", ""),
        "checkpoint": get_checkpoint_id(config) or None,
        "channels": list(channels),
    }


def histories(
    rows: Sequence[DictRow], channels: Sequence[str], serde: SerializerProtocol
) -> dict[str, DeltaChannelHistory]:
    """Return the histories in the rows of `history_statement`."""
    found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    for row in sorted(rows, key=_order):
        channel = row["channel"]
        if row["is_seed"] and row["blob"] is None:
            found[channel]["seed"] = row["inline"]
        elif row["blob"] is not None:
            value = serde.loads_typed((row["type"], row["blob"]))
            if row["is_seed"]:
                found[channel]["seed"] = value
            else:
                found[channel]["writes"].append((row["task_id"], channel, value))
    return found


def _order(row: DictRow) -> tuple[Any, ...]:
    # from the oldest checkpoint on
    return -row["place"], writes_sort_key(row["task_path"] or "", row["task_id"] or "", row["idx"] or 0)


_THEIRS = "from jsonb_each_text(checkpoint -> 'channel_versions')"
_OURS = "from (select key, value from jsonb_each_text(checkpoint -> 'channel_versions')) cv"
_COLUMN, _OUR_COLUMN = "jsonb_each_text.", "cv."

_SAME_THREAD = "thread_id = checkpoints.thread_id"

_PLACE = re.compile("%s")
_KNOWN_THREAD = re.compile(r"\bthread_id = %\(\d+\)s")

_ONE_ROW = re.compile(r"VALUES (\([%s, ]+\))\s+ON CONFLICT \([\w, ]+\) DO NOTHING")

_THREADS_OF = f"""
    SELECT DISTINCT thread_id FROM checkpoints
    WHERE (%(thread)s::text IS NULL OR thread_id = %(thread)s) AND {OWNER_OF_THREAD} = %(user)s
"""  # noqa: S608 - of literals

_PARAMETERS = 50
"""Most parameters of a statement: psycopg parses a longer one again each time."""

_THREADS_KEPT = 1_000
"""Threads with cached versions, some 500 bytes each."""

_reading: ContextVar[_ThreadCursor | None] = ContextVar("cursor_of_one_thread", default=None)
"""Cursor to read one thread with, in a batch with other readers."""


def reworded(select: str) -> str | None:
    """Return LangGraph's SELECT of a checkpoint rewritten for distributed tables; None if its text has changed.

    >>> reworded("select 1 from checkpoints") is None
    True
    """
    if select.count(_THEIRS) != 1 or select.count(_COLUMN) != 2:
        return None
    return select.replace(_THEIRS, _OURS).replace(_COLUMN, _OUR_COLUMN)


@lru_cache
def of_rows(insert: str, rows: int) -> bytes | None:
    """Return an INSERT of one row as one of several rows.

    None for any other statement, also for one that updates existing rows, as it may not update its own.

    >>> of_rows("INSERT INTO said VALUES (%s, %s) ON CONFLICT (id) DO NOTHING", 2)
    b'INSERT INTO said VALUES (%s, %s), (%s, %s) ON CONFLICT (id) DO NOTHING'
    """
    if (row := _ONE_ROW.search(insert)) is None:
        return None
    return insert.replace(row[1], ", ".join([row[1]] * rows)).encode()


class ThreadSaver(AsyncPostgresSaver):
    """`AsyncPostgresSaver`, on one server or on distributed tables; a key of 32 bytes encrypts the threads' content."""

    SELECT_SQL = reworded(AsyncPostgresSaver.SELECT_SQL) or AsyncPostgresSaver.SELECT_SQL
    """LangGraph's own where it has changed, which is right on one server: see `check_distributable`."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]], key: bytes | None = None) -> None:
        super().__init__(pool, serde=StrictSerializer() if key is None else sealing_serializer(key))
        # Channel versions that this process has stored sealed: unchanged ones are not stored again. No two values share
        # a version, as a part of it is random.
        self._sealed: LRUCache[tuple[str, str], dict[str, str]] | None = LRUCache(_THREADS_KEPT) if key else None
        # LangGraph's own lock lets in one operation at a time, all users together, though each has a connection of the
        # pool to itself. Half of the connections stay free for memory.
        self.lock = asyncio.Semaphore(max(1, pool.max_size // 2))  # type: ignore[assignment]
        self._writes, self._reads = GroupCommit(pool), GroupRead(pool)
        self._last_channels: tuple[str, ...] = ()
        self._read_beside: WeakKeyDictionary[asyncio.Task[Any], _ReadBeside] = WeakKeyDictionary()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, as LangGraph does; with a key no plain value is stored beside the sealed ones."""
        if self._sealed is None:
            return await super().aput(config, checkpoint, metadata, new_versions)
        versions, values = checkpoint["channel_versions"], checkpoint["channel_values"]
        sealed = {name: Plain(value) for name, value in values.items() if _is_content(value) and name in versions}
        of_sealed = {name: str(versions[name]) for name in sealed}
        thread = config["configurable"]["thread_id"], config["configurable"]["checkpoint_ns"]
        # also unchanged ones: they may be from before there was a key
        known = self._sealed.get(thread, {}).items()
        new_versions = {**dict(of_sealed.items() - known), **new_versions}
        checkpoint = {**checkpoint, "channel_values": {**values, **sealed}}
        stored = await super().aput(config, checkpoint, metadata, new_versions)
        self._sealed[thread] = of_sealed
        return stored

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread, as LangGraph does."""
        await super().adelete_thread(thread_id)
        for thread in [thread for thread in self._sealed or () if thread[0] == thread_id]:
            del self._sealed[thread]  # type: ignore[union-attr]

    async def athreads_of(self, user_id: str, thread_id: str | None = None) -> list[str]:
        """Return the threads, or the given one, that name a user in their metadata."""
        async with super()._cursor() as cursor:
            await cursor.execute(_THREADS_OF, {"user": user_id, "thread": thread_id})
            return [row["thread_id"] for row in await cursor.fetchall()]

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint, as LangGraph does, from the node of its thread alone.

        The history of its channels is asked for next, so it is read in the same round trip.
        """
        channels = self._last_channels
        cursor = _ThreadCursor(self._reads, history_statement(config, channels) if channels else None)
        with setting(_reading, cursor):
            found = await super().aget_tuple(config)
        if found is not None and channels and (task := asyncio.current_task()) is not None:
            self._read_beside[task] = _ReadBeside(channels, found.config, cursor.beside)
        return found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read the history of channels, as LangGraph does."""
        asked = self._last_channels = tuple(channels)
        beside = self._taken_beside()
        if beside is not None and beside.holds(config, asked):
            rows = beside.rows
        else:
            [rows] = await self._reads.rows(history_statement(config, asked))
        return histories(rows, asked, self.serde)

    def _taken_beside(self) -> _ReadBeside | None:
        """Return the history read with the last checkpoint, once, and only if this task has done nothing else since."""
        task = asyncio.current_task()
        return self._read_beside.pop(task, None) if task is not None else None

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Lend a cursor; one for a pipeline, which LangGraph only writes to, collects the statements."""
        self._taken_beside()
        if pipeline:
            statements: Any = _ThreadWrites()
            yield statements
            if statements:
                await self._writes.send(statements)
        elif (cursor := _reading.get()) is not None:
            yield cast("AsyncCursor[DictRow]", cursor)
        else:
            async with super()._cursor() as own:
                yield own


def _is_content(value: Any) -> bool:
    """Return true if LangGraph would store a value in the checkpoint itself, and it may hold content."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class _ReadBeside:
    """Rows of a history, read together with a checkpoint."""

    channels: Sequence[str]
    checkpoint: RunnableConfig
    rows: list[DictRow]

    def holds(self, config: RunnableConfig, channels: Sequence[str]) -> bool:
        """Return true if this is the history of these channels up to this checkpoint, not up to a later one."""
        asked, read = config["configurable"], self.checkpoint["configurable"]
        return (
            self.channels == channels
            and all(asked.get(name) == read[name] for name in ("thread_id", "checkpoint_ns", "checkpoint_id"))
            and bool(self.rows)
            and self.rows[0]["target"] == read["checkpoint_id"]
        )


class _ThreadCursor(GroupCursor):
    """A cursor for statements about one thread, named for each table; the statement `beside` is sent with the first."""

    def __init__(self, group: GroupRead, beside: tuple[Any, Any] | None) -> None:
        super().__init__(group)
        self._statements = [beside] if beside else []
        self.beside: list[DictRow] = []

    async def execute(self, query: Any, parameters: Any = None, *, binary: bool = True) -> Self:
        named = {str(number): value for number, value in enumerate(parameters)}
        self._rows, *beside = await self._group.rows((_of_one_thread(query), named), *self._statements)
        if beside:
            [self.beside], self._statements = beside, []
        return self


@lru_cache
def _of_one_thread(query: str) -> bytes:
    """Return a statement about one thread with the thread named in place of the outer row's."""
    numbers = count()
    named = _PLACE.sub(lambda _: f"%({next(numbers)})s", query)
    known = _KNOWN_THREAD.search(named)
    return (named.replace(_SAME_THREAD, known[0]) if known else named).encode()


class _ThreadWrites(Statements):
    """Statements that write to a thread, with inserts of several rows merged."""

    async def executemany(self, query: Any, rows: Iterable[Any]) -> None:
        """Collect a statement for several rows."""
        left = list(rows)
        while left:
            most = min(len(left), max(1, _PARAMETERS // len(left[0])))
            if (insert := of_rows(query, most)) is None:
                break
            taken, left = left[:most], left[most:]
            await self.execute(insert, [*chain.from_iterable(taken)])
        await super().executemany(query, left)


def check_distributable() -> None:
    """Raise StorageError if this version of LangGraph cannot read checkpoints from distributed tables."""
    if reworded(AsyncPostgresSaver.SELECT_SQL) is None:
        raise StorageError(
            "This version of langgraph-checkpoint-postgres reads checkpoints by SQL that is not known to run on "
            "distributed tables. Install the version that requirements.lock of this release names."
        )
