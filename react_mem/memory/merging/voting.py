"""Feedback on a turn, as it moves the memories that were used in it: bounded, the same in whatever order it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from react_mem.memory.index.recall import RecallHit
from react_mem.memory.model.records import AnyRecord, Votes

LOWEST, HIGHEST = 0.2, 0.8
"""Importance that feedback moves to, at most: it never makes a memory worthless, or a certainty."""

_MOST = 0.3
"""Most that feedback adds to importance or takes from it."""

_HALF = 2
"""Verdicts, all of one kind, that move it half as far as it goes: one thumb is a hint, four are a pattern."""

_TOGETHER = 1.1
"""Between what is liked most and least, the factor in what they score: feedback decides between what is about equal."""


def voted(record: AnyRecord, before: int, after: int) -> AnyRecord:
    """Return a record as it is once the verdict on a turn that used it has changed.

    Args:
        record: The record.
        before: The verdict until now: 1 for good, -1 for bad, 0 for none.
        after: The verdict from now on.
    """
    if before == after:
        return record
    votes = record.votes or Votes(base=record.importance)
    up = max(votes.up + (after == 1) - (before == 1), 0)
    down = max(votes.down + (after == -1) - (before == -1), 0)
    if not up and not down:
        return record.model_copy(update={"votes": None, "importance": votes.base})
    moved = votes.base + _MOST * _liked(up, down)
    importance = min(max(moved, min(votes.base, LOWEST)), max(votes.base, HIGHEST))
    return record.model_copy(
        update={"votes": votes.model_copy(update={"up": up, "down": down}), "importance": importance}
    )


def in_favour(found: Sequence[RecallHit]) -> Sequence[RecallHit]:
    """Return what was recalled in its order, but for what feedback decides; as it is where nobody gave any.

    Args:
        found: What was recalled, the best first. An order that is not that of the scores is somebody else's judgement,
            a reranker's, and stays.
    """
    factors = [favour(one.item.value) for one in found]
    if all(factor == 1.0 for factor in factors):
        return found
    scores = [one.item.score or 0.0 for one in found]
    if any(score < after for score, after in pairwise(scores)):
        return found
    weighed = [score * factor if score > 0 else score / factor for score, factor in zip(scores, factors, strict=True)]
    return [found[place] for place in sorted(range(len(found)), key=lambda place: -weighed[place])]


def favour(value: Mapping[str, Any]) -> float:
    """Return the factor by which feedback changes what a record, given as JSON, counts among others; 1 without any.

    >>> favour({}), favour({"votes": {"up": 1, "down": 1}})
    (1.0, 1.0)
    >>> 1 < favour({"votes": {"up": 1, "down": 0}}) / favour({"votes": {"up": 0, "down": 1}}) < 1.1
    True
    """
    votes = value.get("votes")
    return float(_TOGETHER ** (_liked(votes["up"], votes["down"]) / 2)) if votes else 1.0


def _liked(up: int, down: int) -> float:
    """Return how much is liked what has so many verdicts, between -1 and 1."""
    return (up - down) / (abs(up - down) + _HALF)
