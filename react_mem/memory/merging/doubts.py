"""Doubts of a fact, told beside it: a fact that may contradict it, or one it needed that has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.index.recall import RecallHit
from react_mem.memory.language.folding import normalise
from react_mem.memory.merging.episodes import is_told_anew, unsourced
from react_mem.memory.model.identity import OUTSIDE
from react_mem.memory.model.interface import MemoryDoubt, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import BELIEVED, AnyRecord, Fact, Lapse, Votes, Wording


async def with_doubts(store: BaseStore, user_id: str, results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Return results of which each fact in doubt says about what; the store is asked only where there is one.

    Args:
        store: The store.
        user_id: The owner.
        results: What was found.
    """
    facts = {item.id: item.payload for item in results if item.source == FACT.name}
    if not any(_of(value) for value in facts.values()):
        return list(results)
    others = await others_of(store, user_id, facts)
    return [_with_doubts(item, others) if item.id in facts else item for item in results]


def _with_doubts(item: MemoryResultItem, others: Mapping[str, Mapping[str, Any]]) -> MemoryResultItem:
    told = doubts_of(item.payload, others)
    forgotten = [id_ for id_ in _of(item.payload) if id_ not in others]
    payload = {**item.payload, "doubts": [*(doubt.id for doubt in told), *forgotten]}
    return item.model_copy(update={"doubts": told, "payload": payload})


