"""The parameters of one recall: its conditions, and the weight of each arm."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple, Protocol

import numpy as np

from react_mem.memory.index import recall as fusion
from react_mem.memory.index.entries import SPEAKS_OF_ITSELF, TELLS_WHEN, mark, term_number
from react_mem.memory.index.half_precision import Floats, Rows
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.model.interface import Arm

INSTRUCTION = term_number(mark("standing", "instruction"))
PREFERENCE = term_number(mark("standing", "preference"))

_NO_COSINE = 2.0
"""A threshold above any cosine."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1) // _MICROSECOND


class CosineScale(Protocol):
    """Calibration of an embedder's cosines to the common scale of similarity."""

    @property
    def separates(self) -> bool:
        """True if a threshold filters anything."""

    @property
    def rise(self) -> float:
        """Similarity per unit of cosine."""

    def cosine(self, similarity: float) -> float:
        """Return the cosine for a similarity."""


def microseconds(time: datetime) -> int:
    """Return the index's form of a time with a zone."""
    return (time - _EPOCH) // _MICROSECOND


class StandingWeight(NamedTuple):
    """Weight of standing instructions, or of preferences.

    Args:
        mark: Their mark.
        least: Base weight.
        cosine: Weight of the cosine above the mean of their kind.
    """

    mark: int
    least: float
    cosine: float


class Weights(NamedTuple):
    """Parameters of one recall. A disabled arm weighs 0 and is not computed.

    Args:
        words: Weights of the question's words by number.
        required: Marks that a text must have.
        refused: Marks that a text must not have.
        speaker: Mark of the expected speaker; 0 for none.
        itself: Mark of the first person.
        when: Mark of a mentioned time; 0 unless asked for.
        starts: First microsecond of each period.
        ends: Last microsecond of each period.
        kernel: Weights of a word from two texts before to two after.
        reach: Distance from a proposal at which texts are scored too.
        seeds: Proposals of an arm.
        min_cosine: Minimum cosine for proposals of the vector arm.
        unrelated: Cosine of an unrelated text, the zero of the vector arm.
        cosine: Weight of the cosine.
        around: Weight of the neighbours' cosine.
        lexical: Weight of BM25.
        said_by: Weight of the speaker.
        of_itself: Weight of the first person.
        time: Weight of the period.
        tells_when: Weight of a mentioned time.
        standing: Weights of instructions and preferences.
        hub: Weight of the hubness correction.
    """

    words: Mapping[int, float]
    required: tuple[int, ...]
    refused: tuple[int, ...]
    speaker: int
    itself: int
    when: int
    starts: Rows
    ends: Rows
    kernel: Floats
    reach: int
    seeds: int
    min_cosine: float
    unrelated: float
    cosine: float
    around: float
    lexical: float
    said_by: float
    of_itself: float
    time: float
    tells_when: float
    standing: tuple[StandingWeight, ...]
    hub: float

    @classmethod
    def of(cls, op: RecallOp, scale: CosineScale) -> Weights:
        """Return the parameters of a recall."""
        question = op.question
        on = {arm: float(arm in op.arms) for arm in Arm}
        periods = question.periods if on[Arm.TIME] else ()
        middle = len(fusion.KERNEL) // 2
        kernel = np.array(fusion.KERNEL) * on[Arm.WINDOW]
        kernel[middle] = fusion.KERNEL[middle]
        rise = scale.rise
        return cls(
            words={term_number(term): weight for term, weight in question.terms} if on[Arm.LEXICAL] else {},
            required=_marks(op.conditions, wanted=True),
            refused=_marks(op.conditions, wanted=False),
            speaker=term_number(question.speaker) if question.speaker else 0,
            itself=term_number(SPEAKS_OF_ITSELF),
            when=term_number(TELLS_WHEN) if question.asks_when else 0,
            starts=np.array([_day(period.start) for period in periods], dtype=np.int64),
            ends=np.array([_day(period.end) + DAY for period in periods], dtype=np.int64),
            kernel=kernel,
            reach=middle if on[Arm.WINDOW] else 0,
            seeds=max(fusion.SEEDS, op.limit),
            min_cosine=_least_cosine(op, scale),
            unrelated=scale.cosine(0.5),
            cosine=on[Arm.VECTOR] * fusion.VECTOR * rise,
            around=on[Arm.VECTOR] * on[Arm.WINDOW] * fusion.WINDOW * rise,
            lexical=on[Arm.LEXICAL] * fusion.LEXICAL,
            said_by=on[Arm.SPEAKER] * fusion.SPEAKER,
            of_itself=on[Arm.SPEAKER] * fusion.SPEAKS_OF_ITSELF,
            time=on[Arm.TIME] * fusion.TIME,
            tells_when=on[Arm.TIME] * fusion.TELLS_WHEN,
            standing=_standing(rise) if on[Arm.STANDING] * on[Arm.VECTOR] else (),
            hub=on[Arm.VECTOR] * on[Arm.HUB] * fusion.HUB * rise,
        )


def _marks(conditions: Mapping[str, object], *, wanted: bool) -> tuple[int, ...]:
    return tuple(
        term_number(mark(name, value["$ne"] if isinstance(value, Mapping) else value))
        for name, value in conditions.items()
        if isinstance(value, Mapping) is not wanted
    )


def _standing(rise: float) -> tuple[StandingWeight, ...]:
    return (
        StandingWeight(INSTRUCTION, fusion.INSTRUCTS, fusion.INSTRUCTS_ON * rise),
        StandingWeight(PREFERENCE, fusion.PREFERS, fusion.PREFERS_ON * rise),
    )


def _day(day: date) -> int:
    return (day.toordinal() - _EPOCH.toordinal()) * DAY


def _least_cosine(op: RecallOp, scale: CosineScale) -> float:
    if Arm.VECTOR not in op.arms:
        return _NO_COSINE
    return scale.cosine(op.similarity) if scale.separates else -1.0
