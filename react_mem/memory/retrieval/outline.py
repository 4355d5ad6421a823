"""Outline of past conversations, a line per exchange, for questions about a whole conversation.

Single hits answer "what did I say of X"; "in what order did I bring things up" and "sum it up" need a little of
everything. The topic of an exchange stands in its beginning: a few words of the user, and of the answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from langgraph.store.base import Op, SearchOp

from react_mem.memory.index.recall import Question, Recall, RecallHit, RecallOp
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
"""Source of a result that is an outline, not a memory."""

ASKS_WHOLE = "whole"
"""Entry of a query's `extra` that asks for an outline."""

_EXCHANGES = 120
"""Most relevant exchanges considered: more than a prompt has room for."""

_SUMMARIES = 6

_CONCEPTS = 100
_CONCEPTS_SHOWN = 8
"""Concepts considered, and shown."""

_LEAST_COVERED = 4
"""Minimum messages of a summary that adds something to the exchanges."""

_GIST = 200
"""Characters of a gist; the prompt may show fewer."""

_LEADING_WORDS = 2
"""Words of an introductory sentence: "Certainly!", "Sure, Ann!"."""

_READ = 500
"""Characters of a message that are searched for its gist."""


def outline_operations(query: MemoryQuery, question: Question | None, policy: MemoryPolicy) -> list[Op | RecallOp]:
    """Return the store operations for an outline; none unless the query's `extra["whole"]` asks."""
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
    """Return an outline, or nothing, from the answers to `outline_operations`. Takes milliseconds: use a thread."""
    if not answers:
        return []
    exchanges, summaries = (answer.found if isinstance(answer, Recall) else () for answer in answers[:2])
    seen = frozenset(query.seen)
    lines = [line for one in exchanges if (line := _exchange(one, seen))]
    if not lines:
        return []
    told = [(value, int(value.get("covers") or 0)) for value in (one.item.value for one in summaries)]
    payload = {
        "kind": OUTLINE,
        "exchanges": lines,
        "summaries": [
            {"id": str(value["id"]), "at": str(value["created_at"]), "text": str(value["text"]), "covers": str(covers)}
            for value, covers in told
            if covers >= _LEAST_COVERED and value.get("text")
        ],
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


def _concepts(concepts: Iterable[Mapping[str, Any]], exchanges: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the concepts in the exchanges, with the day of their first mention, the most frequent first."""
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
    r"""Return the beginning of a message, without pleasantries and introductory phrases.

    >>> gist_of("Hello! Thanks. I need a plan for the trip to Hue.")
    'I need a plan for the trip to Hue.'
    >>> gist_of("Certainly! Here are the steps:\nBook the train first.")
    'Book the train first.'
    """
    said = [one for one in sentences(text) if not is_pleasantry(one)]
    telling = [one for one in said if not one.rstrip(" *_").endswith((":", "："))] or said
    if len(telling) > 1 and length(telling[0]) <= _LEADING_WORDS:
        telling = telling[1:]
    return " ".join(" ".join(telling).split())[:_GIST]


# Cut of the facts that a search found beside the best: what is far less similar to the question is not what it needs.

GAP = 0.08
"""Tolerated similarity below the most similar fact."""

SHARE = 0.8
"""Share of the best score from which a fact stays, however similar."""

AS_WORDED = 0.7
"""Share of the best lexical score from which a fact stays, however similar."""


def relevant(found: Sequence[RecallHit]) -> list[RecallHit]:
    """Drop the facts far below the best hit, keeping the order.

    Without vectors everything stays: shared words alone say too little about distance.
    """
    best = max((_score(one) for one in found), default=0.0)
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
        or _score(one) >= SHARE * best
    ]


def _score(one: RecallHit) -> float:
    return one.item.score or 0.0


# Order of what was recalled: near-duplicates last, and a message with the one that belongs to it.

NEARLY_THE_SAME = 0.8
"""Share of common words from which the second text repeats the first."""


class _Features:
    """Features of a text for deduplication: its words, numbers, negation, question form and subject.

    "I like tea" repeats neither "Do I like tea?" nor "I don't like tea", and "at 5" does not repeat "at 6".
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
    """Move repetitions of better hits behind all others; after `wanted` hits without repetition, the rest stays."""
    kept: list[RecallHit] = []
    known: list[_Features] = []
    repeated: list[RecallHit] = []
    for one in found:
        said = _Features(one) if len(known) < wanted else None
        if said is not None and any(said.repeats(other) for other in known):
            repeated.append(one)
            continue
        kept.append(one)
        if said is not None:
            known.append(said)
    return [*kept, *repeated]


def fragments(recalled: RecallHit) -> tuple[Fragment, ...]:
    """Return the texts of a memory and its partner, if any, in the order of the conversation."""
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
"""Memories shown of a layer that the request does not ask for: never none, since routing may err."""


def shown_of(results: Sequence[MemoryResultItem], layers: Collection[str]) -> list[MemoryResultItem]:
    """Return the results to show, from scopes in descending relevance: all of the requested layers and the profile, and
    `BESIDE` of each other scope. No layers means all of them.
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
