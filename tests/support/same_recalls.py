"""Comparing the scorer with the SQL function, answer by answer.

    python -m tests.support.same_recalls --queries 10000 [--seed 1]

prints how many answers were the same, how far scores lay from each other, and how often texts that tie at an arm's cut
made a difference: which of them is proposed, SQL leaves open.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

from react_mem.memory.index.ranked_hits import Hit, RankedHits
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.index.scorer import Comparisons, score_compared
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.model.interface import Arm
from react_mem.memory.store.calibration import Calibration
from tests.support.embedded import embedded_database
from tests.support.random_rows import random_op, random_rows, random_vector, seeded
from tests.support.sql_recall import IndexedRow, SqlRecall

SCALE = Calibration(points=((-1, 0), (0.05, 0.5), (0.25, 0.7), (0.5, 0.8), (0.8, 0.9), (1, 1)), separation={"en": 0.95})
TIED = 1e-5
"""Scores that differ by less are the same: cosines in single precision, and sums, are added up in another order."""


def score(texts: IndexedTexts, op: RecallOp, vector: Sequence[float] | None) -> RankedHits:
    """Return what one recall finds, of texts that nothing else is asked of."""
    return score_compared(Comparisons().of(texts, op, vector), op, SCALE)


@dataclass
class Compared:
    """Answers that were compared."""

    same: int = 0
    open: int = 0
    hits: int = 0
    furthest: float = 0.0
    different: list[str] | None = None

    def add(self, difference: str, furthest: float, hits: int, *, is_open: bool) -> None:
        """Count an answer."""
        if not difference:
            self.same += 1
            self.hits += hits
            self.furthest = max(self.furthest, furthest)
        elif is_open:
            self.open += 1
        else:
            self.different = [*(self.different or []), difference]


def shown(ranking: RankedHits, op: RecallOp, items: Mapping[str, IndexedRow]) -> list[Hit]:
    """Return what a store shows of a ranking: nothing that has expired."""
    return list(islice((hit for hit in ranking if not items[hit.key].expired), op.limit))


def partner(ranking: RankedHits, hit: Hit, items: Mapping[str, IndexedRow]) -> str | None:
    """Return the key of what belongs to a message."""
    role = items[hit.key].value.get("role")
    others = [key for key in ranking.partners(hit) if items[key].value.get("role") not in (None, role)]
    return others[0] if others and role is not None else None


def difference(
    op: RecallOp, rows: Sequence[Mapping[str, Any]], ranking: RankedHits, items: Mapping[str, IndexedRow]
) -> tuple[str, float]:
    """Return how a ranking differs from the rows of the SQL function, and how far scores lay apart."""
    by_sql = [row for row in rows if row["key"] is not None]
    hits = shown(ranking, op, items)
    furthest = 0.0
    for row, hit in zip(by_sql, hits, strict=False):
        same_place = row["key"] == hit.key or abs(row["score"] - hit.score) < TIED
        if not same_place:
            return f"{row['key']} {row['score']} != {hit.key} {hit.score}", 0.0
        if row["key"] != hit.key:
            continue
        vector = row["score"] - row["lexical"] - row["around"] - row["speaker"] - row["said"]
        of_sql = [row["score"], vector, row["lexical"], row["around"], row["speaker"], row["said"], row["cosine"]]
        ours = [hit.score, *(hit.arms[arm] for arm in (Arm.VECTOR, Arm.LEXICAL, Arm.WINDOW, Arm.SPEAKER, Arm.TIME))]
        apart = max(abs((a or 0) - (b or 0)) for a, b in zip(of_sql, [*ours, hit.cosine], strict=True))
        if apart > TIED or (row["cosine"] is None) != (hit.cosine is None):
            return f"{row['key']}: {of_sql} != {ours}, {hit.cosine}", apart
        furthest = max(furthest, apart)
        if row["field_name"] != hit.field_name:
            return f"{row['key']}: {row['field_name']} != {hit.field_name}", apart
        if op.pairs and (row["partner"] or {}).get("id") != partner(ranking, hit, items):
            return f"{row['key']}: partner {row['partner']} != {partner(ranking, hit, items)}", apart
    if len(by_sql) != len(hits):
        return f"{len(by_sql)} != {len(hits)} hits", 0.0
    return "", furthest


async def compare(
    sql: SqlRecall, rows: Sequence[IndexedRow], dims: int, ops: Sequence[RecallOp], seed: int, compared: Compared
) -> None:
    """Ask the same of both."""
    random_ = seeded(seed)
    texts = IndexedTexts.of(await sql.write(rows, dims))
    known = [row.vector for row in rows if row.vector is not None]
    vectors = [None if random_.random() < 0.05 else random_vector(random_, dims, known) for _ in ops]
    items = {row.key: row for row in rows}
    answers = await sql.ask(ops, vectors, SCALE)
    # with room for all, there is no cut
    uncut = [op._replace(limit=max(op.limit, len(rows))) for op in ops]
    for number, (op, vector, by_sql) in enumerate(zip(ops, vectors, answers, strict=True)):
        ranking = score(texts, op, vector)
        unread = max((row["unread"] for row in by_sql), default=0)
        expected = sum(row.terms is None for row in rows)
        differs, furthest = difference(op, by_sql, ranking, items)
        if by_sql and unread != expected:
            differs = f"unread {unread} != {expected}"
        is_open = False
        if differs and len(rows) > max(30, op.limit):
            [again] = await sql.ask([uncut[number]], [vector], SCALE)
            whole, furthest = difference(uncut[number], again, score(texts, uncut[number], vector), items)
            is_open = not whole
        compared.add(f"{seed}.{number} {op}: {differs}" if differs else "", furthest, len(by_sql), is_open=is_open)


async def main(queries: int, seed: int) -> Compared:
    """Compare so many questions over data at random."""
    compared = Compared()
    with tempfile.TemporaryDirectory() as folder:
        async with (
            embedded_database(Path(folder) / "postgres") as url,
            await AsyncConnection.connect(url, autocommit=True) as conn,
        ):
            done = 0
            while done < queries:
                random_ = seeded(seed)
                dims = random_.choice([8, 20, 384])
                rows = random_rows(random_, random_.choice([1, 5, 20, 25, 60, 200, 400]), dims)
                ops = [random_op(random_, rows) for _ in range(100)]
                await compare(SqlRecall(conn), rows, dims, ops, seed, compared)
                done += len(ops)
                seed += 1
    return compared


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.stdout.write(f"{asyncio.run(main(arguments.queries, arguments.seed))}\n")
