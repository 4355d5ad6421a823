"""The checkpointer: LangGraph's own, with two reads rewritten and with the writes of all threads batched.

LangGraph reads a checkpoint's channels by joining a function over the outer row in a sub-select. Citus plans
that and then fails to run it (`invalid attnum 6`). The same function in a sub-select of its own means the same
everywhere. And a sub-select that takes the thread from the outer row is sent to every shard; the rewritten one
names the thread.

The messages of a thread are stored as writes (`DeltaChannel`). LangGraph reads all checkpoints of the thread to find
those since the last snapshot; one recursive statement reads only these, so that a turn of a long thread costs no more.

A turn writes some nine times to its thread, each time on a connection of its own: with many parallel conversations
this is most of the pool's load. So threads share connections for their writes: see `GroupCommit`.

Rows are deserialised as data: see `serialisation`.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from itertools import count
from typing import Any, Self, cast

from cachetools import LRUCache, TTLCache
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    DeltaChannelHistory,
    get_checkpoint_id,
    writes_sort_key,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import BaseStore, Item
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from react_mem.errors import StorageError
from react_mem.memory.model.namespaces import encode, meta_namespace
from react_mem.memory.model.records import now
from react_mem.memory.store.capabilities import WHOLE, bookmarks
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.row_security import Connection, Pool
from react_mem.memory.store.stored_text import Plain, StrictSerializer, sealing_serializer

# Owners of threads, recorded when a run writes to a thread: its messages name the owner only as long as they are
# remembered, and an agent without memory stores none. An erasure removes the note too.

OWNER_KEYS = ("langgraph_auth_user_id", "user_id", "owner")
"""Keys of a checkpoint's metadata that name the thread's owner; the first one present counts."""

OWNER_OF_THREAD = f"coalesce({', '.join(f'metadata ->> {key!r}' for key in OWNER_KEYS)})"
"""SQL for the owner in a checkpoint's metadata."""

_KIND = "thread"

_MOST = 10_000
_FRESH_SECONDS = 600.0
"""Seconds that a process does not record a thread again: another may have forgotten its user meanwhile."""


class NotedThreads(TTLCache[tuple[str, str], bool]):
    """Threads recorded lately by this process, by user and thread."""

    def __init__(self) -> None:
        super().__init__(_MOST, _FRESH_SECONDS)


async def note_thread(store: BaseStore, user_id: str, thread_id: str) -> None:
    """Record that a user speaks in a thread; repeated calls within ten minutes write nothing."""
    noted, place = kept_with(store, NotedThreads), (user_id, thread_id)
    if place in noted:
        return
    # before it is written: of the tool calls of a turn, only the first writes
    noted[place] = True
    value = {"kind": _KIND, "thread_id": thread_id, "noted_at": now().isoformat()}
    try:
        await store.aput(meta_namespace(user_id), f"{_KIND}-{encode(thread_id)}", value, index=False)
    except BaseException:
        noted.pop(place, None)
        raise


async def thread_marks(store: BaseStore, user_id: str) -> list[Item]:
    """Return the items that name a user's threads: those recorded by runs, and the terminal's bookmarks."""
    noted = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=WHOLE, refresh_ttl=False)
    return [*await bookmarks(store, user_id), *noted]


async def threads_of(
    checkpointer: BaseCheckpointSaver[Any], user_id: str, thread_id: str | None = None
) -> list[str] | None:
    """Return the threads, or the given one, that name a user in their metadata, also threads of graphs without memory.

    None if the checkpointer cannot list threads.
    """
    if (looked_up := getattr(checkpointer, "athreads_of", None)) is not None:
        threads: list[str] = await looked_up(user_id, thread_id)
        return threads
    where: RunnableConfig | None = {"configurable": {"thread_id": thread_id}} if thread_id is not None else None
    found: dict[str, None] = {}
    try:
        for key in OWNER_KEYS:
            async for one in checkpointer.alist(where, filter={key: user_id}):
                if next(str(one.metadata[name]) for name in OWNER_KEYS if name in one.metadata) == user_id:  # type: ignore[literal-required]
                    found[one.config["configurable"]["thread_id"]] = None
    except NotImplementedError:
        return None
    return [*found]


def forget_threads(store: BaseStore, user_id: str) -> None:
    """Drop this process's cache of a user's recorded threads."""
    noted = kept_with(store, NotedThreads)
    for place in [place for place in noted if place[0] == user_id]:
        noted.pop(place, None)