async def others_of(
    store: BaseStore, user_id: str, facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return the facts that some facts are in doubt about, by id, with those themselves.

    Args:
        store: The store.
        user_id: The owner.
        facts: Facts as JSON, by id.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    missing = dict.fromkeys(id_ for value in facts.values() for id_ in _of(value) if id_ not in facts)
    found = cast("list[Item | None]", await store.abatch([GetOp(namespace, id_) for id_ in missing]) if missing else [])
    return {**facts, **{item.key: item.value for item in found if item is not None}}


def doubts_of(value: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> tuple[MemoryDoubt, ...]:
    """Return what a fact is in doubt about now; of what has been forgotten nothing is told.

    A fact that it needs speaks against it while that is over, any other one while that is believed: either may have
    changed since, as when a branch of the conversation is left.

    Args:
        value: The fact, as JSON.
        others: Facts, by id.
    """
    needs = set(value.get("needs") or ())
    told = [
        (id_, others[id_])
        for id_ in _of(value)
        if id_ in others and bool(others[id_].get("current", True)) is (id_ not in needs)
    ]
    return tuple(MemoryDoubt(id=id_, text=str(other["text"]), since=_since(value, other)) for id_, other in told)


def _of(value: Mapping[str, Any]) -> Iterable[str]:
    return value.get("doubts") or () if value.get("current", True) else ()


def _since(value: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    over = other.get("valid_to") or other.get("retired_at")
    # two that may contradict each other do so since the second was said
    at = over if over and not other.get("current", True) else max(str(one.get("said_at", "")) for one in (value, other))
    return str(at)[:10]


# Feedback on a turn, as it moves the memories that were used in it: bounded, the same in whatever order it comes.

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


# A fact that is said again: it has one more source, may hold for longer, and is true again where it was over.

_MAX_WORDINGS = 20
"""Ways to put a fact that are kept: the latest."""


def said_again(fact: Fact, new: Fact) -> Fact:
    """Return a known fact with more sources; one that was over is true again when said later.

    Args:
        fact: The fact.
        new: The same, as it is said now. Only the user's own words add support.

    Returns:
        The fact. Where whoever says it now in the same words is trusted more than who said it before, it is theirs, as
        if they had been first: it stands on what they say alone, so that it goes with that.
    """
    if lowest([fact.origin, new.origin]) is not fact.origin:
        # whoever is trusted less bears nothing out: if the user's own message goes, this must not stay in its name
        return fact
    sources = tuple(dict.fromkeys([*fact.source_ids, *new.source_ids]))
    if sources == fact.source_ids and not (fact.verbatim and not new.verbatim):
        return fact
    update: dict[str, Any] = {"source_ids": sources, "said_at": max(fact.said_at, new.said_at)}
    if new.session_id in OUTSIDE:
        # no message holds what was said there: it is not to go with the conversation that said it before
        update["session_id"] = new.session_id
    if sources != fact.source_ids and new.origin is Origin.USER:
        # what nobody says any more has the support of nobody
        before = 0 if fact.is_withdrawn else fact.support
        update["support"] = before + len(sources) - len(fact.source_ids)
    if new.text and normalise(new.text) != normalise(fact.text):
        update["wordings"] = _with_wording(fact.wordings, new)
    if fact.verbatim and not new.verbatim:
        # a model has read now what was kept as it was said
        update |= {"verbatim": False, "unread": False, "concluded": False, "about": new.about}
    if new.reading:
        update["reading"] = new.reading
    if new.keywords:
        update["keywords"] = new.keywords
    if fact.current and new.said_at >= fact.said_at:
        update |= _until(fact, new)
    for name in ("event_at", "valid_from"):
        if getattr(new, name) is not None and (getattr(fact, name) is None or new.said_at >= fact.said_at):
            update[name] = getattr(new, name)
    if new.needs:
        update["needs"] = tuple(dict.fromkeys([*fact.needs, *new.needs]))
    if new.said_at >= fact.said_at and new.origin is Origin.USER:
        # what it depended on has changed, and it is said to hold all the same
        update["doubts"] = tuple(id_ for id_ in fact.doubts if id_ not in fact.needs)
    over = not fact.current and (fact.is_withdrawn or new.said_at > (fact.ending.said_at or fact.said_at))
    if new.current and over and (new.origin is Origin.USER or fact.origin is not Origin.USER):
        update |= revived(fact, new.created_at)
    if is_told_anew(fact, new) and normalise(new.text) == normalise(fact.text):
        update |= _taken_over(fact, new, is_believed=bool(update.get("current", fact.current)))
    return fact.model_copy(update=update)


def _taken_over(fact: Fact, new: Fact, *, is_believed: bool) -> dict[str, Any]:
    """Return what changes of a fact that was known from others: what they bear out, and how they date it, goes.

    Args:
        fact: The fact.
        new: The same, as it is said now.
        is_believed: Whether it is believed; of what is over the end stays.
    """
    told: dict[str, Any] = {"origin": new.origin, "quote": new.quote, "reading": new.reading}
    told |= {"source_ids": new.source_ids, "withdrawn": (), "support": max(1, len(new.source_ids))}
    told |= {"wordings": unsourced(fact.wordings)}
    told |= {"event_at": new.event_at, "valid_from": new.valid_from}
    return told | ({"valid_to": new.valid_to} if is_believed else {})


def _until(fact: Fact, new: Fact) -> dict[str, Any]:
    """Return until when a fact is true that is said again: it may go on, or be true again after its last day."""
    if new.valid_to is not None:
        return {"valid_to": new.valid_to}
    if fact.valid_to is None or fact.valid_to >= new.said_at or new.origin is not Origin.USER:
        return {}
    return {"valid_to": None}


def _with_wording(wordings: Sequence[Wording], new: Fact) -> tuple[Wording, ...]:
    """Return the ways to put a fact with one more, which is the latest; one that is known has more sources."""
    words = normalise(new.text)
    known = [wording for wording in wordings if normalise(wording.text) == words]
    sources = [source for wording in known for source in wording.source_ids]
    said_at = max([new.said_at, *(wording.said_at for wording in known)])
    latest = Wording(text=new.text, said_at=said_at, source_ids=tuple(dict.fromkeys([*sources, *new.source_ids])))
    return (*(wording for wording in wordings if wording not in known), latest)[-_MAX_WORDINGS:]


def revived(fact: Fact, at: datetime) -> dict[str, Any]:
    """Return what changes of a fact that is over and is said again: its end counts again if that is ever withdrawn.

    Args:
        fact: The fact.
        at: Since when it is believed again.
    """
    if fact.current:
        return BELIEVED
    # what was said to be over from the beginning was never believed
    lapse = Lapse(since=fact.retired_at or fact.created_at, until=at)
    suspended = fact.suspended if fact.is_withdrawn else (*fact.suspended, fact.ending)
    return {**BELIEVED, "suspended": suspended, "lapses": (*fact.lapses, lapse)}
