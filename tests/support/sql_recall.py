"""Recalls by SQL, as the database scored them once: what the scorer is compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from psycopg import AsyncConnection
from psycopg.rows import dict_row

import react_mem.memory.store
from react_mem.memory.index import weights as fusion
from react_mem.memory.index.entries import (
    SPEAKS_OF_ITSELF,
    TELLS_WHEN,
    TERM_NUMBERS,
    mark,
    marks_of,
    term_number,
)
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.index.texts import NO_PLACE, NO_TIME, TextColumns
from react_mem.memory.index.weights import microseconds
from react_mem.memory.model.interface import Arm
from react_mem.memory.store.calibration import Calibration

SPACE = "memory.ann.dialog"

_FUNCTION = Path(react_mem.memory.store.__file__).with_name("schema") / "0017_recall.sql"
_TIME = "FROM unnest(starts, ends) AS p (first, last)), 0) + w_when"
_KNOWN_TIME = "FROM unnest(starts, ends) AS p (first, last) WHERE c.said_at IS NOT NULL), 0) + w_when"
"""The function took a text that does not say when it was said for one that was said then; the scorer does not."""

_TABLES = """
    CREATE EXTENSION IF NOT EXISTS vector;
    DROP SCHEMA IF EXISTS by_sql CASCADE;
    CREATE SCHEMA by_sql;
    SET search_path = by_sql, public;
    CREATE TABLE store (
        prefix text, key text, value jsonb, created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(),
        expires_at timestamptz, PRIMARY KEY (prefix, key)
    );
    CREATE TABLE store_vectors (
        half halfvec({dims}), terms sparsevec(1000000000), length real, place bigint, said_at timestamptz, prefix text,
        key text COLLATE "C", field_name text COLLATE "C", PRIMARY KEY (prefix, key, field_name)
    );
"""
_WRITE_ITEMS = """
    INSERT INTO store (prefix, key, value, expires_at)
    SELECT %s, i->>'key', i->'value', CASE WHEN (i->>'expired')::boolean THEN now() - interval '1 day' END
    FROM jsonb_array_elements(%s::jsonb) i ON CONFLICT DO NOTHING
"""
_WRITE = """
    INSERT INTO store_vectors
    SELECT (r->>'vector')::vector::halfvec, (r->>'terms')::sparsevec, (r->>'length')::real, (r->>'place')::bigint,
        (r->>'said_at')::timestamptz, %s, r->>'key', r->>'field_name'
    FROM jsonb_array_elements(%s::jsonb) r
"""
_CALL = """
    SELECT o.number - 1 AS search, r.* FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS o (op, number),
    LATERAL memory_recall(o.op, (o.op->>'vector')::vector) r
