"""The table of the arms' weights, and the parameters of one recall."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import numpy as np

from react_mem.memory.index import entries
from react_mem.memory.index.entries import mark, term_number
from react_mem.memory.index.recall import CosineScale, RecallOp
from react_mem.memory.index.texts import Floats, Rows
from react_mem.memory.model.interface import Arm

# Score fusion: a weighted sum of the arms' scores, with weights chosen by measurement.

LEXICAL = 1.0
"""BM25 in its own units: sum of the words' inverse document frequencies (natural logarithm), saturated."""

VECTOR = 48.0
"""Weight of the calibrated similarity (0.5 unrelated, 0.9 nearest), the same for all embedders."""

WINDOW = 22.0
"""Weight of the neighbours' mean similarity, on the same scale; a text without neighbours counts by its own."""

SPEAKER = 7.0
"""Spoken by the person in the question, or by the user for a question with "I"."""

SPEAKS_OF_ITSELF = 1.0
"""In the first person: questions are about people, not about their remarks."""

TIME = 7.5
"""Spoken in a period of the question, decaying with the distance."""

TIME_DECAY_DAYS = 14.0
"""Days of decay to a third: people mention "yesterday" and "last weekend" some days later."""

TELLS_WHEN = 0.9
"""Mentions a time, where the question asks for one."""

HUB = 16.5
"""Hubness correction on the vectors' scale: a text that is near to everything says little ("cross-domain similarity
local scaling", Conneau et al., 2018).
"""

INSTRUCTS = 1.0
"""Weight of a standing instruction of the user."""

INSTRUCTS_ON = 190.0
"""Weight of its similarity above the mean of all instructions, on the vectors' scale. An instruction shares the topic
with the question at most, and no word; this picks the right one of several.
"""

PREFERS = 5.0
"""Weight of a preference of the user."""

PREFERS_ON = 190.0
"""Weight of its similarity above the mean of all preferences."""

SATURATION = 0.8
"""BM25's k1: how soon repetitions of a word stop counting."""

LENGTH = 0.75
"""BM25's b: the discount of a long text's words. Firm: long answers mention everything."""

KERNEL = (0.25, 0.5, 1.0, 0.6, 0.3)
"""Weights of a word two texts before, one before, in the text, one after, two after: the words of a question find its
answer. Measured on LoCoMo's conversations by BM25 alone: without 60.7 % recall@10, with 72.
"""

SEEDS = 30
"""Proposals of an arm. With their neighbours some 150 texts are scored; twice as many, or all of them, find no more
(measured: 83.0 % recall@10 over both sets with 30, 82.8 with 60).
"""


# Parameters of one recall.

INSTRUCTION = term_number(mark("standing", "instruction"))
PREFERENCE = term_number(mark("standing", "preference"))

_NO_COSINE = 2.0
"""A threshold above any cosine."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1) // _MICROSECOND


def microseconds(time: datetime) -> int:
    """Return the index's form of a time with a zone."""
    return (time - _EPOCH) // _MICROSECOND


class Weights(NamedTuple):
    """Parameters of one recall. A disabled arm has no words, marks (0), periods or weight.

    A text must have all marks `required`, and none `refused`. Periods are in microseconds. Texts up to `reach` from a
    proposal are scored too; `unrelated` is the cosine of an unrelated text, the zero of the vector arm; `around` is the
    weight of the neighbours' cosine. `standing` are marks, each with its base weight and that of the cosine above the
    mean of its kind.
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
    standing: tuple[tuple[int, float, float], ...]
    hub: float

    @classmethod
    def of(cls, op: RecallOp, scale: CosineScale) -> Weights:
        question = op.question
        on = {arm: float(arm in op.arms) for arm in Arm}
        periods = question.periods if on[Arm.TIME] else ()
        middle = len(KERNEL) // 2
        kernel = np.array(KERNEL) * on[Arm.WINDOW]
        kernel[middle] = KERNEL[middle]
        rise = scale.rise
        least = scale.cosine(op.similarity) if scale.separates else -1.0
        standing = (
            (INSTRUCTION, INSTRUCTS, INSTRUCTS_ON * rise),
            (PREFERENCE, PREFERS, PREFERS_ON * rise),
        )
        return cls(
            words={term_number(term): weight for term, weight in question.terms} if on[Arm.LEXICAL] else {},
            required=_marks(op.conditions, wanted=True),
            refused=_marks(op.conditions, wanted=False),
            speaker=term_number(question.speaker) if on[Arm.SPEAKER] and question.speaker else 0,
            itself=term_number(entries.SPEAKS_OF_ITSELF) if on[Arm.SPEAKER] else 0,
            when=term_number(entries.TELLS_WHEN) if on[Arm.TIME] and question.asks_when else 0,
            starts=np.array([_day(period.start) for period in periods], dtype=np.int64),
            ends=np.array([_day(period.end) + DAY for period in periods], dtype=np.int64),
            kernel=kernel,
            reach=middle if on[Arm.WINDOW] else 0,
            seeds=max(SEEDS, op.limit),
            min_cosine=least if on[Arm.VECTOR] else _NO_COSINE,
            unrelated=scale.cosine(0.5),
            cosine=on[Arm.VECTOR] * VECTOR * rise,
            around=on[Arm.VECTOR] * on[Arm.WINDOW] * WINDOW * rise,
            standing=standing if on[Arm.STANDING] * on[Arm.VECTOR] else (),
            hub=on[Arm.VECTOR] * on[Arm.HUB] * HUB * rise,
        )


def _marks(conditions: Mapping[str, object], *, wanted: bool) -> tuple[int, ...]:
    return tuple(
        term_number(mark(name, value["$ne"] if isinstance(value, Mapping) else value))
        for name, value in conditions.items()
        if isinstance(value, Mapping) is not wanted
    )


def _day(day: date) -> int:
    return (day.toordinal() - _EPOCH.toordinal()) * DAY
