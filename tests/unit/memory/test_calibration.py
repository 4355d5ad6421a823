"""A similarity means the same whatever embedder it was measured with."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from pydantic import ValidationError

from react_mem.memory.store import calibration
from react_mem.memory.store.calibration import KNOWN, Calibration, calibrate
from react_mem.memory.store.embeddings import LOCAL_MODEL, LocalEmbeddings
from tests.support.databases import WordEmbeddings

Pairs = dict[str, list[tuple[str, str]]]

HELD_OUT: Pairs = json.loads(Path(__file__).with_name("held_out_pairs.json").read_text(encoding="utf-8"))
"""Questions and texts that answer them which the calibration is not made from."""

REFERENCE: Pairs = json.loads(
    Path(calibration.__file__).with_name("calibration_pairs.json").read_text(encoding="utf-8")
)
IDLE: dict[str, list[str]] = REFERENCE.pop("idle")  # type: ignore[assignment]  # messages that need no text
TOPICS = {
    text: f"{language} {number}"
    for pairs in (REFERENCE, HELD_OUT)
    for language, of_language in pairs.items()
    for number, pair in enumerate(of_language)
    for text in pair
}
QUESTIONS = {
    question for pairs in (REFERENCE, HELD_OUT) for of_language in pairs.values() for question, _ in of_language
}


class FromFunction(Embeddings):
    """Vectors by a function of the text and whether it is a question."""

    def __init__(self, embed: Callable[[str, bool], list[float]]) -> None:
        self._embed = embed

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._embed(text, False) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text, True)


def noise(seed: str, dims: int = 64) -> list[float]:
    """A direction that is always the same for a text, and any for another."""
    parts = hashlib.shake_256(seed.encode()).digest(2 * dims)
    return [int.from_bytes(parts[2 * i : 2 * i + 2]) / 32768 - 1 for i in range(dims)]


def unit(vector: Sequence[float]) -> list[float]:
    return [part / math.hypot(*vector) for part in vector]


def understanding(text: str, is_question: bool) -> list[float]:
    """An embedder that knows what a text is about, more or less: answers at 0.5 or so, unrelated texts around 0.

    Like e5 it has a way for questions and one for texts, and mixed up they say nothing.
    """
    if is_question != (text in QUESTIONS):
        return noise(text)
    about, wording = unit(noise(TOPICS[text])), unit(noise(f"{is_question} {text}"))
    return unit([a + w for a, w in zip(about, wording, strict=True)])


def squeezed(share: float) -> Embeddings:
    """The same embedder, but every vector has `share` in common with all others: its cosines are high and close."""

    def embed(text: str, is_question: bool) -> list[float]:
        return [math.sqrt(share), *(math.sqrt(1 - share) * part for part in understanding(text, is_question))]

    return FromFunction(embed)


def cosines(embeddings: Embeddings, pairs: Sequence[tuple[str, str]]) -> tuple[list[float], list[float]]:
    """The cosines of questions and their answers, and those of questions and the other texts."""
    questions = [unit(embeddings.embed_query(question)) for question, _ in pairs]
    texts = [unit(vector) for vector in embeddings.embed_documents([text for _, text in pairs])]
    table = [[sum(map(mul, question, text)) for text in texts] for question in questions]
    return (
        [row[place] for place, row in enumerate(table)],
        [cosine for place, row in enumerate(table) for other, cosine in enumerate(row) if other != place],
    )


def share_from(threshold: float, scale: Calibration, found: Sequence[float]) -> float:
    return sum(scale.similarity(cosine) >= threshold for cosine in found) / len(found)


@st.composite
def scales(draw: st.DrawFn) -> Calibration:
    inner = sorted(draw(st.sets(st.floats(-1, 1, exclude_min=True, exclude_max=True), max_size=6)))
    heights = sorted(draw(st.lists(st.floats(0, 1), min_size=len(inner), max_size=len(inner))))
    return Calibration(
        points=((-1, 0), *zip(inner, heights, strict=True), (1, 1)), separation={"en": draw(st.floats(0, 1))}
    )


ROUNDS_UP = Calibration(points=((-1, 0), (-0.6003, 0.06), (0.14, 0.87), (1, 1)), separation={})
"""0.06 + (0.87 - 0.06) is more than 0.87."""


@given(scales(), st.floats(-1.1, 1.1), st.floats(-1.1, 1.1))
@example(ROUNDS_UP, math.nextafter(0.14, 0), 0.14)
def test_a_higher_cosine_is_no_lower_similarity(scale: Calibration, one: float, other: float) -> None:
    low, high = sorted([one, other])
    assert 0 <= scale.similarity(low) <= scale.similarity(high) <= 1


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([(-1, 0), (0.5, 0.5)], "end with"),
        ([(0, 0), (1, 1)], "begin with"),
        ([(-1, 0), (0.5, 0.5), (0.5, 0.6), (1, 1)], "rise"),
        ([(-1, 0), (math.nan, 0.5), (1, 1)], "finite"),
    ],
)
def test_a_stored_scale_that_does_not_rise_is_refused(points: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Calibration(points=points, separation={})


async def test_the_same_texts_are_as_similar_by_an_embedder_with_other_cosines() -> None:
    wide, narrow = squeezed(0.0), squeezed(0.9)
    by_wide, by_narrow = await calibrate(wide), await calibrate(narrow)
    for pairs in HELD_OUT.values():
        for wide_ones, narrow_ones in zip(cosines(wide, pairs), cosines(narrow, pairs), strict=True):
            # Below 0.5 a text is farther than an unrelated one; there both only run out to 0.
            found = [max(0.5, by_wide.similarity(cosine)) for cosine in wide_ones]
            assert [max(0.5, by_narrow.similarity(cosine)) for cosine in narrow_ones] == pytest.approx(found, abs=0.01)


async def test_the_similarity_of_small_talk_is_measured_with_the_scale() -> None:
    def far_but_for_small_talk(text: str, is_question: bool) -> list[float]:
        away = noise(text) if text in TOPICS else [3.0] * 64
        return [1.0 + step for step in away]

    low, high = await calibrate(squeezed(0.0)), await calibrate(FromFunction(far_but_for_small_talk))
    assert low.idle is not None
    assert high.idle is not None
    assert low.idle < 0.8 < high.idle


async def test_a_language_that_the_embedder_does_not_know_does_not_move_the_scale() -> None:
    def knows_english(text: str, is_question: bool) -> list[float]:
        known = TOPICS.get(text, "").startswith("en")
        # What it does not know lies anywhere, answers too: lower than the answers that it knows.
        return understanding(text, is_question) if known else noise(f"{is_question} {text}")

    scale = await calibrate(FromFunction(knows_english))
    assert scale.separates
    assert scale.separation["vi"] < 0.7 < scale.separation["en"]
    assert share_from(0.7, scale, cosines(squeezed(0.0), HELD_OUT["en"])[1]) <= 0.15


@pytest.mark.parametrize(
    "embeddings",
    [
        pytest.param(FromFunction(lambda text, is_question: [1.0, 2.0]), id="one vector for all"),
        pytest.param(WordEmbeddings(), id="words"),
    ],
)
async def test_an_embedder_that_tells_nothing_apart_says_so_and_still_has_a_scale(embeddings: Embeddings) -> None:
    scale = await calibrate(embeddings)
    assert not scale.separates
    heights = [scale.similarity(step / 100) for step in range(-100, 101)]
    assert heights == sorted(heights)
    assert (heights[0], heights[-1]) == (0, 1)


async def test_a_vector_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        await calibrate(FromFunction(lambda text, is_question: [math.nan, 1.0]))


async def test_what_is_known_of_the_local_model_is_what_is_measured() -> None:
    measured, known = await calibrate(LocalEmbeddings()), KNOWN[LOCAL_MODEL]
    # Other processors round otherwise.
    assert [cosine for cosine, _ in known.points] == pytest.approx([cosine for cosine, _ in measured.points], abs=0.003)
    assert known.separation == pytest.approx(measured.separation, abs=0.02)
