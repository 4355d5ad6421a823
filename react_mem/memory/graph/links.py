"""Nodes and links derived from records, the cascade of a deletion, and lineage."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONCEPT, EPISODE, FACT, MESSAGE, SUMMARY, Kind, kind_named, kind_of, origin_of
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import AnyRecord, Level, with_origin, with_zone
from react_mem.memory.store.capabilities import capabilities, everything


class LinkKind(StrEnum):
    SUPPORT = "support"
    SUMMARIZATION = "summarization"
    MILESTONE = "milestone"
    DEPENDENCY = "dependency"
    TIMELINE = "timeline"
    SEMANTIC = "semantic"

    # an enumeration's own is a function in Python, and every link is looked up by it
    __hash__ = str.__hash__


class Node(NamedTuple):
    """A memory in the graph: a tuple, as links are, because thousands are made at once.

    `type` is the record's kind, `at` the start of belief in UTC, and `turn` a message's position in its conversation.
    """

    id: str
    type: str
    scope: str
    session_id: str = ""
    at: str = ""
    turn: int | None = None

    @property
    def place(self) -> tuple[int, str, str]:
        """Sort key within its line."""
        return (0, self.at, self.id) if self.turn is None else (self.turn, "", self.id)


class Link(NamedTuple):
    """A link from a derived memory (a fact, a summary) to the one that it derives from (a message, a summarised
    record).

    `at` is the later start of belief, in UTC; a `mutual` link goes in both directions.
    """

    source: str
    target: str
    kind: LinkKind
    weight: float = 1.0
    at: str = ""
    mutual: bool = False


_FIELDS = {
    "source_ids": LinkKind.SUPPORT,
    "linked_steps": LinkKind.SUPPORT,
    "depends_on": LinkKind.DEPENDENCY,
    "needs": LinkKind.DEPENDENCY,
    "superseded_by": LinkKind.TIMELINE,
    "episodes": LinkKind.SUMMARIZATION,
    "task_preferences": LinkKind.SUMMARIZATION,
}
"""Fields with references to other records, and their kinds of links. The database function `memory_target_keys` reads
these, `links` and `alike`: a further field needs a migration.
"""

_NAMING = (*_FIELDS, "links", "alike")

_OF_SOURCES = {SUMMARY.name: LinkKind.SUMMARIZATION}
"""Kind of a record's links to its sources, unless support."""

_TOLD = {str(kind): kind for kind in LinkKind if kind is not LinkKind.TIMELINE}
"""Kinds of explicit links; the timeline follows from dates and conversations."""


def node_of(scope: str, value: Mapping[str, Any]) -> Node | None:
    """Return a record as a node; None if its kind has none."""
    id_, kind = value.get("id"), value.get("kind")
    if not isinstance(id_, str) or not isinstance(kind, str) or not kind_of(value).node:
        return None
    turn = value.get("turn")
    return Node(
        id=id_,
        type=kind,
        scope=scope,
        session_id=str(value.get("session_id") or ""),
        at=in_utc(value.get("created_at")),
        turn=turn if MESSAGE.matches(value) and isinstance(turn, int) else None,
    )


def links_of(value: Mapping[str, Any], only: Container[str] | None = None) -> list[Link]:
    """Return the links that follow from a record alone, each once; the targets need not exist.

    - `source_ids`: its support; for a summary the summarised records, for a milestone the records that led to it.
    - `linked_steps`: the steps of an episode.
    - `depends_on`: the prerequisites of a task step; `needs`: the facts that a fact depends on.
    - `superseded_by`: the fact in its place.
    - `episodes`, `task_preferences`: further contents of a summary.
    - `links`: explicit links: a supporting id, or {"to", "kind", "weight"}, each.
    - `alike`: similar memories with their similarity.

    Args:
        only: The targets to return; None for all.

    >>> fact = {"id": "f", "kind": "fact", "source_ids": ["m", "m:steps"]}
    >>> [(link.target, str(link.kind)) for link in links_of(fact)]
    [('m', 'support')]
    """
    if not any(map(value.get, _NAMING)):
        return []
    id_, at = str(value.get("id")), in_utc(value.get("created_at"))
    found: dict[tuple[str, LinkKind], Link] = {}

    def add(target: Any, kind_: LinkKind, weight: float = 1.0, *, mutual: bool = False) -> None:
        if isinstance(target, str) and target and target != id_ and (only is None or target in only):
            found.setdefault((target, kind_), Link(id_, target, kind_, weight, at, mutual))

    milestone = EPISODE.matches(value) and value.get("level") == Level.MILESTONE
    supports = LinkKind.MILESTONE if milestone else _OF_SOURCES.get(kind_of(value).name, LinkKind.SUPPORT)
    for name, why in _FIELDS.items():
        named = value.get(name) or ()
        for target in named if isinstance(named, list | tuple) else (named,):
            # a part of a message, such as the steps of its turn, is the message
            whole = target.partition(":")[0] if name == "source_ids" and isinstance(target, str) else target
            add(whole, supports if why is LinkKind.SUPPORT else why)
    for link in value.get("links") or ():
        if isinstance(link, str):
            add(link, LinkKind.SUPPORT)
        elif isinstance(link, Mapping) and link.get("kind") in _TOLD:
            add(link.get("to"), _TOLD[str(link["kind"])], _weight(link.get("weight")))
    for other, weight in (value.get("alike") or {}).items():
        add(other, LinkKind.SEMANTIC, _weight(weight), mutual=True)
    return list(found.values())


