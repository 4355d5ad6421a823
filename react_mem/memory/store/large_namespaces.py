"""Candidates of recalls in namespaces that are too large for a process, by the indexes of the database.

The nearest texts, those with a rare word of the question or all its common ones, those of its times, and their
neighbours are read and scored as usual. The database also counts the frequency of words.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextvars import Context
from itertools import accumulate
from typing import Any, LiteralString, cast

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier, Literal

from react_mem.memory.index.recall import RecallOp, Weights
from react_mem.memory.index.scorer import Corpus
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.model.namespaces import owner_of_path
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.owner_texts import COLUMNS, columns_of
from react_mem.memory.store.priority import behind_turns
from react_mem.memory.store.row_security import Connection, Pool, confined
from react_mem.memory.store.searches import Parameters, in_namespace
from react_mem.memory.store.writes import columns

# Indexes for the namespaces that have outgrown the exact scan, each with one of its own.


_MAX_DIMS = 4_000
"""pgvector's limit for an index on `halfvec`; longer vectors are always compared one by one."""
_QUIET = 60.0
"""Seconds before the same namespace is looked at again: a path with many small namespaces always has more vectors than
the limit, and another process may be building the index.
"""

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
"""Settings for this transaction alone, which hold behind a pooler too. The relaxed order is harmless: the candidates
are sorted again.
"""
_CREATE_WORDS = SQL(
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON store_vectors USING gin (words) WHERE prefix = {prefix}"
)
_DROP = SQL("DROP INDEX CONCURRENTLY IF EXISTS {name}")

logger = logging.getLogger(__name__)


class NamespaceIndexes:
    """Searches in namespaces that are too large for a process, by an HNSW and a word index of each.

    Each index is built on a new connection, made like the pool's; `limit` is the number of vectors above which a
    namespace gets one.
    """

    def __init__(self, pool: Pool, dims: int, limit: int) -> None:
        self._pool = pool
        self._dims = dims
        self._limit = limit
        self._indexed: set[str] = set()
        self._quiet_until: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._working = asyncio.Lock()
        self._sizes: dict[str, tuple[float, int, float]] = {}

    def within(self, path: str) -> list[str]:
        """Return the namespaces at a path and below it with an index, as far as this process knows."""
        below = path + "." if path else ""
        return [prefix for prefix in self._indexed if prefix == path or prefix.startswith(below)]

    def outgrown(self, path: str) -> None:
        """Note that there are more vectors than the limit at a path and below it, and build missing indexes."""
        if self._dims > _MAX_DIMS or self._quiet_until.get(path, 0.0) > time.monotonic():
            return
        self._quiet_until = {path: until for path, until in self._quiet_until.items() if until > time.monotonic()}
        self._quiet_until[path] = time.monotonic() + _QUIET
        self._start(self._index(path))

    async def shrunk(self, conn: Connection, prefixes: Iterable[str]) -> None:
        """Note that items of namespaces were deleted, and drop the indexes that are no longer needed."""
        if indexed := await _read_indexes(conn, set(prefixes)):
            self._start(self._drop_where_small(list(indexed)))

    async def settle(self) -> None:
        """Wait until this process builds and drops no index."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Cancel the work; the next process that needs a half-built index builds it again."""
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

    async def _connect(self) -> Connection:
        # Not one of the pool's: a build takes minutes, and the pool may have just one.
        options = cast("dict[str, Any]", self._pool.kwargs or {})
        return await Connection.connect(cast(str, self._pool.conninfo), **options)

    async def candidates(
        self, owner: str, op: RecallOp, vector: NDArray[np.float32] | None, calibration: Calibration
    ) -> tuple[IndexedTexts | None, Corpus]:
        """Return the texts to score for a recall (None for none), and the word statistics of all texts.

        `vector` is that of the question; None without one.
        """
        prefix = ".".join(op.namespace)
        self.outgrown(prefix)
        weights = Weights.of(op, calibration)
        words = {"owner": owner, "prefix": prefix, "words": list(weights.words)}
        async with self._pool.connection() as conn:
            texts, length = await self._size(conn, owner, prefix)
            counted = await (await conn.execute(_HAVING, words | {"most": _COUNTED})).fetchall()
            corpus = Corpus(texts, length, {row["word"]: min(row["texts"], texts) for row in counted})
            rarities = _rarities(corpus, weights)
            proposing, together = _proposing(rarities, corpus)
            asked = {
                **words,
                "rarities": list(rarities.values()),
                "proposing": proposing,
                "together": together,
                "required": list(weights.required),
                "refused": list(weights.refused),
                "without": list(op.without),
                "vector": None if vector is None else f"[{','.join(map(str, vector.tolist()))}]",
                "starts": weights.starts.tolist(),
                "ends": weights.ends.tolist(),
                "near": weights.seeds if vector is not None and weights.cosine else 0,
                "worded": _SPARE * weights.seeds if words["words"] else 0,
                "standing": [mark for mark, *_ in weights.standing],
                "timely": weights.seeds if len(weights.starts) else 0,
            }
            rows = await self._read(conn, owner, asked)
        found = [IndexedTexts.of(columns_of(row, row["dims"])) for row in rows]
        return found[0] if found else None, corpus

    async def _size(self, conn: Connection, owner: str, prefix: str) -> tuple[int, float]:
        until, texts, length = self._sizes.get(prefix, (0.0, 0, 0.0))
        if until < time.monotonic():
            async with confined(conn, [owner]):
                size = await conn.execute(_SIZE, (owner, prefix))
            [row] = await size.fetchall()
            texts, length = row["texts"], row["length"]
            self._sizes[prefix] = time.monotonic() + _KNOWN_FOR, texts, length
        return texts, length

    async def _read(self, conn: Connection, owner: str, asked: dict[str, Any]) -> list[DictRow]:
        # Counting and finding keys is not confined: under a policy no index of words is used. The rows themselves
        # are read behind it.
        async with conn.pipeline():
            await conn.execute(INDEX_SCAN)
            found = await conn.execute(_CANDIDATES, asked)
        keys = [(row["key"], row["field_name"]) for row in await found.fetchall()]
        async with confined(conn, [owner]):
            read = await conn.cursor(binary=True).execute(_READ, (owner, asked["prefix"], *columns(keys, 2)))
        return await read.fetchall()


