"""Outline of what was said: an exchange a line, for questions about a whole conversation.

Single hits answer "what did I say of X"; "in what order did I bring things up" and "sum it up" need a little of
everything. What an exchange is about stands in its beginning: of the user's own words a few, and of the answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from langgraph.store.base import Op, SearchOp

from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import Recall, RecallHit, RecallOp
from react_mem.memory.language import denial_of, length
from react_mem.memory.language.folding import fold, normalise
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import is_pleasantry, is_question, sentences
from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.interface import Arm, Fragment, MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import CONCEPT, FACT, MESSAGE, SUMMARY, origin_of
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy

OUTLINE = "outline"
"""Source of the result that is an outline, and no memory."""

ASKS_WHOLE = "whole"
"""Entry of a query's `extra` that asks for an outline."""

_EXCHANGES = 120
"""Exchanges that are looked at, the most relevant: more than a prompt has room for."""

_SUMMARIES = 6

_CONCEPTS = 100
_CONCEPTS_SHOWN = 8
"""Concepts that are looked at, and that are told of."""

_LEAST_COVERED = 4
"""Messages that a summary stands for from which it says something of a conversation beside its exchanges."""

_GIST = 200
"""Characters of a gist; how many of them are shown is for the prompt to decide."""

_LEADING_WORDS = 2
"""Words of a sentence that only leads in: "Certainly!", "Sure, Ann!"."""

_READ = 500
"""Characters of a message in which its gist is looked for."""


def outline_operations(query: MemoryQuery, question: Question | None, policy: MemoryPolicy) -> list[Op | RecallOp]:
    """Return what an outline is asked of the store, beside everything else; nothing where none is asked for.

    Args:
        query: What is read; its `extra["whole"]` asks for an outline.
        question: The same, read.
        policy: How much of what.
    """
    asked = query.extra.get(ASKS_WHOLE) and question is not None and query.as_of is None
    if not asked or question is None or MemoryScope.DIALOG not in query.scopes or not policy.recall.dialog:
        return []
    every = RecallOp(
        scope_namespace(query.user_id, MemoryScope.DIALOG),
        question,
        {"kind": MESSAGE.name, "role": "user"},
        _EXCHANGES,
        without=query.seen,
        # little of everything: nothing is too far from the question, and what is near to all of it is not put back
        arms=policy.recall.arms - {Arm.GRAPH, Arm.HUB, Arm.STANDING},
        pairs=True,
    )
    summaries = every._replace(conditions={"kind": SUMMARY.name}, limit=_SUMMARIES, pairs=False)
    if MemoryScope.SEMANTIC not in query.scopes:
        return [every, summaries]
    known = scope_namespace(query.user_id, MemoryScope.SEMANTIC)
    return [every, summaries, SearchOp(known, {"kind": CONCEPT.name}, _CONCEPTS)]


