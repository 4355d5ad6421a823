"""Relevance: a message gets the memories and facts that it needs, none for small talk and most tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from react_mem.memory.index.recall import Recall, RecallHit
from react_mem.memory.language import languages_of
from react_mem.memory.language.statements import is_pleasantry, is_question, is_request, speaks_of_own
from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.kinds import EPISODE, FACT, KNOWLEDGE, MESSAGE, SUMMARY

WEIGHTS: Mapping[str, float] = {
    "constant": -2.39,
    "similarity": 2.11,
    "similarity_ahead": 1.12,
    "score_ahead": 1.92,
    "few": -0.5,
    "coverage": 1.44,
    "names_somebody": 3.98,
    "speaks_of_own": 3.78,
    "asks": 0.54,
    "requests": 0.97,
    "is_pleasantry": -2.31,
    "words": -0.49,
}
"""Weights of the features in the logistic model, as `python -m benchmarks.relevance.fit` fits them."""

NEEDED = 0.3
"""Probability from which a message needs memories. Below, it gets none, and a question `LEAST`."""

SURELY = 0.5
"""Probability from which it gets all that was found; between the two, the best few."""

BEST = 4
"""Memories where it is not sure that any is needed; and the rank that the best one is compared with."""

LEAST = 2
"""Memories for a question that seems to need none: whoever asks for a fact must not be met with nothing."""

_UNRELATED = 0.7
_AHEAD = 2.0
"""Similarity, and lead in score, that stand for the fourth result where there are fewer."""

_MOST_WORDS = 8

_GATED = (FACT, KNOWLEDGE, MESSAGE, SUMMARY, EPISODE)
"""Kinds about the user. Documents and skills answer tasks."""

GAP = 0.08
"""Tolerated similarity below the most similar fact."""

SHARE = 0.8
"""Share of the best score from which a fact stays, however similar."""

AS_WORDED = 0.7
"""Share of the best lexical score from which a fact stays, however similar."""


def relevant(answer: Recall, message: str) -> list[RecallHit]:
    """Return the hits that a message needs, in order: none, the best few, or all but the facts far below the best."""
    found = near_the_best(answer.found)
    needed = probability(answer, message)
    if needed >= SURELY:
        return found
    most = BEST if needed >= NEEDED else LEAST if is_question(message) and not is_pleasantry(message) else 0
    kept = [one for one in found if _is_gated(one.item.value)][:most]
    return [one for one in found if one in kept or not _is_gated(one.item.value)]


def probability(answer: Recall, message: str) -> float:
    """Return the probability that a message needs any of the hits; 1 where similarities or its words say nothing."""
    is_compared = answer.idle is not None and any(one.similarity is not None for one in answer.found)
    if not is_compared or not (any(languages_of(message)) or is_pleasantry(message)):
        return 1.0
    told = features(answer, message)
    likely = 1 / (1 + exp(-sum(WEIGHTS[name] * value for name, value in told.items())))
    # where every word of a message is in a memory, it is asked for by them
    return max(likely, NEEDED) if told["coverage"] == 1 and not told["is_pleasantry"] else likely


def features(answer: Recall, message: str) -> dict[str, float]:
    """Return the features of a message and its search results, each of some units at most.

    The best result is measured against the similarity of small talk and the fourth result: where something is needed,
    it stands out.
    """
    found, idle = answer.found, answer.idle or 0.0
    similar = sorted((one.similarity or 0.5 for one in found), reverse=True)
    scores = sorted((one.item.score or 0.0 for one in found), reverse=True)
    few = len(found) < BEST
    words = set(index_terms(message))
    # of words that stand in the keywords of a memory, the arm alone knows
    shared = max(
        (max(len(words & set(index_terms(one.text))), one.arms.get(Arm.LEXICAL, 0.0) > 0) for one in found[:BEST]),
        default=0,
    )
    return {
        "constant": 1.0,
        "similarity": 10 * (similar[0] - idle),
        "similarity_ahead": 10 * (similar[0] - (_UNRELATED if few else similar[BEST - 1])),
        "score_ahead": (_AHEAD if few else scores[0] - scores[BEST - 1]) / 10,
        "few": float(few),
        "coverage": shared / len(words) if words else 0.0,
        "names_somebody": float(bool(answer.names)),
        "speaks_of_own": float(speaks_of_own(message)),
        "asks": float(is_question(message)),
        "requests": float(is_request(message)),
        "is_pleasantry": float(is_pleasantry(message)),
        "words": min(len(words), _MOST_WORDS) / _MOST_WORDS,
    }


def _is_gated(value: Mapping[str, Any]) -> bool:
    return any(kind.matches(value) for kind in _GATED)


def near_the_best(found: Sequence[RecallHit]) -> list[RecallHit]:
    """Drop the facts far below the best hit, keeping the order; without vectors shared words alone say too little."""
    best = max((one.item.score or 0.0 for one in found), default=0.0)
    nearest = max((one.similarity for one in found if one.similarity is not None), default=None)
    if best <= 0 or nearest is None:
        return list(found)
    worded = max(one.arms.get(Arm.LEXICAL, 0.0) for one in found)
    return [
        one
        for one in found
        if not FACT.matches(one.item.value)
        or (one.similarity is not None and one.similarity >= nearest - GAP)
        or (worded > 0 and one.arms.get(Arm.LEXICAL, 0.0) >= AS_WORDED * worded)
        or (one.item.score or 0.0) >= SHARE * best
    ]