"""
_HALVES = "SELECT key, field_name, half::vector::text AS half FROM store_vectors"


@dataclass(frozen=True)
class IndexedRow:
    """A row of the index."""

    key: str
    field_name: str
    value: Mapping[str, Any]
    terms: frozenset[str] | None
    vector: Sequence[float] | None
    length: int | None
    place: int | None
    said_at: datetime | None
    expired: bool = False


class SqlRecall:
    """Recalls by the function of the database, over tables of its own."""

    def __init__(self, conn: AsyncConnection[Any]) -> None:
        self._conn = conn

    async def write(self, rows: Sequence[IndexedRow], dims: int) -> TextColumns:
        """Make the tables anew, with rows; return these as the database has them."""
        await self._conn.execute(_TABLES.format(dims=dims).encode())
        function = _FUNCTION.read_text(encoding="utf-8")
        assert _TIME in function
        await self._conn.execute(function.replace(_TIME, _KNOWN_TIME).encode())
        items = [{"key": row.key, "value": row.value, "expired": row.expired} for row in rows]
        await self._conn.execute(_WRITE_ITEMS, (SPACE, json.dumps(items)))
        await self._conn.execute(_WRITE, (SPACE, json.dumps([_as_json(row) for row in rows])))
        cursor = self._conn.cursor(row_factory=dict_row)
        found = await (await cursor.execute(_HALVES)).fetchall()
        halves = {(row["key"], row["field_name"]): json.loads(row["half"]) for row in found if row["half"]}
        return columns(rows, dims, halves)

    async def ask(
        self, ops: Sequence[RecallOp], vectors: Sequence[Sequence[float] | None], scale: Calibration
    ) -> list[list[dict[str, Any]]]:
        """Return the rows of recalls; the best first, each list with a row without a key if there is nothing."""
        asked = [
            {**parameters(op, scale), "vector": _text(vector if Arm.VECTOR in op.arms else None)}
            for op, vector in zip(ops, vectors, strict=True)
        ]
        cursor = self._conn.cursor(row_factory=dict_row)
        rows = await (await cursor.execute(_CALL, (json.dumps(asked),))).fetchall()
        found: list[list[dict[str, Any]]] = [[] for _ in ops]
        for row in rows:
            found[row["search"]].append(row)
        return [sorted(of_one, key=lambda row: (-(row["score"] or 0), row["key"] or "")) for of_one in found]


def columns(
    rows: Sequence[IndexedRow], dims: int, halves: Mapping[tuple[str, str], Sequence[float]] | None = None
) -> TextColumns:
    """Return rows as an index takes them."""
    vectors = np.zeros((len(rows), dims), dtype=np.float32)
    embedded = np.array([row.vector is not None for row in rows], dtype=bool)
    for number, row in enumerate(rows):
        if row.vector is not None:
            vectors[number] = row.vector if halves is None else halves[row.key, row.field_name]
    words = [sorted({term_number(t) for t in (marks_of(r.value) if r.terms is None else r.terms)}) for r in rows]
    return TextColumns(
        [row.key for row in rows],
        [row.field_name for row in rows],
        vectors.astype(np.float16),
        embedded,
        np.array([NO_PLACE if row.place is None else row.place for row in rows], dtype=np.int64),
        np.array([NO_TIME if row.said_at is None else microseconds(row.said_at) for row in rows], dtype=np.int64),
        np.array([row.length or 0 for row in rows], dtype=np.float32),
        np.array([row.terms is None for row in rows], dtype=bool),
        np.array([number for of_row in words for number in of_row], dtype=np.int32),
        np.cumsum([len(of_row) for of_row in words], dtype=np.int64),
    )


def parameters(op: RecallOp, scale: Calibration) -> dict[str, Any]:
    """Return a recall as the function takes it."""
    question = op.question
    marks: list[str] = []

    def bits(*wanted: str) -> int:
        for term in wanted:
            if term and term not in marks:
                marks.append(term)
        return sum(1 << marks.index(term) for term in set(wanted) if term)

    equal = {name: value for name, value in op.conditions.items() if not isinstance(value, Mapping)}
    unequal = [(name, value["$ne"]) for name, value in op.conditions.items() if isinstance(value, Mapping)]
    on = {arm: float(arm in op.arms) for arm in Arm}
    terms = question.terms if Arm.LEXICAL in op.arms else ()
    periods = question.periods if Arm.TIME in op.arms else ()
    window = on[Arm.WINDOW]
    middle = len(fusion.KERNEL) // 2
    least = scale.cosine(op.similarity) if scale.separates else -1.0
    return {
        "space": SPACE,
        "words": _sparse([term for term, _ in terms]),
        "weights": [weight for _, weight in terms],
        "required": bits(*(mark(name, value) for name, value in equal.items())),
        "refused": bits(*(mark(name, value) for name, value in unequal)),
        "equal": equal,
        "unequal": [{name: value} for name, value in unequal],
        "speaker": bits(question.speaker),
        "itself": bits(SPEAKS_OF_ITSELF),
        "when": bits(TELLS_WHEN) if question.asks_when else 0,
        "marks": _sparse(marks),
        "without": list(op.without),
        "starts": [f"{period.start} 00:00Z" for period in periods],
        "ends": [f"{period.end} 24:00Z" for period in periods],
        "decay": fusion.TIME_DECAY_DAYS,
        "kernel": [weight if place == middle else weight * window for place, weight in enumerate(fusion.KERNEL)],
        "w_cosine": on[Arm.VECTOR] * fusion.VECTOR * scale.rise,
        "w_around": window * on[Arm.VECTOR] * fusion.WINDOW * scale.rise,
        "w_lexical": on[Arm.LEXICAL] * fusion.LEXICAL,
        "w_speaker": on[Arm.SPEAKER] * fusion.SPEAKER,
        "w_itself": on[Arm.SPEAKER] * fusion.SPEAKS_OF_ITSELF,
        "w_time": on[Arm.TIME] * fusion.TIME,
        "w_when": on[Arm.TIME] * fusion.TELLS_WHEN,
        "k1": fusion.SATURATION,
        "b": fusion.LENGTH,
        "unrelated": scale.cosine(0.5),
        "min_cosine": least if Arm.VECTOR in op.arms else 2.0,
        "reach": middle if Arm.WINDOW in op.arms else 0,
        "seeds": max(fusion.SEEDS, op.limit),
        "limit": op.limit,
        "partners": 40,
        "pairs": op.pairs,
    }


def _sparse(terms: Sequence[str]) -> str:
    numbers = {term_number(term): 1 << place for place, term in enumerate(terms)}
    return "{" + ",".join(f"{number}:{bit}" for number, bit in sorted(numbers.items())) + f"}}/{TERM_NUMBERS}"


def _as_json(row: IndexedRow) -> dict[str, Any]:
    numbers = None if row.terms is None else sorted({term_number(term) for term in row.terms})
    listed = ",".join(f"{number}:1" for number in numbers or ())
    return {
        "key": row.key,
        "field_name": row.field_name,
        "vector": _text(row.vector),
        "terms": None if numbers is None else f"{{{listed}}}/{TERM_NUMBERS}",
        "length": row.length,
        "place": row.place,
        "said_at": None if row.said_at is None else row.said_at.isoformat(),
    }


def _text(vector: Sequence[float] | None) -> str | None:
    return None if vector is None else json.dumps([float(number) for number in vector])
