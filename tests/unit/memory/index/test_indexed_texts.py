"""Arrays of one namespace: any sequence of changes gives what is made of all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_mem.memory.index.entries import term_number
from react_mem.memory.index.ranked_hits import Hit, VectorCosines
from react_mem.memory.index.scorer import nearest
from react_mem.memory.index.texts import IndexedTexts, Segment
from react_mem.memory.model.interface import Arm
from tests.support.random_rows import FIRST, VOCABULARY, random_op, random_rows, random_vector, seeded
from tests.support.same_recalls import score
from tests.support.sql_recall import IndexedRow, columns

DIMS = 12


def made(rows: Sequence[IndexedRow]) -> IndexedTexts:
    return IndexedTexts.of(columns(rows, DIMS))


def found(texts: IndexedTexts, seed: int, rows: Sequence[IndexedRow]) -> list[tuple[str, str, float]]:
    """Return what some recalls find, with room for all."""
    random_ = seeded(seed)
    hits: list[Hit] = []
    for _ in range(5):
        op = random_op(random_, rows)._replace(limit=1000)
        hits += score(texts, op, random_vector(random_, DIMS))
    return [(hit.key, hit.field_name, round(hit.score, 9)) for hit in hits]


def identities(rows: Sequence[IndexedRow]) -> list[tuple[str, str]]:
    return [(row.key, row.field_name) for row in rows]


class TestChanges:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.lists(st.sampled_from(["write", "rewrite", "remove"]), max_size=8))
    def test_any_changes_give_what_is_made_from_scratch(self, seed: int, steps: list[str]) -> None:
        random_ = seeded(seed)
        rows = random_rows(random_, random_.choice([0, 3, 40]), DIMS)
        pool = random_rows(random_, 200, DIMS)
        texts = made(rows)
        for step in steps:
            if step == "remove":
                rows = [row for row in rows if random_.random() < 0.7]
                texts = texts.with_changes(columns([], DIMS), identities(rows))
                continue
            known = set(identities(rows))
            if step == "rewrite":
                others = [replace(row, terms=frozenset({"tea"}), said_at=FIRST) for row in rows]
                changed = random_.sample(others, min(len(rows), 10))
            else:
                changed = [row for row in pool if (row.key, row.field_name) not in known][: random_.randrange(1, 60)]
            written = set(identities(changed))
            rows = [row for row in rows if (row.key, row.field_name) not in written] + changed
            texts = texts.with_changes(columns(changed, DIMS))
        assert len(texts) == len(rows)
        assert sorted((texts.key(number), texts.field_name(number)) for number in texts.order.tolist()) == sorted(
            identities(rows)
        )
        assert found(texts, seed, rows or pool) == found(made(rows), seed, rows or pool)

    def test_a_snapshot_does_not_change(self) -> None:
        rows = random_rows(seeded(1), 50, DIMS)
        texts = made(rows)
        before = found(texts, 1, rows)
        texts.with_changes(columns(rows[:5], DIMS), identities(rows[:5]))
        assert found(texts, 1, rows) == before

    def test_few_segments_are_left_of_many_changes(self) -> None:
        rows = random_rows(seeded(2), 900, DIMS)
        texts = made(rows[:1])
        for start in range(1, len(rows), 3):
            texts = texts.with_changes(columns(rows[start : start + 3], DIMS))
        assert len(texts) == len(rows)
        assert len(texts._segments) <= 4

    def test_what_has_gone_is_copied_away(self) -> None:
        rows = random_rows(seeded(3), 600, DIMS)
        left = rows[:200]
        texts = made(rows).with_changes(columns([], DIMS), identities(left))
        assert (len(texts), texts.size) == (len(left), len(left))
        assert texts.nbytes < made(rows).nbytes / 2


class TestWhatItTakes:
    def test_a_thousand_texts_take_a_megabyte_at_most(self) -> None:
        random_ = seeded(4)
        rows = random_rows(random_, 600, 384)
        texts = IndexedTexts.of(columns(rows, 384))
        assert texts.nbytes / len(texts) < 1_000

    def test_nothing(self) -> None:
        texts = made([])
        assert (len(texts), texts.size) == (0, 0)
        assert found(texts, 1, random_rows(seeded(1), 3, DIMS)) == []
        assert nearest(texts, [1.0] * DIMS, 5) == []


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), places=st.lists(st.integers(0, 700), min_size=2, max_size=5))
def test_equal_vectors_have_equal_cosines_wherever_they_stand(seed: int, places: list[int]) -> None:
    random_ = seeded(seed)
    rows = random_rows(random_, 20, DIMS) * 40
    vector, asked = ([random_.uniform(0.1, 1) for _ in range(DIMS)] for _ in range(2))
    rows = [
        replace(row, key=f"{number}", vector=vector) if number in places else replace(row, key=f"{number}")
        for number, row in enumerate(rows[: max(places) + 1])
    ]
    half = len(rows) // 2
    texts = made(rows[:half]).with_changes(columns(rows[half:], DIMS))
    cosines = VectorCosines(texts, asked).cosines
    assert len({cosines[texts.texts_of([str(place)])[0]] for place in places}) == 1


class TestWords:
    def test_texts_with_words_in_several_segments(self) -> None:
        rows = [row for row in random_rows(seeded(5), 700, DIMS) if row.terms is not None]
        texts = made(rows[:-50]).with_changes(columns(rows[-50:], DIMS))
        assert len(texts._segments) == 2
        numbers = np.array([term_number(word) for word in VOCABULARY], dtype=np.int32)
        found, of_words = texts.texts_with(numbers)
        for number, word in enumerate(VOCABULARY):
            expected = {(row.key, row.field_name) for row in rows if word in (row.terms or ())}
            having = found[of_words == number].tolist()
            assert {(texts.key(text), texts.field_name(text)) for text in having} == expected
            marked = np.flatnonzero(texts.marked(term_number(word))).tolist()
            assert {(texts.key(text), texts.field_name(text)) for text in marked} == expected

    def test_marks_at_hand_are_bounded(self) -> None:
        segment = Segment.of(columns(random_rows(seeded(7), 20, DIMS), DIMS))
        first = segment.marked(1)
        assert segment.marked(1) is first
        size = segment.nbytes
        for mark in range(2, 1_000):
            segment.marked(mark)
        assert segment.marked(1) is not first
        assert segment.nbytes == size


def test_a_vector_of_another_length_is_refused() -> None:
    rows = random_rows(seeded(6), 20, DIMS)
    op = random_op(seeded(6), rows)
    with pytest.raises(ValueError, match=f"vectors of {DIMS} numbers, not 3"):
        score(made(rows), op._replace(arms=frozenset({Arm.VECTOR})), [1.0, 2.0, 3.0])
