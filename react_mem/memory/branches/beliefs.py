"""Belief revision when branches of a conversation are left or followed again.

A fact rests on its source messages; its end rests on the messages or the successor that ended it. Pure: the same set of
live branches gives the same facts, in any order of changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from react_mem.memory.model.records import BELIEVED, Ending, Fact, Wording


def part_of(source: str) -> str:
    """Return the record of a source, which may name a part of a record such as a message's steps."""
    return source.partition(":")[0]


def believed(
    facts: Mapping[str, Fact], gone: Collection[str], said_at: Mapping[str, datetime], at: datetime
) -> list[Fact]:
    """Return the facts that change, of all facts of an owner by id, when some messages do not count.

    Args:
        gone: The messages that do not count; all others do.
        said_at: Times of messages, by id.
        at: The time of the decision.
    """
    judge = _Judge(facts, gone, said_at, at)
    return [after for fact in facts.values() if (after := judge.reassessed(fact)) != fact]


def _sources(fact: Fact) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*fact.source_ids, *fact.withdrawn)))


def _endings(fact: Fact) -> tuple[Ending, ...]:
    now = () if fact.current or fact.is_withdrawn else (fact.ending,)
    return tuple(dict.fromkeys((*fact.suspended, *now)))


@dataclass(frozen=True)
class _Judge:
    """Decision about all facts of an owner. Args: see `believed`."""

    facts: Mapping[str, Fact]
    gone: Collection[str]
    said_at: Mapping[str, datetime]
    at: datetime

    @cached_property
    def supported(self) -> dict[str, datetime]:
        """Times at which the supported facts were last said; a fact without sources stands on its own."""
        facts = self.facts.items()
        return {id_: self._last_said(fact) for id_, fact in facts if not _sources(fact) or self._live(fact)}

    def _counts(self, source: str) -> bool:
        return part_of(source) not in self.gone

    def _live(self, fact: Fact) -> tuple[str, ...]:
        return tuple(filter(self._counts, _sources(fact)))

    def _last_said(self, fact: Fact) -> datetime:
        times = (self.said_at[part] for source in self._live(fact) if (part := part_of(source)) in self.said_at)
        return max(times, default=fact.said_at)

    def reassessed(self, fact: Fact) -> Fact:
        """Return a fact as far as its messages and its ends still count."""
        live, endings = self._live(fact), _endings(fact)
        if not live and _sources(fact):
            return fact if fact.is_withdrawn else fact.model_copy(update=self._withdrawn(fact))
        update: dict[str, Any] = {}
        if set(live) != set(fact.source_ids):
            update = {
                "source_ids": live,
                "withdrawn": tuple(source for source in _sources(fact) if source not in live),
                "support": max(len(live), 1),
                "said_at": self._last_said(fact),
                **self._wording(fact),
            }
        elif not any(map(self._may_have_changed, endings)):
            return fact
        since = update.get("said_at", fact.said_at)
        holding = [ending for ending in endings if self._holds(fact, ending, since)]
        chosen = min(holding, key=lambda one: (one.retired_at is not None, one.said_at or self.at), default=None)
        rest = tuple(ending for ending in endings if ending != chosen)
        if chosen is None:
            return fact.model_copy(update={**update, **BELIEVED, "suspended": rest})
        heir = self._heir(fact, chosen, since)
        if heir is not None and heir.id != chosen.superseded_by:
            # the one that ended it is withdrawn, and in its place is what had ended that
            rest = (*rest, chosen)
            chosen = chosen.model_copy(update={"superseded_by": heir.id, "valid_to": heir.said_at, "end_said_at": None})
        return fact.model_copy(update={**update, "current": False, **dict(chosen), "suspended": rest})

    def _withdrawn(self, fact: Fact) -> dict[str, Any]:
        """Return the update of a fact without live sources: it becomes history, and an earlier end keeps its date."""
        return {
            "source_ids": (),
            "withdrawn": _sources(fact),
            "support": 1,
            "current": False,
            "retired_at": fact.retired_at or self.at,
            "valid_to": fact.valid_to or self.at,
            "superseded_by": None,
            "ended_by": (),
            "end_said_at": None,
            "suspended": _endings(fact),
        }

    def _may_have_changed(self, ending: Ending) -> bool:
        """Return true if the evidence of an end may have changed: its messages, or the branches of the successor."""
        successor = self.facts.get(ending.superseded_by or "")
        if successor is None:
            return bool(ending.ended_by)
        return bool(successor.withdrawn) or len(self._live(successor)) < len(_sources(successor))

    def _holds(self, fact: Fact, ending: Ending, since: datetime) -> bool:
        """Return true if an end holds: later than the fact's last source, with evidence that still counts."""
        if ending.said_at is not None and ending.retired_at is not None and ending.said_at < since:
            return False
        if ending.superseded_by is not None:
            return ending.superseded_by not in self.facts or self._heir(fact, ending, since) is not None
        return not ending.ended_by or any(map(self._counts, ending.ended_by))

    def _heir(self, fact: Fact, ending: Ending, since: datetime) -> Fact | None:
        """Return the first supported successor, newer than the fact, along its line of successors; None without one.

        A line may lead back to the fact itself (Hue, Hanoi, Hue), which is not its own successor.
        """
        id_ = ending.superseded_by
        seen = {fact.id}
        while id_ and id_ in self.facts and id_ not in seen:
            if id_ in self.supported and self.supported[id_] >= since:
                return self.facts[id_]
            seen.add(id_)
            id_ = next((one.superseded_by for one in _endings(self.facts[id_]) if one.superseded_by), None)
        return None

    def _wording(self, fact: Fact) -> dict[str, Any]:
        """Return the update of a fact's text to a wording with a live source, if its own has none."""
        if not fact.wordings:
            return {}
        beside = {source for wording in fact.wordings for source in wording.source_ids}
        own = tuple(source for source in _sources(fact) if source not in beside)
        still = [wording for wording in fact.wordings if any(map(self._counts, wording.source_ids))]
        if not still or any(map(self._counts, own)):
            return {}
        now = Wording(text=fact.text, said_at=fact.created_at, source_ids=own)
        return {"text": still[-1].text, "wordings": (now, *(w for w in fact.wordings if w != still[-1]))}