async def _read_indexes(conn: Connection, prefixes: Iterable[str]) -> dict[str, tuple[bool, bool]]:
    """Return the namespaces with an index: whether it is valid, and whether one is being built."""
    names = {_index_name(prefix): prefix for prefix in prefixes}
    rows = await (await conn.execute(_INDEXES, (list(names),))).fetchall()
    return {names[row["name"]]: (row["valid"], row["busy"]) for row in rows}


def _index_name(prefix: str, kind: str = _PREFIX) -> str:
    return kind + hashlib.sha256(prefix.encode()).hexdigest()[:16]


_COUNTED = 20_000
"""Texts up to which occurrences of a word are counted: beyond, a word says little anyway."""

_PROPOSED = 1_000
"""Texts with one of the rarest words from which no commoner word proposes more."""

_KNOWN_FOR = 600.0
"""Seconds that the size of a large namespace is cached."""

_SPARE = 4
"""Candidates by words for each result: only the rarity of the words is known at this point, not the text's score."""

_SIZE: LiteralString = """
    SELECT count(*) AS texts, COALESCE(sum(v.length), 0)::float8 AS length
    FROM store_vectors v WHERE v.owner = %s AND v.prefix = %s
"""
_HAVING: LiteralString = """
    SELECT asked.word, (SELECT count(*) FROM (
        SELECT 1 FROM store_vectors v
        WHERE v.owner = %(owner)s AND v.prefix = %(prefix)s AND v.words @> ARRAY[asked.word] LIMIT %(most)s
    ) having_it) AS texts
    FROM unnest(%(words)s::int4[]) AS asked (word)
"""
_OF_THEM: LiteralString = """
    v.owner = %(owner)s AND v.prefix = %(prefix)s AND v.words @> %(required)s::int4[]
        AND NOT v.words && %(refused)s::int4[] AND v.key <> ALL(%(without)s::text[])
"""
_CANDIDATES: LiteralString = f"""
    WITH near AS (
        SELECT v.key, v.field_name, v.place FROM store_vectors v
        WHERE {_OF_THEM} AND v.half IS NOT NULL ORDER BY v.half <=> %(vector)s::halfvec LIMIT %(near)s
    ), worded AS (
        SELECT v.key, v.field_name, v.place FROM store_vectors v
        WHERE {_OF_THEM} AND (v.words && %(proposing)s::int4[] OR v.words @> %(together)s::int4[])
        ORDER BY (
            SELECT sum(asked.rarity) FROM unnest(%(words)s::int4[], %(rarities)s::float8[]) AS asked (word, rarity)
            WHERE v.words @> ARRAY[asked.word]
        ) DESC LIMIT %(worded)s
    ), timely AS (
        SELECT v.key, v.field_name, v.place FROM store_vectors v
        WHERE {_OF_THEM} AND %(timely)s > 0 AND EXISTS (
            SELECT 1 FROM unnest(%(starts)s::bigint[], %(ends)s::bigint[]) AS period (first, last)
            WHERE extract(epoch FROM v.said_at) * 1000000 BETWEEN period.first AND period.last
        )
        ORDER BY v.half <=> %(vector)s::halfvec LIMIT %(timely)s
    ), standing AS (
        SELECT s.key, s.field_name, s.place FROM unnest(%(standing)s::int4[]) AS of_kind (mark), LATERAL (
            SELECT v.key, v.field_name, v.place FROM store_vectors v
            WHERE {_OF_THEM} AND v.half IS NOT NULL AND v.words @> ARRAY[of_kind.mark]
            ORDER BY (v.half <=> %(vector)s::halfvec) + 0 LIMIT %(near)s
        ) s
    ), proposed AS MATERIALIZED (TABLE near UNION TABLE worded UNION TABLE timely UNION TABLE standing), around AS (
        SELECT n.key, n.field_name FROM proposed p CROSS JOIN LATERAL (
            (SELECT v.key, v.field_name FROM store_vectors v
             WHERE v.owner = %(owner)s AND v.prefix = %(prefix)s
                AND v.place > p.place AND v.place <= (p.place | 4294967295) ORDER BY v.place LIMIT 4)
            UNION ALL
            (SELECT v.key, v.field_name FROM store_vectors v
             WHERE v.owner = %(owner)s AND v.prefix = %(prefix)s
                AND v.place < p.place AND v.place >= (p.place >> 32) << 32 ORDER BY v.place DESC LIMIT 4)
        ) n
    )
    SELECT p.key, p.field_name FROM proposed p UNION SELECT a.key, a.field_name FROM around a
"""  # noqa: S608 - of literals
_READ: LiteralString = f"""
    SELECT m.dims, {COLUMNS} FROM memory_embedding m, store_vectors v
    WHERE v.owner = %s AND v.prefix = %s AND (v.key, v.field_name) IN (
        SELECT wanted.key, wanted.field_name FROM unnest(%s::text[], %s::text[]) AS wanted (key, field_name)
    )
    GROUP BY m.dims, v.prefix
"""  # noqa: S608 - of literals


def _proposing(rarities: Mapping[int, float], corpus: Corpus) -> tuple[list[int], list[int]]:
    """Return the rarest words, until enough texts have one of them, and the others, which propose a text together.

    To order the texts of each common word takes a second of 100,000. A text with nothing but one of them ranks behind
    the many with a rarer one.
    """
    ranked = sorted(rarities, key=lambda word: -rarities[word])
    texts = [0, *accumulate(corpus.having[word] for word in ranked)]
    first = sum(before < _PROPOSED for before in texts[:-1])
    rare, common = ranked[:first], ranked[first:]
    return rare, common if len(common) > 1 else rare


def _rarities(corpus: Corpus, weights: Weights) -> dict[int, float]:
    counts = ((word, corpus.having[word], weight) for word, weight in weights.words.items())
    return {word: weight * math.log(1 + (corpus.texts - had + 0.5) / (had + 0.5)) for word, had, weight in counts}
