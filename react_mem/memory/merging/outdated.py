"""Doubts about found memories: contradictions of facts, and changes since a message or a summary.

A message stays as it was said. What it says is no longer true where a fact that came from it has been superseded,
corrected or ended: these former facts are recalled beside the others, and name their messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, nextafter
from typing import Any, NamedTuple, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.graph.links import in_utc
from react_mem.memory.index.recall import Question, Recall, RecallOp, as_read, is_over
from react_mem.memory.language.comparison import Vocabulary, share
from react_mem.memory.language.folding import normalise
from react_mem.memory.merging.forks import part_of
from react_mem.memory.model.interface import MemoryDoubt, MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import CHAIN, FACT, MESSAGE, SUMMARY
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import with_zone
from react_mem.memory.retrieval.relevance import near_the_best

_FORMER = 32
"""Former facts considered, those nearest to the question."""

_STATES = 0.5
"""Share of a former fact's words in a summary that states it."""

_ALL = 0.8
"""Share of a message's words in a former fact from which all of the message has changed."""

_SHORT = 1_000
"""Most characters of such a message: to compare a longer one takes its time."""

_Value = Mapping[str, Any]


def former_operations(query: MemoryQuery, question: Question | None, policy: MemoryPolicy) -> list[RecallOp]:
    """Return the recall of facts that are no longer believed; none where no messages are read beside facts."""
    is_on = policy.recall.semantic and policy.recall.dialog and MemoryScope.DIALOG in query.scopes
    if not is_on or question is None or query.as_of is not None:
        return []
    namespace = scope_namespace(query.user_id, MemoryScope.SEMANTIC)
    return [RecallOp(namespace, question.naming(), {"kind": FACT.name, "current": False}, _FORMER)]


async def with_doubts(
    store: BaseStore, query: MemoryQuery, results: Sequence[MemoryResultItem], answers: Iterable[Any] = ()
) -> list[MemoryResultItem]:
    """Return results with the doubts about each; the store is asked, once, only if there are any.

    A message whose fact another one has replaced comes last, behind that one, if the question is about it.

    Args:
        answers: The store's answers about facts, those to `former_operations` among them.
    """
    found = [hit for answer in answers if isinstance(answer, Recall) for hit in answer.found]
    hits, at = {hit.key: hit for hit in found if FACT.matches(hit.item.value)}, with_zone(query.asked_at)
    values = {id_: as_read(hit.item.value, at) for id_, hit in hits.items()}
    former = {id_: value for id_, value in values.items() if value["current"] is False}
    told = [[*_stated(item, [*former.values()])] if former else [] for item in results]
    heirs = {one.fact["id"]: _heir(one.fact, former) for of_item in told for one in of_item}
    facts = {item.id: item.payload for item in results if item.source == FACT.name}
    if not heirs and not any(_of(value) for value in facts.values()):
        return list(results)
    others = await others_of(store, query.user_id, facts, heirs.values())
    asked = {hit.key for hit in near_the_best(sorted(hits.values(), key=lambda hit: -(hit.item.score or 0.0)))}
    scores = {item.id: item.score or 0.0 for item in results if item.id in facts}
    kept: list[MemoryResultItem] = []
    last: list[MemoryResultItem] = []
    for item, of_item in zip(results, told, strict=True):
        changes = [(one.fact["id"], _change(one, others.get(heirs[one.fact["id"]]))) for one in of_item]
        replaced = {change.id: id_ for id_, change in changes if change and change.text and id_ in asked}
        now = [id_ for id_ in replaced if not is_over(others[id_], at)]
        if item.id in facts:
            item = _doubted(item, others)
        elif of_item:
            item = item.model_copy(update={"doubts": tuple(change for _, change in changes if change)})
        if not now or item.source != MESSAGE.name or item.score is None:
            kept.append(item)
            continue
        for id_ in now if MemoryScope.SEMANTIC in query.scopes else ():
            if id_ not in scores and id_ not in query.seen:
                scores[id_] = hits[replaced[id_]].item.score or 0.0
                named = {"id": id_, "payload": dict(others[id_]), "source": FACT.name, "score": scores[id_]}
                kept.insert(0, MemoryResultItem(scope=MemoryScope.SEMANTIC, **named))
        behind = [nextafter(scores[id_], -inf) for id_ in now if id_ in scores]
        last.append(item.model_copy(update={"score": min([item.score, *behind])}))
    return [*kept, *last]


class _Stated(NamedTuple):
    """A former fact that a record states: the record's id, its text and, of a summary, its time."""

    fact: _Value
    id: str
    text: str
    at: str = ""


