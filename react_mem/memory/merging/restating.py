"""Restatement of a known fact: by the user again, or by its owner after somebody else said it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from react_mem.memory.language.folding import normalise
from react_mem.memory.model.identity import OUTSIDE
from react_mem.memory.model.origins import Origin, is_higher, lowest
from react_mem.memory.model.records import BELIEVED, Fact, Lapse, Wording

_MAX_WORDINGS = 20
"""Wordings of a fact that are kept, the latest."""


def said_again(fact: Fact, new: Fact) -> Fact:
    """Return a known fact after it was said again: with more sources, and believed again if it was over.

    Only the user's own words add support. If a more trusted origin now says it in the same words, the fact becomes that
    origin's and rests on its messages alone, so that it goes with them.
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
    latest = new.said_at >= fact.said_at
    if fact.current and latest:
        # it may go on, or be true again after its last day
        again = fact.valid_to is not None and fact.valid_to < new.said_at and new.origin is Origin.USER
        if new.valid_to is not None or again:
            update["valid_to"] = new.valid_to
    for name in ("event_at", "valid_from"):
        if getattr(new, name) is not None and (getattr(fact, name) is None or latest):
            update[name] = getattr(new, name)
    if new.needs:
        update["needs"] = tuple(dict.fromkeys([*fact.needs, *new.needs]))
    if latest and new.origin is Origin.USER:
        # what it depended on has changed, and it is said to hold all the same
        update["doubts"] = tuple(id_ for id_ in fact.doubts if id_ not in fact.needs)
    over = not fact.current and (fact.is_withdrawn or new.said_at > (fact.ending.said_at or fact.said_at))
    if new.current and over and (new.origin is Origin.USER or fact.origin is not Origin.USER):
        update |= revived(fact, new.created_at)
    if is_told_anew(fact, new) and normalise(new.text) == normalise(fact.text):
        # taken over from a less trusted origin: its evidence and dates are dropped
        names = ("origin", "quote", "reading", "source_ids", "event_at", "valid_from")
        update |= {name: getattr(new, name) for name in names}
        update |= {"withdrawn": (), "support": max(1, len(new.source_ids)), "wordings": unsourced(fact.wordings)}
        if update.get("current", fact.current):
            update["valid_to"] = new.valid_to
    return fact.model_copy(update=update)


def _with_wording(wordings: Sequence[Wording], new: Fact) -> tuple[Wording, ...]:
    """Return the wordings of a fact with the newest last, deduplicated."""
    words = normalise(new.text)
    known = [wording for wording in wordings if normalise(wording.text) == words]
    sources = [source for wording in known for source in wording.source_ids]
    said_at = max([new.said_at, *(wording.said_at for wording in known)])
    latest = Wording(text=new.text, said_at=said_at, source_ids=tuple(dict.fromkeys([*sources, *new.source_ids])))
    return (*(wording for wording in wordings if wording not in known), latest)[-_MAX_WORDINGS:]


def revived(fact: Fact, at: datetime) -> dict[str, Any]:
    """Return the update of an ended fact that is believed again; its end counts again if the revival is withdrawn."""
    if fact.current:
        return BELIEVED
    # what was said to be over from the beginning was never believed
    lapse = Lapse(since=fact.retired_at or fact.created_at, until=at)
    suspended = fact.suspended if fact.is_withdrawn else (*fact.suspended, fact.ending)
    return {**BELIEVED, "suspended": suspended, "lapses": (*fact.lapses, lapse)}


# A fact of another origin that its owner states: from then on it is theirs, in their words.

_OWNERS = frozenset({Origin.USER, Origin.ASSENT})
"""Origins of the owner's own statements and assents; only these replace a fact by other words."""


def is_told_anew(fact: Fact, new: Fact) -> bool:
    """Return true if a more trusted origin says a fact in a message that is not among its sources."""
    heard = {*fact.source_ids, *fact.withdrawn}
    return is_higher(new.origin, fact.origin) and not heard.issuperset(new.source_ids)


def is_put_anew(fact: Fact, new: Fact) -> bool:
    """Return true if the owner says a fact of another origin in other words, which then replace it."""
    return new.origin in _OWNERS and is_told_anew(fact, new) and normalise(new.text) != normalise(fact.text)


def ways(fact: Fact) -> set[str]:
    """Return the normalised wordings of a fact."""
    return {normalise(fact.text), *(normalise(wording.text) for wording in fact.wordings)}


def says_again(heir: Fact, fact: Fact) -> bool:
    """Return true if a successor says the same as an ended fact, with more trust."""
    return is_higher(heir.origin, fact.origin) and normalise(fact.text) in ways(heir)


def unsourced(wordings: Iterable[Wording]) -> tuple[Wording, ...]:
    """Return wordings without sources: alternative texts that support nothing."""
    return tuple(wording.model_copy(update={"source_ids": ()}) for wording in wordings)


def put_anew(own: Fact, fact: Fact) -> Fact:
    """Return the owner's fact with the wordings and dependants of the fact it replaces."""
    others = (Wording(text=fact.text, said_at=fact.said_at, source_ids=()), *unsourced(fact.wordings))
    known = ways(own)
    more = tuple(one for one in others if normalise(one.text) not in known)
    needed_by = tuple(id_ for id_ in dict.fromkeys((*own.needed_by, *fact.needed_by)) if id_ != own.id)
    return own.model_copy(update={"wordings": (*more, *own.wordings), "needed_by": needed_by})
