"""Belief revision when branches of a conversation are left or followed again.

A fact rests on its source messages; its end rests on the messages or the successor that ended it. Pure: the same set of
live branches gives the same facts, in any order of changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from react_mem.memory.model.records import BELIEVED, Ending, Fact, Wording


def part_of(source: str) -> str:
    """Return the record of a source, which may name a part of a record such as a message's steps."""
    return source.partition(":")[0]


def believed(
    facts: Mapping[str, Fact], gone: Collection[str], said_at: Mapping[str, datetime], at: datetime
) -> list[Fact]:
    """Return the facts that change when some messages do not count.

    Args:
        facts: All facts of an owner, by id.
        gone: The messages that do not count; all others do.
        said_at: Times of messages, by id.
        at: The time of the decision.
    """
    supported = {id_: _last_said(fact, gone, said_at) for id_, fact in facts.items() if _is_supported(fact, gone)}
    after = {id_: _reassessed(fact, facts, supported, gone, said_at, at) for id_, fact in facts.items()}
    return [fact for id_, fact in after.items() if fact != facts[id_]]


def _sources(fact: Fact) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*fact.source_ids, *fact.withdrawn)))


def _is_supported(fact: Fact, gone: Collection[str]) -> bool:
    """Return true if a live message supports a fact; a fact without sources stands on its own."""
    sources = _sources(fact)
    return not sources or any(part_of(source) not in gone for source in sources)


def _live(fact: Fact, gone: Collection[str]) -> tuple[str, ...]:
    return tuple(source for source in _sources(fact) if part_of(source) not in gone)


def _last_said(fact: Fact, gone: Collection[str], said_at: Mapping[str, datetime]) -> datetime:
    times = (said_at[part_of(source)] for source in _live(fact, gone) if part_of(source) in said_at)
    return max(times, default=fact.said_at)


def _reassessed(
    fact: Fact,
    facts: Mapping[str, Fact],
    supported: Mapping[str, datetime],
    gone: Collection[str],
    said_at: Mapping[str, datetime],
    at: datetime,
) -> Fact:
    live = _live(fact, gone)
    endings = _endings(fact)
    if not live and _sources(fact):
        if fact.is_withdrawn:
            return fact
        return fact.model_copy(update={**_withdrawn(fact, at), "suspended": endings})
    update: dict[str, Any] = {}
    if set(live) != set(fact.source_ids):
        update = {
            "source_ids": live,
            "withdrawn": tuple(source for source in _sources(fact) if source not in live),
            "support": max(len(live), 1),
            "said_at": _last_said(fact, gone, said_at),
            **_wording(fact, gone),
        }
    elif not any(_needs(ending, facts, gone) for ending in endings):
        return fact
    since = update.get("said_at", fact.said_at)
    counting = [ending for ending in endings if _counts(fact, ending, since, facts, supported, gone)]
    chosen = min(counting, key=lambda ending: (ending.retired_at is not None, ending.said_at or at), default=None)
    rest = tuple(ending for ending in endings if ending != chosen)
    if chosen is None:
        return fact.model_copy(update={**update, **BELIEVED, "suspended": rest})
    heir = _heir(fact, chosen, since, facts, supported)
    if heir is not None and heir.id != chosen.superseded_by:
        # the one that ended it is withdrawn, and in its place is what had ended that
        rest = (*rest, chosen)
        chosen = chosen.model_copy(update={"superseded_by": heir.id, "valid_to": heir.said_at, "end_said_at": None})
    return fact.model_copy(update={**update, "current": False, **dict(chosen), "suspended": rest})


def _endings(fact: Fact) -> tuple[Ending, ...]:
    now = () if fact.current or fact.is_withdrawn else (fact.ending,)
    return tuple(dict.fromkeys((*fact.suspended, *now)))


def _withdrawn(fact: Fact, at: datetime) -> dict[str, Any]:
    """Return the update of a fact without live sources: it becomes history, and an earlier end keeps its date."""
    return {
        "source_ids": (),
        "withdrawn": _sources(fact),
        "support": 1,
        "current": False,
        "retired_at": fact.retired_at or at,
        "valid_to": fact.valid_to or at,
        "superseded_by": None,
        "ended_by": (),
        "end_said_at": None,
    }


def _needs(ending: Ending, facts: Mapping[str, Fact], gone: Collection[str]) -> bool:
    """Return true if the evidence of an end may have changed: its messages, or the branches of the successor."""
    successor = facts.get(ending.superseded_by or "")
    if successor is None:
        return bool(ending.ended_by)
    return bool(successor.withdrawn) or len(_live(successor, gone)) < len(_sources(successor))


def _counts(
    fact: Fact,
    ending: Ending,
    since: datetime,
    facts: Mapping[str, Fact],
    supported: Mapping[str, datetime],
    gone: Collection[str],
) -> bool:
    """Return true if an end holds: later than the fact's last source, with evidence that still counts."""
    if ending.said_at is not None and ending.retired_at is not None and ending.said_at < since:
        return False
    if ending.superseded_by is not None:
        return ending.superseded_by not in facts or _heir(fact, ending, since, facts, supported) is not None
    return not ending.ended_by or any(part_of(source) not in gone for source in ending.ended_by)


def _heir(
    fact: Fact, ending: Ending, since: datetime, facts: Mapping[str, Fact], supported: Mapping[str, datetime]
) -> Fact | None:
    """Return the first supported successor, newer than the fact, along its line of successors; None without one.

    A line may lead back to the fact itself (Hue, Hanoi, Hue), which is not its own successor.
    """
    id_ = ending.superseded_by
    seen = {fact.id}
    while id_ and id_ in facts and id_ not in seen:
        if id_ in supported and supported[id_] >= since:
            return facts[id_]
        seen.add(id_)
        id_ = next((ending.superseded_by for ending in _endings(facts[id_]) if ending.superseded_by), None)
    return None


def _wording(fact: Fact, gone: Collection[str]) -> dict[str, Any]:
    """Return the update of a fact's text to a wording with a live source, if its own has none."""
    if not fact.wordings:
        return {}
    beside = {source for wording in fact.wordings for source in wording.source_ids}
    own = tuple(source for source in _sources(fact) if source not in beside)
    still = [w for w in fact.wordings if any(part_of(source) not in gone for source in w.source_ids)]
    if not still or any(part_of(source) not in gone for source in own):
        return {}
    now = Wording(text=fact.text, said_at=fact.created_at, source_ids=own)
    return {"text": still[-1].text, "wordings": (now, *(w for w in fact.wordings if w != still[-1]))}
