"""Results of a read beside single hits: standing instructions; and their order: deduplication, reranking."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from langchain_core.documents import BaseDocumentCompressor, Document
from langgraph.store.base import Op

from react_mem.memory.index.recall import Question, Recall, RecallHit, RecallOp
from react_mem.memory.language import length
from react_mem.memory.language.comparison import Vocabulary
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.standing import standing_in
from react_mem.memory.language.statements import is_pleasantry, is_question, sentences
from react_mem.memory.model.interface import (
    Arm,
    Fragment,
    MemoryQuery,
    MemoryResultItem,
    MemoryScope,
    reranker_at,
)
from react_mem.memory.model.kinds import MESSAGE, origin_of, speaker_of
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy

_GIST = 200
"""Characters of a gist."""

_LEADING_WORDS = 2
"""Words of an introductory sentence: "Certainly!", "Sure, Ann!"."""


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


# Order of what was recalled: repetitions last, and a message with the one that belongs to it.


def distinct(found: Sequence[RecallHit], wanted: int) -> list[RecallHit]:
    """Move repetitions of better hits, in the same words, behind all others; after `wanted` others, the rest stays."""
    kept: list[RecallHit] = []
    repeated: list[RecallHit] = []
    known: dict[str, list[tuple[str, str]]] = {}
    for one in found:
        text, about = normalise(one.text), normalise(str(one.item.value.get("about") or ""))
        # of whom a message is, nobody says
        said = [other for name, other in known.get(text, ()) if not name or not about or name == about]
        if text and said and len(kept) < wanted and is_question(one.text) in map(is_question, said):
            repeated.append(one)
        else:
            kept.append(one)
            known.setdefault(text, []).append((about, one.text))
    return [*kept, *repeated]


def fragments(recalled: RecallHit) -> tuple[Fragment, ...]:
    """Return the texts of a memory and its partner, if any, in the order of the conversation."""
    own = _fragment({**recalled.item.value, "id": recalled.item.key, "text": recalled.text})
    if recalled.partner is None:
        return (own,)
    other = _fragment(recalled.partner)
    return (own, other) if recalled.item.value.get("role") == "user" else (other, own)


def _fragment(value: Mapping[str, Any]) -> Fragment:
    role, speaker, text = (str(value.get(name) or "") for name in ("role", "speaker", "text"))
    return Fragment(id=value["id"], role=speaker_of(value) or role, speaker=speaker, content=text)


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


# Optional reranking of recalled memories by any LangChain document compressor.

_PLACE = "place"


@lru_cache(maxsize=8)
def load_reranker(path: str) -> BaseDocumentCompressor:
    """Return the cached reranker at a path (see `check_reranker`), or raise ValueError. Blocks: it may load a model."""
    found = reranker_at(path)
    made = found if isinstance(found, BaseDocumentCompressor) else found() if callable(found) else found
    if not isinstance(made, BaseDocumentCompressor):
        raise ValueError(f"the reranker {path!r} is not a LangChain document compressor but {type(made).__name__}")
    return made


async def rerank(path: str, query: str, found: Sequence[RecallHit]) -> list[RecallHit]:
    """Rerank recalled memories; dropped ones come last. Errors of the reranker are passed on."""
    if len(found) < 2:
        return list(found)
    reranker = await asyncio.to_thread(load_reranker, path)
    documents = [
        Document(page_content=one.text, metadata={_PLACE: place, "source": str(one.item.value.get("kind", ""))})
        for place, one in enumerate(found)
    ]
    ordered = await reranker.acompress_documents(documents, query)
    places = [place for document in ordered if isinstance(place := document.metadata.get(_PLACE), int)]
    first = [place for place in dict.fromkeys(places) if 0 <= place < len(found)]
    return [found[place] for place in [*first, *(place for place in range(len(found)) if place not in first)]]


# Standing instructions and preferences of the user that fit a question, in the user's own words.

INSTRUCTION = "instruction"
"""Source of a result that is a standing instruction."""

ASKS_STANDING = "standing"
"""Entry of a query's `extra` that asks for instructions."""

_KINDS = ("instruction", "preference")

_READ_FOR_TOPIC = 1_000
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
            arms=_NEAR,
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
        of_kind = [one for one in known if one.topic and (one.similarity >= _FITS or words.share(one.topic) >= _NAMED)]
        of_kind.sort(key=lambda one: -one.similarity)
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
        elif said := gist_of(own_words_in(whole[:_READ_FOR_TOPIC])):
            # a model has seen that it stands, and nobody what about
            told.append(_StandingHit(hit, said, said))
    kept: list[_StandingHit] = []
    for one in sorted(told, key=lambda one: str(one.hit.item.value.get("created_at", "")), reverse=True):
        if not any(one.repeats(later) for later in kept):
            kept.append(one)
    return kept
