"""The numbers of one recall: what it asks for, and what each arm weighs."""

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
"""More than any cosine: nothing is as near."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1) // _MICROSECOND


class CosineScale(Protocol):
    """Meaning of an embedder's cosines, on the scale of all embedders."""

    @property
    def separates(self) -> bool:
        """Return whether a threshold filters anything."""

    @property
    def rise(self) -> float:
        """Return the similarity per unit of cosine."""

    def cosine(self, similarity: float) -> float:
        """Return the cosine that means a similarity."""


def microseconds(time: datetime) -> int:
    """Return a time with a zone as the index has it."""
    return (time - _EPOCH) // _MICROSECOND


class StandingWeight(NamedTuple):
    """Weight of standing instructions, or of preferences.

    Args:
        mark: The mark that they have.
        least: What having it weighs.
        cosine: What the cosine weighs, as far as it is above the mean of all that have the mark.
    """

    mark: int
    least: float
    cosine: float


class Weights(NamedTuple):
    """Numbers of one recall. An arm that is off weighs nothing, and what it would be asked, is not.

    Args:
        words: The question's words by number, each with its weight.
        required: The marks that a text must have.
        refused: Those that it must not have.
        speaker: The mark of whoever must have said it; 0 for nobody in particular.
        itself: The mark of what speaks of itself.
        when: The mark of what has a time in it; 0 where none is asked for.
        starts: The first microsecond of each period.
        ends: The last of each.
        kernel: How much a word counts in the texts from two before to two after.
        reach: How far from what is proposed texts are scored too.
        seeds: How many texts an arm proposes.
        min_cosine: The cosine from which the vector arm proposes a text.
        unrelated: The cosine of what has nothing to do with the question, which adds nothing.
        cosine: What the cosine weighs.
        around: What that of the neighbours does.
        lexical: What BM25 does.
        said_by: What being said by the speaker does.
        of_itself: What speaking of itself does.
        time: What being said in the period does.
        standing: What stands from now on.
        hub: What being near to what is near to the question takes away.
        tells_when: What having a time in it does.
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
        """Return those of a recall.

        Args:
            op: The recall.
            scale: What the cosines mean.
        """
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
