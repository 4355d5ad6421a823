"""Groups of related memories among the latest facts and episodes of a user."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from langgraph.store.base import BaseStore, Op, SearchItem, SearchOp

from react_mem.memory.language.terms import index_terms
from react_mem.memory.language.text import normalise
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import EPISODE, FACT, SUMMARY
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Episode, Fact, Level

MAX_FACTS = 500
MAX_EPISODES = 200
"""The latest, which one run looks at: what nobody speaks of any more is not a habit."""

SMALLEST, LARGEST = 3, 12
"""Memories of a group: two say hardly more than each alone, and a small model minds no more than a dozen."""

_MAX_SUMMARIES = 1_000


@dataclass(frozen=True)
class Evidence:
    """A memory as far as something can be drawn from it.

    Args:
        id: The record's.
        about: Whom it is about.
        text: What it says: of a fact the user's own words.
        at: When it was last said.
    """

    id: str
    about: str
    text: str
    at: datetime


@dataclass(frozen=True)
class Memories:
    """Memories of a run.

    Args:
        facts: Facts that are current, and that a model has read.
        former: Facts that no longer are.
        episodes: Episodes.
        summaries: By message, the summary of its conversation that covers it.
    """

    facts: Sequence[Fact] = ()
    former: Sequence[Fact] = ()
    episodes: Sequence[Episode] = ()
    summaries: Mapping[str, str] = field(default_factory=dict)

    @property
    def evidence(self) -> list[Evidence]:
        """Facts and episodes, the oldest first."""
        found = [
            *(Evidence(one.id, one.about, one.text, one.said_at) for one in self.facts),
            *(Evidence(one.id, "user", one.text, one.created_at) for one in self.episodes),
        ]
        return sorted(found, key=lambda one: (one.at, one.id))

    def summaries_of(self, sources: Iterable[str]) -> list[str]:
        """Return the summaries that cover these messages."""
        return sorted({self.summaries[source] for source in sources if source in self.summaries})


async def read_memories(store: BaseStore, user_id: str) -> Memories:
    """Return what a run looks at, in one round trip.

    Args:
        store: The store.
        user_id: The owner.
    """
    semantic = scope_namespace(user_id, MemoryScope.SEMANTIC)
    told: dict[str, Any] = {"kind": FACT.name, "verbatim": False}
    ops: list[Op] = [
        SearchOp(semantic, filter={**told, "current": True}, limit=MAX_FACTS, refresh_ttl=False),
        SearchOp(semantic, filter={**told, "current": False}, limit=MAX_FACTS, refresh_ttl=False),
        SearchOp(EPISODE.namespace(user_id), filter={"kind": EPISODE.name}, limit=MAX_EPISODES, refresh_ttl=False),
        SearchOp(
            scope_namespace(user_id, MemoryScope.DIALOG),
            filter={"kind": SUMMARY.name, "chain": True, "level": "1"},
            limit=_MAX_SUMMARIES,
            refresh_ttl=False,
        ),
    ]
    current, former, episodes, summaries = cast("list[list[SearchItem]]", await store.abatch(ops))
    return Memories(
        [Fact.from_value(item.value) for item in current],
        [Fact.from_value(item.value) for item in former],
        [Episode.from_value(item.value) for item in episodes if item.value["level"] != Level.CONVERSATION],
        {source: item.key for item in summaries for source in item.value["source_ids"]},
    )


def groups(evidence: Sequence[Evidence]) -> list[list[Evidence]]:
    """Return memories that have to do with each other: about the same, with a word in common, the widest word first.

    What belongs to none is in none; a memory may be in two where most of both is new.

    Args:
        evidence: Memories.
    """
    by_word: defaultdict[tuple[str, str], list[Evidence]] = defaultdict(list)
    for one in evidence:
        for word in set(index_terms(one.text)):
            by_word[normalise(one.about), word].append(one)
    # a word that stands in all is the user's name, and says nothing
    wide = [(key, members) for key, members in by_word.items() if len(members) >= SMALLEST]
    found: list[list[Evidence]] = []
    seen: set[str] = set()
    for _, members in sorted(wide, key=lambda pair: (-min(len(pair[1]), LARGEST), len(pair[1]), pair[0])):
        latest = members[-LARGEST:]
        new = [one for one in latest if one.id not in seen]
        if 2 * len(new) > len(latest):
            found.append(latest)
            seen |= {one.id for one in latest}
    return found


def digest(group: Collection[Evidence]) -> str:
    """Return what a group is known by: the same memories, saying the same, were looked at before."""
    told = sorted(f"{one.id}\x1f{one.text}" for one in group)
    return hashlib.blake2b("\x1e".join(told).encode("utf-8", "replace"), digest_size=8).hexdigest()
