"""Outline of what was said: an exchange a line, for questions about a whole conversation.

Single hits answer "what did I say of X"; "in what order did I bring things up" and "sum it up" need a little of
everything. What an exchange is about stands in its beginning: of the user's own words a few, and of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import Op, SearchOp

from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import Recall, RecallHit, RecallOp
from react_mem.memory.language import length
from react_mem.memory.language.folding import fold
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import is_pleasantry, sentences
from react_mem.memory.model.interface import Arm, MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import CONCEPT, MESSAGE, SUMMARY, origin_of
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
