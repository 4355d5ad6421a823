"""A fact that is said again: it has one more source, may hold for longer, and is true again where it was over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from react_mem.memory.language.text import normalise
from react_mem.memory.merging.restating import is_told_anew, unsourced
from react_mem.memory.model.identity import OUTSIDE
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import BELIEVED, Fact, Lapse, Wording

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
