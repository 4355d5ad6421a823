"""Standing instructions and preferences of the user that fit a question, in the user's own words.

"Always name the currency when I ask about budgets" shares no word with "What does the trip cost?", and still applies.
There are few, so all are compared with the question, and the near ones count; one without a topic always counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph.store.base import Op

from react_mem.memory.index.recall import Question, Recall, RecallHit, RecallOp
from react_mem.memory.language.comparison import Vocabulary
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.standing import standing_in
from react_mem.memory.model.interface import Arm, Fragment, MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import MESSAGE, origin_of
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.outline import gist_of

INSTRUCTION = "instruction"
"""Source of a result that is a standing instruction."""

ASKS_STANDING = "standing"
"""Entry of a query's `extra` that asks for instructions."""

_KINDS = ("instruction", "preference")

_READ = 1_000
"""Characters of a message without a cue that are searched for its gist."""

_LOOKED_AT = 10
"""Instructions, and preferences, nearest to the question that are considered."""

_NEAR = frozenset({Arm.VECTOR, Arm.LEXICAL})
"""Arms that rank by topic; speaker and time tell nothing about instructions."""

_FITS = 0.8
"""Similarity from which an instruction fits: nine in ten answers and related topics reach 0.7."""

_NEAR_BEST = 0.05
"""Tolerated similarity below the nearest of its kind."""

_MOST_OF_A_KIND = 2
_MOST_ABOUT_ALL = 3

_REPEATS = 0.7
"""Share of common words, within one topic, from which the later instruction replaces the earlier one: "never" for
"always", or a repetition in nearly the same words.
"""

_NAMED = 0.8
"""Share of a topic's words in a question from which the question names the topic."""


class _StandingHit(NamedTuple):
    """Standing instruction or preference, with its message."""

    hit: RecallHit
    said: str
    topic: str

    @property
    def similarity(self) -> float:
        return self.hit.similarity or 0.0

    def repeats(self, other: _StandingHit) -> bool:
        if normalise(self.topic) != normalise(other.topic):
            return False
        shares = (Vocabulary([self.said]).share(other.said), Vocabulary([other.said]).share(self.said))
        return min(shares) >= _REPEATS

    def fits(self, words: Vocabulary) -> bool:
        return self.similarity >= _FITS or words.share(self.topic) >= _NAMED


def instruction_operations(query: MemoryQuery, question: Question | None, policy: MemoryPolicy) -> list[Op | RecallOp]:
    """Return the store operations for standing instructions; none unless the query's `extra["standing"]` asks."""
    asked = query.extra.get(ASKS_STANDING) and policy.recall.dialog and MemoryScope.DIALOG in query.scopes
    if not asked or question is None or query.as_of is not None:
        return []
    return [
        RecallOp(
            scope_namespace(query.user_id, MemoryScope.DIALOG),
            question,
            {"kind": MESSAGE.name, "standing": kind},
            _LOOKED_AT,
            without=query.seen,
            arms=policy.recall.arms & _NEAR,
        )
        for kind in _KINDS
    ]


def instructions_of(answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
    """Return the fitting instructions, then preferences, general ones first, from the store's answers."""
    words = Vocabulary([query.query or ""])
    about_all: list[_StandingHit] = []
    fitting: list[_StandingHit] = []
    for answer in answers:
        known = _latest(answer.found if isinstance(answer, Recall) else ())
        about_all += [one for one in known if not one.topic][:_MOST_ABOUT_ALL]
        of_kind = sorted((one for one in known if one.topic and one.fits(words)), key=lambda one: -one.similarity)
        nearest = of_kind[0].similarity if of_kind else 0.0
        fitting += [one for one in of_kind if one.similarity >= nearest - _NEAR_BEST][:_MOST_OF_A_KIND]
    return [
        MemoryResultItem(
            scope=MemoryScope.DIALOG,
            id=one.hit.key,
            payload=one.hit.item.value,
            score=one.hit.item.score,
            source=INSTRUCTION,
            similarity=one.hit.similarity,
            fragments=(Fragment(id=one.hit.key, role="user", content=one.said),),
        )
        for one in (*about_all, *fitting)
    ]


def _latest(found: Sequence[RecallHit]) -> list[_StandingHit]:
    """Return the user's own instructions, the latest first, without earlier versions."""
    told = []
    for hit in found:
        value = hit.item.value
        content = value.get("content")
        whole = content if isinstance(content, str) else str(value.get("text") or "")
        if origin_of(value) is not Origin.USER:
            continue
        if (standing := standing_in(whole)) is not None:
            told.append(_StandingHit(hit, standing.said, standing.topic))
        elif said := gist_of(own_words_in(whole[:_READ])):
            # a model has seen that it stands, and nobody what about
            told.append(_StandingHit(hit, said, said))
    kept: list[_StandingHit] = []
    for one in sorted(told, key=lambda one: str(one.hit.item.value.get("created_at", "")), reverse=True):
        if not any(one.repeats(later) for later in kept):
            kept.append(one)
    return kept
