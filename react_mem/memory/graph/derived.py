"""Memories with all of their links, derived from the records: nothing of it is stored. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from react_mem.memory.graph.links import Link, LinkKind, Node, line_of, links_of, node_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONCEPT, FACT

MOST_LINKS = {LinkKind.SEMANTIC: 8, LinkKind.SUMMARIZATION: 200}
"""Links of a kind and a direction that are followed from a memory, at most, the strongest and then the latest: a
summary has up to 200 sources."""

MOST_OTHERS = 32
"""Of any other kind: a fact that was said a hundred times needs no hundred witnesses."""

STEPS = frozenset({MemoryScope.EXPERIENCE, MemoryScope.STATE})
"""The scopes of what an agent did, and of what it has to do."""

FOUNDS = frozenset({LinkKind.SUPPORT, LinkKind.MILESTONE})
"""Links to what a memory was drawn from."""

_BY_A_MESSAGE = 0.5
"""The weight of a link of a fact, or of a concept by its facts, with what was done and concluded when it came up: that
may have been about something else as well."""


class Direction(StrEnum):
    """Direction of a link, seen from one of its ends."""

    OUT = "out"
    IN = "in"
    BOTH = "both"

    __hash__ = str.__hash__  # as with the kinds of links


class Edge(NamedTuple):
    """A link, seen from one of its ends: a tuple, because a walk makes thousands of them.

    Args:
        to: The other end.
        scope: The scope of the other end.
        kind: Why they are linked.
        direction: Where it leads from here.
        weight: How strong it is, up to 1.
        at: When the later of the two was first believed.
    """

    to: str
    scope: str
    kind: LinkKind
    direction: Direction
    weight: float = 1.0
    at: str = ""


@dataclass
class LinkDocument:
    """A memory with its links.

    Args:
        node: The memory.
        edges: Its links, each by its other end, its kind and its direction.
    """

    node: Node
    edges: dict[tuple[str, LinkKind, Direction], Edge] = field(default_factory=dict)

    def strongest(self) -> LinkDocument:
        """Return the memory with as many of its links as are followed."""
        groups: defaultdict[tuple[LinkKind, Direction], list[Edge]] = defaultdict(list)
        for edge in sorted(self.edges.values(), key=attrgetter("weight", "at", "to"), reverse=True):
            groups[edge.kind, edge.direction].append(edge)
        kept = [edge for (kind, _), edges in groups.items() for edge in edges[: MOST_LINKS.get(kind, MOST_OTHERS)]]
        return LinkDocument(self.node, {(edge.to, edge.kind, edge.direction): edge for edge in kept})


_Record = tuple[Node, Sequence[Link]]


def derived(
    values: Iterable[tuple[str, Mapping[str, Any]]], wanted: Collection[str] | None = None
) -> dict[str, LinkDocument]:
    """Return memories with all of their links to each other, by id.

    Args:
        values: The records, each with the scope that keeps it. The links of a memory are whole where these are among
            them: what it names and what names it, what comes before and after it in its line, and of a fact, a step, an
            episode or a concept what came up in the same messages.
        wanted: The memories to return; None for all.
    """
    records: dict[str, _Record] = {}
    for scope, value in values:
        if node := node_of(scope, value):
            # what names a memory may name a hundred others
            whole = wanted is None or node.id in wanted or _comes_up(node)
            records[node.id] = node, links_of(value, None if whole else wanted)
    asked = records.keys() if wanted is None else records.keys() & wanted
    documents = {id_: LinkDocument(records[id_][0]) for id_ in asked}
    said = (link for _, links in records.values() for link in links)
    for source, target, kind, weight, at, mutual in (*said, *_in_line(records.values()), *_came_up(records)):
        if (source in asked or target in asked) and source in records and target in records:
            there, back = (Direction.BOTH, Direction.BOTH) if mutual else (Direction.OUT, Direction.IN)
            if source in asked:
                _add(documents[source], Edge(target, records[target][0].scope, kind, there, weight, at))
            if target in asked:
                _add(documents[target], Edge(source, records[source][0].scope, kind, back, weight, at))
    return documents


def _add(document: LinkDocument, edge: Edge) -> None:
    key = (edge.to, edge.kind, edge.direction)
    if key not in document.edges or document.edges[key].weight < edge.weight:
        document.edges[key] = edge


def _comes_up(node: Node) -> bool:
    return node.scope in STEPS or node.scope == MemoryScope.EPISODIC or node.type in (FACT.name, CONCEPT.name)


def _in_line(records: Iterable[_Record]) -> Iterator[Link]:
    """Yield the links of what follows on each other."""
    lines: defaultdict[tuple[str, str], list[Node]] = defaultdict(list)
    for node, _ in records:
        if line := line_of(node):
            lines[line].append(node)
    for members in lines.values():
        for before, after in pairwise(sorted(members, key=lambda node: node.place)):
            yield Link(before.id, after.id, LinkKind.TIMELINE, at=after.at)


def _came_up(records: Mapping[str, _Record]) -> Iterator[Link]:
    """Yield the links of facts, concepts and episodes with the steps and episodes that are from the same messages."""
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
