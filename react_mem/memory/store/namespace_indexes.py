"""Indexes for the namespaces that have outgrown the exact scan, each with one of its own.

One index over all tenants' vectors is most of the cost of a write (445 instead of 6,100 rows a second), and has to be
walked past all other tenants' vectors. A partial index costs who is not in it next to nothing: measured with 200 of
them, 0.3 ms a search and 0.9 ms a batch of writes. It holds half precision, which is enough to choose candidates by.

It is built in the background, without stopping writers, when a search has found more vectors than the limit. Until it
is there every vector is compared, so that nothing is missed. When the namespace has shrunk it is dropped, as it names
its owner.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Coroutine, Iterable, Sequence
from contextvars import Context
from typing import Any, LiteralString, cast

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier, Literal
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.model.namespaces import owner_of_path
from react_mem.memory.store.priority import behind_turns
from react_mem.memory.store.searches import Parameters, in_namespace

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]

_MAX_DIMS = 4_000
"""pgvector's limit for an index on `halfvec`; longer vectors are compared one by one, however many there are."""
_QUIET = 60.0
"""Seconds in which a namespace that was looked at is not looked at again: one that holds many small ones has more
vectors than the limit for ever, and another process may be building what is missing here."""

_MEASURED_FOR = 600.0
"""Seconds. Counting costs a third of a search, and is not urgent: a namespace that outgrows the exact scan meanwhile is
searched exactly a little longer."""
_MOST_MEASURED = 10_000
"""Paths remembered as measured: a megabyte."""

