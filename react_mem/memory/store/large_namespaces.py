"""Candidates of recalls in namespaces that have outgrown a process: found by the indexes of the database.

Those that are nearest, those with the question's rarest words, those of its times, and their neighbours are read, and
scored as all would be. How rare words are is counted there too.
"""

from __future__ import annotations

import math
import time
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.index.recall import RecallOp
from react_mem.memory.index.scorer import Corpus
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.index.weights import Weights
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.namespace_indexes import INDEX_SCAN, NamespaceIndexes
from react_mem.memory.store.owner_texts import COLUMNS, columns_of
from react_mem.memory.store.wall import walled
from react_mem.memory.store.writes import columns

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]

_COUNTED = 20_000
"""Texts up to which those with a word are counted: a word of more says little, however many more."""

_KNOWN_FOR = 600.0
"""Seconds that the size of a large namespace is taken for what it was."""

_SPARE = 4
"""Candidates by words, for each that is wanted: how much a text's words count besides how rare they are is not seen."""

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
        WHERE {_OF_THEM} AND v.words && %(words)s::int4[]
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


class LargeNamespaces:
    """Namespaces that have outgrown a process.

    Args:
        pool: Connections to the database.
        indexes: Their indexes in the database.
    """

    def __init__(self, pool: Pool, indexes: NamespaceIndexes) -> None:
        self._pool = pool
        self._indexes = indexes
        self._sizes: dict[str, tuple[float, int, float]] = {}

    async def candidates(
        self, owner: str, op: RecallOp, vector: NDArray[np.float32] | None, calibration: Calibration
    ) -> tuple[IndexedTexts | None, Corpus]:
        """Return what is to be scored for a recall, None for nothing, and what is said of all texts.

        Args:
            owner: Whose namespace it is.
            op: The recall.
            vector: The vector of its question's text; None where there is none.
            calibration: What the cosines mean.
        """
        prefix = ".".join(op.namespace)
        self._indexes.outgrown(prefix)
        weights = Weights.of(op, calibration)
        words = {"owner": owner, "prefix": prefix, "words": list(weights.words)}
        async with self._pool.connection() as conn:
            texts, length = await self._size(conn, owner, prefix)
            counted = await (await conn.execute(_HAVING, words | {"most": _COUNTED})).fetchall()
            corpus = Corpus(texts, length, {row["word"]: min(row["texts"], texts) for row in counted})
            asked = {
                **words,
                "rarities": _rarities(corpus, weights),
                "required": list(weights.required),
                "refused": list(weights.refused),
                "without": list(op.without),
                "vector": None if vector is None else f"[{','.join(map(str, vector.tolist()))}]",
                "starts": weights.starts.tolist(),
                "ends": weights.ends.tolist(),
                "near": weights.seeds if vector is not None and weights.cosine else 0,
                "worded": _SPARE * weights.seeds if words["words"] else 0,
                "standing": [one.mark for one in weights.standing],
                "timely": weights.seeds if len(weights.starts) else 0,
            }
            rows = await self._read(conn, owner, asked)
        found = [IndexedTexts.of(columns_of(row, row["dims"])) for row in rows]
        return found[0] if found else None, corpus

    async def _size(self, conn: AsyncConnection[DictRow], owner: str, prefix: str) -> tuple[int, float]:
        until, texts, length = self._sizes.get(prefix, (0.0, 0, 0.0))
        if until < time.monotonic():
            async with walled(conn, [owner]):
                size = await conn.execute(_SIZE, (owner, prefix))
            [row] = await size.fetchall()
            texts, length = row["texts"], row["length"]
            self._sizes[prefix] = time.monotonic() + _KNOWN_FOR, texts, length
        return texts, length

    async def _read(self, conn: AsyncConnection[DictRow], owner: str, asked: dict[str, Any]) -> list[DictRow]:
        # No wall before what counts and what finds keys: behind a policy no index of words is used. The rows themselves
        # are read behind it.
        async with conn.pipeline():
            await conn.execute(INDEX_SCAN)
            found = await conn.execute(_CANDIDATES, asked)
        keys = [(row["key"], row["field_name"]) for row in await found.fetchall()]
        async with walled(conn, [owner]):
            read = await conn.cursor(binary=True).execute(_READ, (owner, asked["prefix"], *columns(keys, 2)))
        return await read.fetchall()


def _rarities(corpus: Corpus, weights: Weights) -> list[float]:
    counts = ((corpus.having[word], weight) for word, weight in weights.words.items())
    return [weight * math.log(1 + (corpus.texts - having + 0.5) / (having + 0.5)) for having, weight in counts]