_THEIRS = "from jsonb_each_text(checkpoint -> 'channel_versions')"
_OURS = "from (select key, value from jsonb_each_text(checkpoint -> 'channel_versions')) cv"
_COLUMN, _OUR_COLUMN = "jsonb_each_text.", "cv."

_SAME_THREAD = "thread_id = checkpoints.thread_id"

_PLACE = re.compile("%s")
_KNOWN_THREAD = re.compile(r"\bthread_id = %\(\d+\)s")

_THREADS_OF = f"""
    SELECT DISTINCT thread_id FROM checkpoints
    WHERE (%(thread)s::text IS NULL OR thread_id = %(thread)s) AND {OWNER_OF_THREAD} = %(user)s
"""  # noqa: S608 - of literals

_THREADS_KEPT = 1_000
"""Threads with cached versions, some 500 bytes each."""


def reworded(select: str) -> str | None:
    """Return LangGraph's SELECT of a checkpoint rewritten for distributed tables; None if its text has changed.

    >>> reworded("select 1 from checkpoints") is None
    True
    """
    if select.count(_THEIRS) != 1 or select.count(_COLUMN) != 2:
        return None
    return select.replace(_THEIRS, _OURS).replace(_COLUMN, _OUR_COLUMN)


# History of a thread's delta channels: their writes since the last snapshot, read in one statement.

_SAME = "thread_id = %(thread)s AND checkpoint_ns = %(ns)s"

# Each table by its key, one row or one checkpoint at a time: joins of a thread's rows would be planned by the average
# thread. A blob has precedence over an inline value, which is then a mark.
_HISTORY = f"""
    WITH RECURSIVE chain AS (
        SELECT wanted.channel, c.checkpoint_id, c.parent_checkpoint_id AS parent, 0 AS place,
            NULL::text AS version, NULL::jsonb AS inline, FALSE AS has_blob
        FROM (
            SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
            WHERE {_SAME} AND (%(checkpoint)s::text IS NULL OR checkpoint_id = %(checkpoint)s)
            ORDER BY checkpoint_id DESC LIMIT 1
        ) c, unnest(%(channels)s::text[]) AS wanted (channel)
        UNION ALL
        SELECT after.channel, c.checkpoint_id, c.parent_checkpoint_id, after.place + 1,
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
    SELECT chain.channel, chain.place, w.task_path, w.task_id, w.idx, w.type, w.blob,
        NULL::jsonb AS inline, FALSE AS is_seed
    FROM chain, LATERAL (
        SELECT task_path, task_id, idx, type, blob FROM checkpoint_writes
        WHERE {_SAME} AND checkpoint_id = chain.checkpoint_id AND channel = chain.channel AND chain.place > 0 OFFSET 0
    ) w
    UNION ALL
    SELECT chain.channel, chain.place, NULL, NULL, NULL, b.type, b.blob, chain.inline, TRUE
    FROM chain LEFT JOIN LATERAL (
        SELECT type, blob FROM checkpoint_blobs
        WHERE {_SAME} AND channel = chain.channel AND version = chain.version AND chain.has_blob LIMIT 1
    ) b ON TRUE
    WHERE chain.version IS NOT NULL AND (chain.has_blob OR chain.inline IS NOT NULL)
""".encode()  # noqa: S608 - of literals


def _oldest_first(row: DictRow) -> tuple[Any, ...]:
    return -row["place"], writes_sort_key(row["task_path"] or "", row["task_id"] or "", row["idx"] or 0)


# Group commit of the threads' writes.

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