def outline_of(answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
    """Return an outline; nothing where nothing was said. Some milliseconds: not for an event loop.

    Args:
        answers: What the store answered to `outline_operations`; empty where it was not asked.
        query: The query.
    """
    if not answers:
        return []
    exchanges, summaries = (answer.found if isinstance(answer, Recall) else () for answer in answers[:2])
    seen = frozenset(query.seen)
    lines = [line for one in exchanges if (line := _exchange(one, seen))]
    if not lines:
        return []
    found = (_summary(one.item.value) for one in summaries)
    payload = {
        "kind": OUTLINE,
        "exchanges": lines,
        "summaries": [line for line in found if line],
        "concepts": _concepts((item.value for answer in answers[2:] for item in answer), lines),
    }
    return [MemoryResultItem(scope=MemoryScope.DIALOG, id=OUTLINE, payload=payload, source=OUTLINE)]


def _exchange(hit: RecallHit, seen: Collection[str]) -> dict[str, str] | None:
    value = hit.item.value
    whole = value["content"] if isinstance(value.get("content"), str) else str(value.get("text") or "")
    head = whole[:_READ]
    own = gist_of(own_words_in(head))
    shown = "" if own else gist_of(head)
    if not (own or shown):
        return None
    line = {"id": hit.key, "at": str(value.get("created_at")), "said": own, "shown": shown}
    answer = hit.partner
    if answer is not None and answer["id"] not in seen and (told := gist_of(str(answer.get("text") or "")[:_READ])):
        line |= {"answer_id": str(answer["id"]), "answer": told, "role": str(answer["role"])}
    return line


def _summary(value: Mapping[str, Any]) -> dict[str, str] | None:
    covers = int(value.get("covers") or 0)
    if covers < _LEAST_COVERED or not value.get("text"):
        return None
    return {"id": str(value["id"]), "at": str(value["created_at"]), "text": str(value["text"]), "covers": str(covers)}


def _concepts(concepts: Iterable[Mapping[str, Any]], exchanges: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return who and what the exchanges name, with the day since when the user speaks of it, the most named first."""
    told = [f" {fold(' '.join((one['said'], one.get('answer', ''))))} " for one in exchanges]
    counted: list[tuple[int, dict[str, str]]] = []
    for value in concepts:
        if value.get("theme") or origin_of(value) not in (Origin.USER, Origin.ASSENT):
            continue
        names = [re.compile(rf"(?<!\w){re.escape(fold(alias['name']))}(?!\w)") for alias in value["aliases"]]
        times = sum(any(name.search(one) for name in names) for one in told)
        if times:
            since = min(str(alias["since"]) for alias in value["aliases"])
            counted.append((times, {"name": str(value["name"]), "since": since}))
    counted.sort(key=lambda one: (-one[0], one[1]["name"]))
    return [concept for _, concept in counted[:_CONCEPTS_SHOWN]]


def gist_of(text: str) -> str:
    """Return the beginning of what a message says, without pleasantries and what only leads in what follows.

    Args:
        text: The message.

    >>> gist_of("Hello! Thanks. I need a plan for the trip to Hue.")
    'I need a plan for the trip to Hue.'
    >>> gist_of("Certainly! Here are the steps:\\nBook the train first.")
    'Book the train first.'
    """
    said = [one for one in sentences(text) if not is_pleasantry(one)]
    telling = [one for one in said if not one.rstrip(" *_").endswith((":", "："))] or said
    if len(telling) > 1 and length(telling[0]) <= _LEADING_WORDS:
        telling = telling[1:]
    return " ".join(" ".join(telling).split())[:_GIST]


# Cut of the facts that a search found beside the best: what is far less similar to the question is not what it needs.

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


# Order of what was recalled: near-duplicates last, and a message with the one that belongs to it.

NEARLY_THE_SAME = 0.8
"""The share of words that two texts have in common from which the second says nothing new."""


class _Features:
    """Features of a text for deduplication: its words, and what makes two with the same words say different things.

    "I like tea" neither repeats "Do I like tea?" nor "I don't like tea", nor does "at 5" repeat "at 6". What is about
    one person does not repeat what is about another.
    """

    def __init__(self, found: RecallHit) -> None:
        self._text = text = found.text
        self._about = normalise(str(found.item.value.get("about") or ""))
        self._words = frozenset(index_terms(text))

    @cached_property
    def _kind(self) -> tuple[frozenset[str], bool, bool]:
        # only few texts share so many words that this has to be known
        numbers = frozenset(term for term in self._words if any(map(str.isdigit, term)))
        return numbers, bool(denial_of(self._text)), is_question(self._text)

    def repeats(self, other: _Features) -> bool:
        if self._about and other._about and self._about != other._about:
            return False
        shared = len(self._words & other._words)
        if shared <= NEARLY_THE_SAME * (len(self._words) + len(other._words) - shared):
            return False
        return self._kind == other._kind


def distinct(found: Sequence[RecallHit], wanted: int) -> list[RecallHit]:
    """Move what repeats something better behind everything that does not; nothing is dropped.

    Args:
        found: What was recalled, the best first.
        wanted: How many are looked at, at most: once there are so many that repeat nothing, the rest stays as it is.
    """
    kept: list[tuple[RecallHit, _Features]] = []
    repeated: list[RecallHit] = []
    for place, one in enumerate(found):
        if len(kept) == wanted:
            return [*(one for one, _ in kept), *found[place:], *repeated]
        said = _Features(one)
        if any(said.repeats(other) for _, other in kept):
            repeated.append(one)
        else:
            kept.append((one, said))
    return [*(one for one, _ in kept), *repeated]


def fragments(recalled: RecallHit) -> tuple[Fragment, ...]:
    """Return the texts of a memory in the order in which they were said.

    Args:
        recalled: A message with its partner, or any other memory.
    """
    role = str(recalled.item.value.get("role", ""))
    own = Fragment(id=recalled.item.key, role=role, content=recalled.text)
    if recalled.partner is None:
        return (own,)
    other = Fragment(
        id=recalled.partner["id"], role=recalled.partner["role"] or "", content=recalled.partner["text"] or ""
    )
    return (own, other) if role == "user" else (other, own)


# Layers of memory that a request goes to: they show all that was found in them, the others only their best.

BESIDE = 2
"""Memories that a layer shows which a request does not ask for: never none, since the choice may be wrong."""


def shown_of(results: Sequence[MemoryResultItem], layers: Collection[str]) -> list[MemoryResultItem]:
    """Return what is shown of what was found: of the profile all.

    Args:
        results: What was found, of each scope the most relevant first.
        layers: The scopes that the request asks for; none for all of them alike.
    """
    if not layers:
        return list(results)
    asked_for = {*layers, MemoryScope.PROFILE}
    counts: Counter[MemoryScope] = Counter()
    shown = []
    for item in results:
        counts[item.scope] += 1
        if item.scope in asked_for or counts[item.scope] <= BESIDE:
            shown.append(item)
    return shown