def in_utc(at: Any) -> str:
    """Return a time in UTC, in a form that compares as text; empty for no time."""
    return _in_utc(str(at))


@lru_cache(maxsize=4096)
def _in_utc(at: str) -> str:
    try:
        return with_zone(datetime.fromisoformat(at)).astimezone(UTC).isoformat(timespec="microseconds")
    # the first and the last hours that there are have none in UTC
    except (ValueError, OverflowError):
        return ""


def _weight(weight: Any) -> float:
    return min(max(float(weight), 0.0), 1.0) if isinstance(weight, int | float) else 1.0


# Memories with all of their links, derived from the records: nothing of it is stored. Pure.

MOST_LINKS = {LinkKind.SEMANTIC: 8, LinkKind.SUMMARIZATION: 200}
"""Maximum links followed per kind and direction, the strongest and then the latest: a summary has up to 200 sources."""

MOST_OTHERS = 32
"""Maximum links of any other kind."""

STEPS = frozenset({MemoryScope.EXPERIENCE, MemoryScope.STATE})
"""Scopes of past and planned actions of an agent."""

FOUNDS = frozenset({LinkKind.SUPPORT, LinkKind.MILESTONE})
"""Links to a memory's sources."""

_BY_A_MESSAGE = 0.5
"""Weight of a link by a common message only: the message may have several topics."""


class Direction(StrEnum):
    """Direction of a link, seen from one of its ends."""

    OUT = "out"
    IN = "in"
    BOTH = "both"

    __hash__ = str.__hash__  # as with the kinds of links


class Edge(NamedTuple):
    """A link seen from one of its ends, `to` the other one: a tuple, because a walk makes thousands."""

    to: str
    scope: str
    kind: LinkKind
    direction: Direction
    weight: float = 1.0
    at: str = ""


@dataclass
class LinkDocument:
    """A memory with its links, each by its other end, its kind and its direction."""

    node: Node
    edges: dict[tuple[str, LinkKind, Direction], Edge] = field(default_factory=dict)

    def add(self, edge: Edge) -> None:
        """Add a link; of two of one kind the stronger stays."""
        known = self.edges.setdefault((edge.to, edge.kind, edge.direction), edge)
        if known.weight < edge.weight:
            self.edges[edge.to, edge.kind, edge.direction] = edge

    def strongest(self) -> LinkDocument:
        """Return the memory with its strongest links only, as many as are followed."""
        groups: defaultdict[tuple[LinkKind, Direction], list[Edge]] = defaultdict(list)
        for edge in sorted(self.edges.values(), key=attrgetter("weight", "at", "to"), reverse=True):
            groups[edge.kind, edge.direction].append(edge)
        kept = [edge for (kind, _), edges in groups.items() for edge in edges[: MOST_LINKS.get(kind, MOST_OTHERS)]]
        return LinkDocument(self.node, {(edge.to, edge.kind, edge.direction): edge for edge in kept})


_Record = tuple[Node, Sequence[Link]]


def derived(
    values: Iterable[tuple[str, Mapping[str, Any]]], wanted: Collection[str] | None = None
) -> dict[str, LinkDocument]:
    """Return memories (those `wanted`, or all) with all of their links to each other, by id.

    For complete links of a memory the records must include its targets, its referrers, its neighbours on the timeline,
    and for a fact, a step, an episode or a concept the others of the same messages.
    """
    records: dict[str, _Record] = {}
    for scope, value in values:
        if node := node_of(scope, value):
            comes_up = node.scope in (*STEPS, MemoryScope.EPISODIC) or node.type in (FACT.name, CONCEPT.name)
            # what names a memory may name a hundred others
            whole = wanted is None or node.id in wanted or comes_up
            records[node.id] = node, links_of(value, None if whole else wanted)
    asked = records.keys() if wanted is None else records.keys() & wanted
    documents = {id_: LinkDocument(records[id_][0]) for id_ in asked}
    said = (link for _, links in records.values() for link in links)
    for source, target, kind, weight, at, mutual in (*said, *_in_line(records.values()), *_came_up(records)):
        if (source in asked or target in asked) and source in records and target in records:
            there, back = (Direction.BOTH, Direction.BOTH) if mutual else (Direction.OUT, Direction.IN)
            if source in asked:
                documents[source].add(Edge(target, records[target][0].scope, kind, there, weight, at))
            if target in asked:
                documents[target].add(Edge(source, records[source][0].scope, kind, back, weight, at))
    return documents