class GroupCommit:
    """Writes of many callers in one transaction, for one database and one event loop.

    A single caller waits for no one. While one batch is under way the next one gathers; so the more callers there are,
    the more share a connection, a round trip and a commit. Statements are idempotent: a lost connection has them sent
    again.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: deque[tuple[Statements, asyncio.Future[None]]] = deque()
        self._senders: set[asyncio.Task[None]] = set()
        """Tasks that will still look at the queue."""

    async def send(self, statements: Statements) -> None:
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

    async def _send_together(self, batch: Sequence[tuple[Statements, asyncio.Future[None]]]) -> None:
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

    async def _try(self, batch: Sequence[Statements]) -> tuple[Exception | None, Connection | None]:
        """Run statements; return the error and the connection, each None if there is none."""
        conn = None
        try:
            async with self._pool.connection() as conn:
                await self._run(conn, batch)
        except Exception as error:
            return error, conn
        return None, conn

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


class ThreadSaver(AsyncPostgresSaver):
    """`AsyncPostgresSaver`, on one server or on distributed tables; a key of 32 bytes encrypts the threads' content."""

    SELECT_SQL = reworded(AsyncPostgresSaver.SELECT_SQL) or AsyncPostgresSaver.SELECT_SQL
    """LangGraph's own where it has changed, which is right on one server: see `check_distributable`."""

    def __init__(self, pool: Pool, key: bytes | None = None) -> None:
        super().__init__(pool, serde=StrictSerializer() if key is None else sealing_serializer(key))
        # Channel versions that this process has stored sealed: unchanged ones are not stored again. No two values share
        # a version, as a part of it is random.
        self._sealed: LRUCache[tuple[str, str], dict[str, str]] | None = LRUCache(_THREADS_KEPT) if key else None
        # LangGraph's own lock lets in one operation at a time, all users together, though each has a connection of the
        # pool to itself. Half of the connections stay free for memory.
        self.lock = asyncio.Semaphore(max(1, pool.max_size // 2))  # type: ignore[assignment]
        self._writes = GroupCommit(pool)

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

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes to channels up to a checkpoint or to the thread's latest, as LangGraph does."""
        asked = config["configurable"]
        place = {
            "thread": asked["thread_id"],
            "ns": asked.get("checkpoint_ns", ""),
            "checkpoint": get_checkpoint_id(config) or None,
            "channels": list(channels),
        }
        async with super()._cursor() as cursor:
            await cursor.execute(_HISTORY, place)
            rows = await cursor.fetchall()
        found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
        for row in sorted(rows, key=_oldest_first):
            history = found[row["channel"]]
            value = row["inline"] if row["blob"] is None else self.serde.loads_typed((row["type"], row["blob"]))
            if row["is_seed"]:
                history["seed"] = value
            else:
                history["writes"].append((row["task_id"], row["channel"], value))
        return found

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread, as LangGraph does."""
        await super().adelete_thread(thread_id)
        for thread in [thread for thread in self._sealed or () if thread[0] == thread_id]:
            del self._sealed[thread]  # type: ignore[union-attr]

    async def athreads_of(self, user_id: str, thread_id: str | None = None) -> list[str]:
        """Return the threads, or the given one, that name a user in their metadata."""
        async with self._cursor() as cursor:
            await cursor.execute(_THREADS_OF, {"user": user_id, "thread": thread_id})
            return [row["thread_id"] for row in await cursor.fetchall()]

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Lend a cursor; one for a pipeline, which LangGraph only writes to, collects the statements."""
        if not pipeline:
            async with super()._cursor() as cursor:
                yield cast("AsyncCursor[DictRow]", _ThreadCursor(cursor))
            return
        statements = Statements()
        yield cast("AsyncCursor[DictRow]", statements)
        if statements:
            await self._writes.send(statements)


def _is_content(value: Any) -> bool:
    """Return true if LangGraph would store a value in the checkpoint itself, and it may hold content."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


class _ThreadCursor:
    """Cursor that names the thread of a statement for each table."""

    def __init__(self, cursor: AsyncCursor[DictRow]) -> None:
        self._cursor = cursor

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the cursor."""
        return getattr(self._cursor, name)

    def __aiter__(self) -> AsyncIterator[DictRow]:
        """Return the rows."""
        return self._cursor.__aiter__()

    async def execute(self, query: Any, parameters: Any = None, **options: Any) -> Any:
        """Run a statement."""
        if isinstance(query, str) and _SAME_THREAD in query:
            parameters = {str(number): value for number, value in enumerate(parameters or ())}
            query = _of_one_thread(query)
        return await self._cursor.execute(query, parameters, **options)


@lru_cache
def _of_one_thread(query: str) -> bytes:
    """Return a statement about one thread with the thread named in place of the outer row's."""
    numbers = count()
    named = _PLACE.sub(lambda _: f"%({next(numbers)})s", query)
    known = _KNOWN_THREAD.search(named)
    return (named.replace(_SAME_THREAD, known[0]) if known else named).encode()


def check_distributable() -> None:
    """Raise StorageError if this version of LangGraph cannot read checkpoints from distributed tables."""
    if reworded(AsyncPostgresSaver.SELECT_SQL) is None:
        raise StorageError(
            "This version of langgraph-checkpoint-postgres reads checkpoints by SQL that is not known to run on "
            "distributed tables. Install the version that requirements.lock of this release names."
        )