def _stated(item: MemoryResultItem, facts: Sequence[_Value]) -> Iterator[_Stated]:
    """Yield the statements of former facts: messages they came from, and summaries of these with their words."""
    value = item.payload
    parts: Iterable[_Value] = [value]
    if item.source == CHAIN.name:
        entries = (entry for entry in value.get("entries") or () if isinstance(entry, Mapping))
        parts = [{"session_id": value.get("session_id"), "created_at": entry.get("at"), **entry} for entry in entries]
    elif item.source != SUMMARY.name:
        texts = {part.id: part.content for part in item.fragments} | {item.id: str(value.get("text") or "")}
        parts = [{"id": id_, "text": text} for id_, text in texts.items()]
    for part in parts:
        id_, text = str(part.get("id")), str(part.get("text") or "")
        if not SUMMARY.matches(part):
            yield from (_Stated(fact, id_, text) for fact in facts if id_ in map(part_of, fact["source_ids"]))
            continue
        sources, session = set(part.get("source_ids") or ()), part.get("session_id")
        of_it = [one for one in facts if one["session_id"] == session or not sources.isdisjoint(one["source_ids"])]
        words = Vocabulary([text] if of_it else ())
        told = (fact for fact in of_it if words.share(_words(fact)) >= _STATES)
        yield from (_Stated(fact, id_, text, str(part.get("created_at"))) for fact in told)


def _heir(fact: _Value, former: Mapping[str, _Value]) -> str:
    """Return the fact that has taken the place of a former one, as far as the former ones tell; empty for none."""
    seen, heir = {fact["id"]}, str(fact.get("superseded_by") or "")
    while heir in former and heir not in seen:
        seen.add(heir)
        heir = str(former[heir].get("superseded_by") or "")
    return heir


def _change(stated: _Stated, heir: _Value | None) -> MemoryDoubt | None:
    """Return the change since a record stated a fact; None if the record knew it, or the heir says the same."""
    fact, of, text, summed_up = stated
    said = _words(fact)
    if heir is not None:
        same = {normalise(str(one["text"])) for one in (heir, *heir.get("wordings", ()))}
        if of in map(part_of, heir["source_ids"]) or normalise(str(fact["text"])) in same:
            return None
    since = str(
        (heir or {}).get("said_at") or fact.get("end_said_at") or fact.get("valid_to") or fact.get("retired_at")
    )
    if summed_up and in_utc(summed_up) >= in_utc(since):
        return None
    believed = heir is not None and heir.get("current", True)
    return MemoryDoubt(
        id=str(heir["id"] if heir is not None and believed else fact["id"]),
        text=str(heir["text"]) if heir is not None and believed else "",
        since=since[:10],
        of=of,
        part="" if not summed_up and len(text) <= _SHORT and share(text, [said]) >= _ALL else said,
    )


def _words(fact: _Value) -> str:
    return str(fact.get("quote") or fact["text"])


# Doubts about facts.


async def others_of(
    store: BaseStore, user_id: str, facts: Mapping[str, _Value], more: Iterable[str] = ()
) -> dict[str, _Value]:
    """Return the facts that some facts, given as JSON by id, are in doubt about, these facts, and `more`."""
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    named = (*(id_ for value in facts.values() for id_ in _of(value)), *more)
    missing = dict.fromkeys(id_ for id_ in named if id_ and id_ not in facts)
    found = cast("list[Item | None]", await store.abatch([GetOp(namespace, id_) for id_ in missing]) if missing else [])
    return {**facts, **{item.key: item.value for item in found if item is not None}}


def _doubted(item: MemoryResultItem, others: Mapping[str, _Value]) -> MemoryResultItem:
    told = doubts_of(item.payload, others)
    forgotten = [id_ for id_ in _of(item.payload) if id_ not in others]
    payload = {**item.payload, "doubts": [*(doubt.id for doubt in told), *forgotten]}
    return item.model_copy(update={"doubts": told, "payload": payload})


def doubts_of(value: _Value, others: Mapping[str, _Value]) -> tuple[MemoryDoubt, ...]:
    """Return the current doubts of a fact, given as JSON like the others; forgotten facts raise none.

    A fact that it needs counts while ended, any other one while believed: either may have changed since, as when a
    branch of the conversation is left.
    """
    needs = set(value.get("needs") or ())
    told = [
        (id_, others[id_])
        for id_ in _of(value)
        if id_ in others and bool(others[id_].get("current", True)) is (id_ not in needs)
    ]
    return tuple(MemoryDoubt(id=id_, text=str(other["text"]), since=_since(value, other)) for id_, other in told)


def _of(value: _Value) -> Iterable[str]:
    return value.get("doubts") or () if value.get("current", True) else ()


def _since(value: _Value, other: _Value) -> str:
    over = other.get("valid_to") or other.get("retired_at")
    # two that may contradict each other do so since the second was said
    at = over if over and not other.get("current", True) else max(str(one.get("said_at", "")) for one in (value, other))
    return str(at)[:10]
