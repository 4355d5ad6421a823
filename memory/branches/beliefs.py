"""Beliefs once branches of a conversation are left or followed again.

A fact stands on the messages that say it, its end on those that ended it or on the fact that took its place. Pure: the
same branches left and followed again, in whatever order, give the same facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from react_mem.memory.model.records import BELIEVED, Ending, Fact, Wording


def part_of(source: str) -> str:
    """Return the record that a source is, or is a part of, such as the steps of a message."""
    return source.partition(":")[0]


def believed(
    facts: Mapping[str, Fact], gone: Collection[str], said_at: Mapping[str, datetime], at: datetime
) -> list[Fact]:
    """Return the facts that change where some messages do not count.

    Args:
        facts: All facts of an owner, by id.
        gone: The messages that do not count; all others do.
        said_at: When messages were said.
        at: When this is decided.
    """
    supported = {id_ for id_, fact in facts.items() if _is_supported(fact, gone)}
    after = {id_: _reassessed(fact, facts, supported, gone, said_at, at) for id_, fact in facts.items()}
    return [fact for id_, fact in after.items() if fact != facts[id_]]


def _sources(fact: Fact) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*fact.source_ids, *fact.withdrawn)))


def _is_supported(fact: Fact, gone: Collection[str]) -> bool:
    """Return whether somebody still says it; what nobody is known to have said stands on its own."""
    sources = _sources(fact)
    return not sources or any(part_of(source) not in gone for source in sources)


def _reassessed(
    fact: Fact,
    facts: Mapping[str, Fact],
    supported: Collection[str],
    gone: Collection[str],
    said_at: Mapping[str, datetime],
    at: datetime,
) -> Fact:
    live = tuple(source for source in _sources(fact) if part_of(source) not in gone)
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
            "said_at": max((said_at[part_of(s)] for s in live if part_of(s) in said_at), default=fact.said_at),
            **_wording(fact, gone),
        }
    elif not any(_needs(ending, facts, supported) for ending in endings):
        return fact
    since = update.get("said_at", fact.said_at)
    counting = [ending for ending in endings if _counts(ending, since, facts, supported, gone)]
    chosen = min(counting, key=lambda ending: (ending.retired_at is not None, ending.said_at or at), default=None)
    rest = tuple(ending for ending in endings if ending != chosen)
    if chosen is None:
        return fact.model_copy(update={**update, **BELIEVED, "suspended": rest})
    heir = _heir(chosen.superseded_by, facts, supported)
    if heir is not None and heir.id != chosen.superseded_by:
        # the one that ended it is withdrawn, and in its place is what had ended that
        rest = (*rest, chosen)
        chosen = chosen.model_copy(update={"superseded_by": heir.id, "valid_to": heir.said_at, "end_said_at": None})
    return fact.model_copy(update={**update, "current": False, **_fields(chosen), "suspended": rest})


def _endings(fact: Fact) -> tuple[Ending, ...]:
    now = () if fact.current or fact.is_withdrawn else (fact.ending,)
    return tuple(dict.fromkeys((*fact.suspended, *now)))


def _withdrawn(fact: Fact, at: datetime) -> dict[str, Any]:
    """Return what changes of a fact that nobody says any more: it is history; one that had ended keeps its date."""
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


def _fields(ending: Ending) -> dict[str, Any]:
    return {name: getattr(ending, name) for name in Ending.model_fields}


def _needs(ending: Ending, facts: Mapping[str, Fact], supported: Collection[str]) -> bool:
    """Return whether what an end stands on may have changed: a message, or a fact that branches have said."""
    successor = facts.get(ending.superseded_by or "")
    if successor is None:
        return bool(ending.ended_by)
    return successor.id not in supported or bool(successor.withdrawn)


def _counts(
    ending: Ending, since: datetime, facts: Mapping[str, Fact], supported: Collection[str], gone: Collection[str]
) -> bool:
    """Return whether an end holds: it came after what it ended was last said, and what it stands on still counts."""
    if ending.said_at is not None and ending.retired_at is not None and ending.said_at < since:
        return False
    if ending.superseded_by is not None:
        return ending.superseded_by not in facts or _heir(ending.superseded_by, facts, supported) is not None
    return not ending.ended_by or any(part_of(source) not in gone for source in ending.ended_by)


def _heir(id_: str | None, facts: Mapping[str, Fact], supported: Collection[str]) -> Fact | None:
    """Return the first supported fact in a line of those that took each other's place."""
    seen: set[str] = set()
    while id_ and id_ in facts and id_ not in seen:
        if id_ in supported:
            return facts[id_]
        seen.add(id_)
        id_ = next((ending.superseded_by for ending in _endings(facts[id_]) if ending.superseded_by), None)
    return None


def _wording(fact: Fact, gone: Collection[str]) -> dict[str, Any]:
    """Return what changes of a fact whose words nobody says any more: it is put as those do who still say it."""
    if not fact.wordings:
        return {}
    beside = {source for wording in fact.wordings for source in wording.source_ids}
    own = tuple(source for source in _sources(fact) if source not in beside)
    still = [w for w in fact.wordings if any(part_of(source) not in gone for source in w.source_ids)]
    if not still or any(part_of(source) not in gone for source in own):
        return {}
    now = Wording(text=fact.text, said_at=fact.created_at, source_ids=own)
    return {"text": still[-1].text, "wordings": (now, *(w for w in fact.wordings if w != still[-1]))}
