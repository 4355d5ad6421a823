"""Standing instructions and preferences of the user that fit a question, in the user's own words.

"Always name the currency when I ask about budgets" shares no word with "What does the trip cost?" and is still to be
heeded. There are few of them, so all are compared with the question, and those near it count; one that is about nothing
in particular always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph.store.base import Op

from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import Recall, RecallHit, RecallOp
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
"""Source of a result that is what the user wants from now on."""

ASKS_STANDING = "standing"
"""Entry of a query's `extra` that asks for them."""

_KINDS = ("instruction", "preference")

_READ = 1_000
"""Characters of a message without any cue in which its beginning is looked for."""

_LOOKED_AT = 10
"""Instructions, and preferences, that are looked at, those nearest to the question."""

_NEAR = frozenset({Arm.VECTOR, Arm.LEXICAL})
"""Arms that say which are nearest: few have to be left out, and who said what when tells nothing about them."""

_FITS = 0.8
"""Similarity from which one fits a question: 0.7 is what nine in ten answers reach, and what is near in topic."""

_NEAR_BEST = 0.05
"""Similarity by which one may be farther from the question than the nearest of its kind."""

_MOST_OF_A_KIND = 2
_MOST_ABOUT_ALL = 3

_REPEATS = 0.7
"""The share of their words that two of one topic have in common from which the later one holds alone: "never" for
"always", and what is said in nearly the same words."""

_NAMED = 0.8
"""The share of a topic's words that are in a question that names it."""


class _StandingHit(NamedTuple):
    """Standing instruction or preference, and the message that says it."""

    hit: RecallHit
    said: str
    topic: str

    @property
    def at(self) -> str:
        return str(self.hit.item.value.get("created_at", ""))

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
    """Return what is asked of the store for them, beside everything else; nothing where they are not asked for.

    Args:
        query: What is read; its `extra["standing"]` asks for them.
        question: The same, read.
        policy: How much of what.
    """
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
    """Return what stands and fits a question: instructions, then preferences, first what is about nothing special.

    Args:
        answers: What the store answered to `instruction_operations`.
        query: The query.
    """
    words = Vocabulary([query.query or ""])
    about_all: list[_StandingHit] = []
    fitting: list[_StandingHit] = []
    for answer in answers:
        known = _latest(answer.found if isinstance(answer, Recall) else ())
        about_all += [one for one in known if not one.topic][:_MOST_ABOUT_ALL]
        of_kind = sorted((one for one in known if one.topic and one.fits(words)), key=lambda one: -one.similarity)
        nearest = of_kind[0].similarity if of_kind else 0.0
        fitting += [one for one in of_kind if one.similarity >= nearest - _NEAR_BEST][:_MOST_OF_A_KIND]
    return [_shown(one) for one in (*about_all, *fitting)]


def _latest(found: Sequence[RecallHit]) -> list[_StandingHit]:
    """Return what the user says themselves in what was found, the latest first; said anew, it counts once."""
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
    for one in sorted(told, key=lambda one: one.at, reverse=True):
        if not any(one.repeats(later) for later in kept):
            kept.append(one)
    return kept


def _shown(one: _StandingHit) -> MemoryResultItem:
    item = one.hit.item
    return MemoryResultItem(
        scope=MemoryScope.DIALOG,
        id=item.key,
        payload=item.value,
        score=item.score,
        source=INSTRUCTION,
        similarity=one.hit.similarity,
        fragments=(Fragment(id=item.key, role="user", content=one.said),),
    )