def _in_line(records: Iterable[_Record]) -> Iterator[Link]:
    lines: defaultdict[tuple[str, str], list[Node]] = defaultdict(list)
    for node, _ in records:
        # a conversation, or a user's episodes
        if line := kind_named(node.type).line:
            lines[node.type, node.session_id if line == "session" else ""].append(node)
    for members in lines.values():
        for before, after in pairwise(sorted(members, key=lambda node: node.place)):
            yield Link(before.id, after.id, LinkKind.TIMELINE, at=after.at)


def _came_up(records: Mapping[str, _Record]) -> Iterator[Link]:
    """Yield the links of facts, concepts and episodes with the steps and episodes of the same messages."""
    steps: defaultdict[str, list[str]] = defaultdict(list)
    episodes: defaultdict[str, list[Link]] = defaultdict(list)
    for node, links in records.values():
        for link in links:
            if node.scope in STEPS and link.kind in FOUNDS:
                steps[link.target].append(node.id)
            elif node.scope == MemoryScope.EPISODIC and link.kind in FOUNDS:
                episodes[link.target].append(link)
    for message, of_it in episodes.items():
        for episode in of_it:
            for step in steps.get(message, ()):
                yield Link(episode.source, step, episode.kind, episode.weight, episode.at)

    def beside(link: Link) -> Iterator[tuple[str, LinkKind]]:
        if link.kind is LinkKind.SUPPORT:
            yield from ((step, LinkKind.SUPPORT) for step in steps.get(link.target, ()))
            yield from ((episode.source, episode.kind) for episode in episodes.get(link.target, ()))

    for node, links in records.values():
        if node.type not in (FACT.name, CONCEPT.name):
            continue
        # a concept was said by its facts
        facts = [records[link.target] for link in links if node.type == CONCEPT.name and link.target in records]
        for link in (*links, *(said for fact, found in facts if fact.type == FACT.name for said in found)):
            for other, why in beside(link):
                yield Link(node.id, other, why, _BY_A_MESSAGE, link.at)


# Cascade of a deletion: what was made of a record goes with it.

Value = Mapping[str, Any]


def fall(
    left: dict[str, Item],
    gone: dict[str, Item],
    *,
    stands: Callable[[str, Value], bool],
    unsourced: Callable[[Value], bool],
    supported: Callable[[Kind], bool] = lambda kind: kind.supported,
) -> None:
    """Move dependent records from `left` to `gone` until nothing more depends on gone ones.

    A record falls with one of its sources, of a `supported` kind with the last one that `stands`, or as `unsourced`.
    """

    def falls(value: Value) -> bool:
        sources = (*value.get("source_ids", ()), *value.get("withdrawn", ()))
        if not sources:
            return unsourced(value)
        kept = [source for source in sources if stands(source, value)]
        return not kept if supported(kind_of(value)) else len(kept) < len(sources)

    while falling := [id_ for id_, item in left.items() if falls(item.value)]:
        gone |= {id_: left.pop(id_) for id_ in falling}


# Lineage: whatever is derived from records is trusted no more than the least trusted of them.

_SOURCES = (MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.EXPERIENCE)
"""Scopes of source records."""


async def origins_of(store: BaseStore, user_id: str, ids: Iterable[str]) -> dict[str, Origin]:
    """Return the origins of source records by id, as far as they exist."""
    wanted = [GetOp(scope_namespace(user_id, scope), id_) for id_ in dict.fromkeys(ids) for scope in _SOURCES]
    found = cast("list[Item | None]", await store.abatch(wanted)) if wanted else []
    return {item.key: origin_of(item.value) for item in found if item is not None}


async def capped(store: BaseStore, user_id: str, records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """Lower the origin of each new record to its least trusted source, however it was written."""
    known = await origins_of(store, user_id, (source for record in records for source in record.source_ids))
    return [with_origin(record, filter(None, map(known.get, record.source_ids))) for record in records]


# Memories with their links, read from a store.

Reader = Callable[[Collection[str]], Awaitable[Mapping[str, LinkDocument]]]
"""Reads some memories with their links; missing ones are left out."""

_SCOPES = sorted(set(MemoryScope) - {MemoryScope.PROFILE})


def reader(store: BaseStore, user_id: str) -> Reader:
    """Return a function that reads a user's memories with their links.

    Each call is one round trip on a store with an index of links. On any other store all records are read, once.
    """
    whole: dict[str, LinkDocument] = {}

    async def read(ids: Collection[str]) -> dict[str, LinkDocument]:
        nonlocal whole
        if not ids:
            return {}
        found = whole
        spaces = [scope_namespace(user_id, scope) for scope in _SCOPES]
        rows = await capabilities(store).alinked(spaces, sorted(ids))
        if rows is not None:
            found = await asyncio.to_thread(derived, [(space[2], value) for space, value in rows], frozenset(ids))
        elif not whole:
            items = await everything(store, user_id)
            found = whole = await asyncio.to_thread(derived, [(item.namespace[2], item.value) for item in items])
        return {id_: found[id_].strongest() for id_ in ids if id_ in found}

    return read
