"""Cut of the facts that a search found beside the best: what is far less similar to the question is not what it needs.

A fact says one thing; of messages, an answer may stand far below its question, and they are not cut. What scores nearly
as the best stays however similar it is, as shared words and times count as well. The numbers were chosen on
`benchmarks/relevance` so that nothing that is found and needed is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.index.recall import RecallHit
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.kinds import FACT

GAP = 0.08
"""Distance from the most similar fact that another one may have."""

SHARE = 0.8
"""The share of the best score from which a fact stays however similar it is."""

AS_WORDED = 0.7
"""The share of what shared words add to the best by words, from which a fact stays however similar it is."""


def relevant(found: Sequence[RecallHit]) -> list[RecallHit]:
    """Return what is no fact far below the best, in the same order; the best is always among it.

    Where no vectors were compared, shared words alone say too little of how far one is below another: all of it stays.

    Args:
        found: What one recall found, in any order.
    """
    best = max((_score(one) for one in found), default=0.0)
    nearest = max((one.similarity for one in found if one.similarity is not None), default=None)
    if best <= 0 or nearest is None:
        return list(found)
    worded = max(one.arms.get(Arm.LEXICAL, 0.0) for one in found)
    return [one for one in found if not FACT.matches(one.item.value) or _is_near(one, best, nearest, worded)]


def _is_near(one: RecallHit, best: float, nearest: float, worded: float) -> bool:
    if one.similarity is not None and one.similarity >= nearest - GAP:
        return True
    as_worded = worded > 0 and one.arms.get(Arm.LEXICAL, 0.0) >= AS_WORDED * worded
    return as_worded or _score(one) >= SHARE * best


def _score(one: RecallHit) -> float:
    return one.item.score or 0.0
