"""Arrays of one namespace: any sequence of changes gives what is made of all at once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from react_mem.memory.index.entries import term_number
from react_mem.memory.index.ranked_hits import VectorCosines
from react_mem.memory.index.recall import RecallOp, read_question
from react_mem.memory.index.scorer import score_compared
from react_mem.memory.index.texts import NO_PLACE, NO_TIME, IndexedTexts, Segment, TextColumns
from tests.support.recalling import SCALE

DIMS = 12
WORDS = ("tea", "boat", "zebra", "日本", "🦓")

Row = tuple[str, str, tuple[str, ...], int]
"""Key and field name of a text, its words, and the seed of its vector."""


def columns(rows: Sequence[Row], dims: int = DIMS) -> TextColumns:
    words = [sorted(term_number(word) for word in row[2]) for row in rows]
    count = len(rows)
    places = [NO_PLACE if len(key) % 3 else seed for key, _, _, seed in rows]
    return TextColumns(
        [row[0] for row in rows],
        [row[1] for row in rows],
        np.array([vector(row[3], dims) for row in rows], dtype=np.float16).reshape(count, dims),
        np.array([row[3] % 70_000 > 0 for row in rows], dtype=bool),
        np.array(places, dtype=np.int64),
        np.full(count, NO_TIME),
        np.array([len(row[2]) for row in rows], dtype=np.float32),
        np.zeros(count, dtype=bool),
        np.array([number for of_row in words for number in of_row], dtype=np.int32),
        np.cumsum([len(of_row) for of_row in words], dtype=np.int64),
    )


def vector(seed: int, dims: int = DIMS) -> list[float]:
    chance = random.Random(seed)  # noqa: S311 - no secret
    return [chance.gauss(0.02, 0.05) for _ in range(dims)]


def some_rows(chance: random.Random, count: int) -> list[Row]:
    numbers = chance.sample(range(5_000), count)
    # each has a place and a vector of its own, as ties are decided by the order of writing
    return [
        (f"k{n // 2}", ("text", "text#1")[n % 2], tuple(chance.sample(WORDS, chance.randrange(4))), 10**4 * n)
        for n in numbers
    ]


def found(texts: IndexedTexts) -> list[tuple[str, str, float]]:
    """Return what some recalls find, with room for all."""
    hits = []
    for number, query in enumerate(("tea zebra", "boat", "日本")):
        op = RecallOp(("n",), read_question(query, datetime(2026, 1, 1, tzinfo=UTC)), {}, 1_000)
        hits += score_compared(VectorCosines(texts, vector(-number)), op, SCALE)
    return [(hit.key, hit.field_name, round(hit.score, 9)) for hit in hits]


@pytest.mark.parametrize("seed", range(12))
def test_any_changes_give_what_is_made_from_scratch(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    rows = {row[:2]: row for row in some_rows(chance, (1, 40, 600)[seed % 3])}
    texts = IndexedTexts.of(columns([*rows.values()]))
    for step in chance.choices(["write", "rewrite", "remove"], k=5):
        before, shown = texts, found(texts) if len(rows) < 50 else []
        if step == "remove":
            rows = {place: row for place, row in rows.items() if chance.random() < 0.6}
            texts = texts.with_changes(columns([]), [*rows])
        else:
            changed = some_rows(chance, chance.randrange(1, 60))
            if step == "rewrite":
                changed = [(key, name, ("tea",), at + 1) for key, name, _, at in [*rows.values()][:10]]
            rows |= {row[:2]: row for row in changed}
            texts = texts.with_changes(columns(changed))
        assert not shown or found(before) == shown, "a snapshot does not change"
    assert sorted((texts.key(number), texts.field_name(number)) for number in texts.order.tolist()) == sorted(rows)
    if rows:
        assert found(texts) == found(IndexedTexts.of(columns([*rows.values()])))


def test_many_changes_leave_few_segments_and_nothing_that_has_gone() -> None:
    rows = some_rows(random.Random(2), 900)  # noqa: S311 - no secret
    texts = IndexedTexts.of(columns(rows[:1]))
    for start in range(1, len(rows), 5):
        texts = texts.with_changes(columns(rows[start : start + 5]))
    assert len(texts._segments) <= 4
    left = texts.with_changes(columns([]), [row[:2] for row in rows[:200]])
    assert (len(left), left.size) == (200, 200)
    assert left.nbytes < texts.nbytes / 2


def test_a_text_takes_less_than_a_kilobyte_and_marks_at_hand_are_bounded() -> None:
    rows = some_rows(random.Random(4), 600)  # noqa: S311 - no secret
    assert IndexedTexts.of(columns(rows, 384)).nbytes / len(rows) < 1_000
    segment = Segment.of(columns(rows[:20]))
    size = segment.nbytes
    for mark in range(100):
        segment.marked(mark)
    assert segment.nbytes == size
    assert len(segment._marked) < 20


@pytest.mark.parametrize("places", [(0, 1), (3, 300, 511, 512, 700), (15, 16, 17, 650)])
def test_equal_vectors_have_equal_cosines_wherever_they_stand(places: tuple[int, ...]) -> None:
    rows: list[Row] = [(f"{n}", "text", (), 50 if n in places else 7 * n + 1) for n in range(max(places) + 1)]
    half = len(rows) // 2
    texts = IndexedTexts.of(columns(rows[:half])).with_changes(columns(rows[half:]))
    cosines = VectorCosines(texts, vector(5)).cosines
    assert len({str(cosines[texts.texts_of([str(place)])[0]]) for place in places}) == 1