_PREFIX = "store_vectors_half_"
_WORDS_PREFIX = "store_vectors_words_"
_LARGE = "SELECT v.prefix FROM store_vectors v WHERE {of} GROUP BY v.prefix HAVING count(*) > {limit}"
_IS_LARGE = "SELECT FROM store_vectors v WHERE v.owner = %s AND v.prefix = %s OFFSET %s LIMIT 1"
# Whoever builds an index holds this lock on the table; so does a vacuum, and then an invalid index is left for later.
_INDEXES = """
    SELECT c.relname AS name, i.indisvalid AS valid, EXISTS (
        SELECT FROM pg_locks l WHERE l.relation = i.indrelid AND l.mode = 'ShareUpdateExclusiveLock'
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS busy
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'store_vectors'::regclass AND c.relname = ANY(%s::text[])
"""
_CREATE = SQL("""
    CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON store_vectors
    USING hnsw (half halfvec_cosine_ops) WHERE prefix = {prefix}
""")
INDEX_SCAN: LiteralString = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', TRUE), set_config('hnsw.ef_search', '200', TRUE)
"""
"""For this transaction alone, so that it holds behind a pooler too. The order may be relaxed: the candidates are sorted
again."""
_CREATE_WORDS = SQL(
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON store_vectors USING gin (words) WHERE prefix = {prefix}"
)
_DROP = SQL("DROP INDEX CONCURRENTLY IF EXISTS {name}")

logger = logging.getLogger(__name__)


class NamespaceIndexes:
    """Indexes of single namespaces: those that exist, and building more.

    Args:
        pool: Connections; an index is built on one of its own, made as the pool's are.
        dims: The length of the vectors.
        limit: Vectors of a namespace from which on it gets an index.
    """

    def __init__(self, pool: Pool, dims: int, limit: int) -> None:
        self._pool = pool
        self._dims = dims
        self._limit = limit
        self._indexed: set[str] = set()
        self._measured_until: dict[str, float] = {}
        self._quiet_until: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._working = asyncio.Lock()

    def within(self, path: str) -> list[str]:
        """Return the namespaces at a path and below it that are known to have an index."""
        below = path + "." if path else ""
        return [prefix for prefix in self._indexed if prefix == path or prefix.startswith(below)]

    def is_due(self, path: str) -> bool:
        """Tell whether it is time to see how many vectors there are at a path and below it, and take it for seen."""
        now = time.monotonic()
        if self._measured_until.get(path, 0.0) > now:
            return False
        if len(self._measured_until) >= _MOST_MEASURED:
            self._measured_until.clear()
        self._measured_until[path] = now + _MEASURED_FOR
        return True

    def outgrown(self, path: str) -> None:
        """Take note that more vectors than the limit were found at a path and below it."""
        if self._dims > _MAX_DIMS or self._quiet_until.get(path, 0.0) > time.monotonic():
            return
        self._quiet_until = {path: until for path, until in self._quiet_until.items() if until > time.monotonic()}
        self._quiet_until[path] = time.monotonic() + _QUIET
        self._start(self._index(path))

    async def shrunk(self, conn: AsyncConnection[DictRow], prefixes: Iterable[str]) -> None:
        """Take note that items of namespaces were deleted: those that have an index may not need it any more."""
        if indexed := await _read_indexes(conn, set(prefixes)):
            self._start(self._drop_where_small(list(indexed)))

    async def settle(self) -> None:
        """Wait until no index is being made or dropped by this process."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Stop what is being done; what is half-built is built again by whoever needs it next."""
        for task in self._tasks:
            task.cancel()
        await self.settle()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            # One at a time: building takes a core, and PostgreSQL lets no two at one table.
            with behind_turns():
                async with self._working:
                    await work

        # not within the turn or the work that happened to find it: what those have of the pool is not this one's
        task = asyncio.create_task(run(), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("An index of a large namespace was not made; searching it stays exact, and slow: %s", error)

    async def _index(self, path: str) -> None:
        parameters = Parameters()
        query = _LARGE.format(of=in_namespace("v", path, parameters), limit=parameters.add(self._limit))
        async with self._pool.connection() as conn:
            rows = await (await conn.execute(query.encode(), parameters.values)).fetchall()
            large = [row["prefix"] for row in rows]
            existing = await _read_indexes(conn, large)
        for prefix in large:
            valid, busy = existing.get(prefix, (False, False))
            if not valid and not (prefix in existing and busy):  # busy: somebody else is building it
                await self._build(prefix, again=prefix in existing)
                valid = True
            if valid:
                self._indexed.add(prefix)

    async def _build(self, prefix: str, *, again: bool) -> None:
        name, words = Identifier(_index_name(prefix)), Identifier(_index_name(prefix, _WORDS_PREFIX))
        async with await self._connect() as conn:
            if again:  # what an interrupted build left behind
                await conn.execute(_DROP.format(name=name))
                await conn.execute(_DROP.format(name=words))
            # the vectors' comes last: where it is, both are
            await conn.execute(_CREATE_WORDS.format(name=words, prefix=Literal(prefix)))
            await conn.execute(_CREATE.format(name=name, prefix=Literal(prefix)))

    async def _drop_where_small(self, prefixes: Sequence[str]) -> None:
        async with self._pool.connection() as conn:
            small = []
            for prefix in prefixes:
                found = await conn.execute(_IS_LARGE, (owner_of_path(prefix), prefix, self._limit))
                small += [] if found.rowcount else [prefix]
        for prefix in small:
            self._indexed.discard(prefix)
            async with await self._connect() as conn:
                for kind in (_PREFIX, _WORDS_PREFIX):
                    await conn.execute(_DROP.format(name=Identifier(_index_name(prefix, kind))))

    async def _connect(self) -> AsyncConnection[DictRow]:
        # Not one of the pool's: a build takes minutes, and the pool may have just one.
        options = cast("dict[str, Any]", self._pool.kwargs or {})
        return await AsyncConnection[DictRow].connect(cast(str, self._pool.conninfo), **options)


async def _read_indexes(conn: AsyncConnection[DictRow], prefixes: Iterable[str]) -> dict[str, tuple[bool, bool]]:
    """Return the namespaces that have an index, with whether it can be used and whether one is being built."""
    names = {_index_name(prefix): prefix for prefix in prefixes}
    rows = await (await conn.execute(_INDEXES, (list(names),))).fetchall()
    return {names[row["name"]]: (row["valid"], row["busy"]) for row in rows}


def _index_name(prefix: str, kind: str = _PREFIX) -> str:
    return kind + hashlib.sha256(prefix.encode()).hexdigest()[:16]
