"""Walks through the graph: expansion around memories, personalised PageRank, and shortest paths. No store access.

A `Reader` fetches many documents at once, so each step over the graph is one round trip.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from react_mem.memory.graph.links import Direction, Edge, LinkDocument, LinkKind, Node, Reader

STRENGTH = {
    LinkKind.SUPPORT: 1.0,
    LinkKind.MILESTONE: 0.9,
    LinkKind.DEPENDENCY: 0.8,
    LinkKind.SUMMARIZATION: 0.7,
    LinkKind.SEMANTIC: 0.6,
    LinkKind.TIMELINE: 0.5,
}
"""Weights of links by kind: a source has the same topic, the next message often not. An order, not a measurement."""

DAMPING = 0.85
"""Damping factor of PageRank, the usual value."""

_MOST_ROUNDS = 60
_SETTLED = 1e-4
"""Maximum iterations, and the total change at which the iteration stops, after some twenty: later changes do not affect
the order.
"""

MAX_NODES = 150
"""Maximum memories of an expansion: reading and ranking them takes some 30 ms in a memory of 10,000 records."""

_LEAST = 0.05
"""Minimum strength of the connection to the seeds; strengths multiply along a path."""

_MAX_HOPS, _MAX_SEEN = 6, 500
"""Maximum links of a path, since beyond anything explains anything, and maximum memories read for it."""


@dataclass
class Subgraph:
    """A part of the graph: memories with all their links, and how strongly each is bound to the seeds."""

    documents: dict[str, LinkDocument] = field(default_factory=dict)
    reached: dict[str, float] = field(default_factory=dict)

    @property
    def nodes(self) -> list[Node]:
        """Its memories, the strongest connected first."""
        ordered = sorted(self.documents, key=lambda id_: (-self.reached.get(id_, 0.0), id_))
        return [self.documents[id_].node for id_ in ordered]


class Hop(NamedTuple):
    """One link of a path, seen from its first memory."""

    source: Node
    target: Node
    edge: Edge


def strength(edge: Edge) -> float:
    """Return the strength of a link, from 0 to 1."""
    return edge.weight * STRENGTH[edge.kind]


async def expand(read: Reader, seeds: Mapping[str, float], *, hops: int = 2, max_nodes: int = MAX_NODES) -> Subgraph:
    """Return the memories around some seeds (weights up to 1), the strongest bound; one round trip, and one per hop."""
    part = Subgraph()
    reached = {id_: min(weight, 1.0) for id_, weight in seeds.items() if weight > 0}
    for hop in range(hops + 1):
        room = max_nodes - len(part.documents)
        new = heapq.nsmallest(
            room, (id_ for id_ in reached if id_ not in part.documents), key=lambda id_: (-reached[id_], id_)
        )
        found = await read(new) if new else {}
        for id_ in new:
            # what a search found and the graph does not know is not part of it
            if id_ in found:
                part.documents[id_] = found[id_]
                part.reached[id_] = reached[id_]
        reached = {id_: value for id_, value in reached.items() if id_ in part.documents}
        if hop == hops or len(part.documents) >= max_nodes:
            break
        for id_ in sorted(found):
            for edge in found[id_].edges.values():
                bound = reached.get(id_, 0.0) * strength(edge)
                if bound >= _LEAST and bound > reached.get(edge.to, 0.0):
                    reached[edge.to] = bound
        for id_ in part.documents:
            part.reached[id_] = reached[id_]
    return part


def page_rank(part: Subgraph, seeds: Mapping[str, float]) -> dict[str, float]:
    """Return the personalised PageRank of a subgraph by id, summing to 1; empty without a seed in the subgraph.

    Links are followed in both directions. A walk that would leave the subgraph restarts.
    """
    order = sorted(part.documents)
    starts = [max(seeds.get(id_, 0.0), 0.0) for id_ in order]
    total = sum(starts)
    if total <= 0:
        return {}
    starts = [weight / total for weight in starts]
    place = {id_: number for number, id_ in enumerate(order)}
    # for each memory the targets of a walk, with their probabilities
    ways: list[list[tuple[int, float]]] = []
    for id_ in order:
        edges = [(edge.to, strength(edge)) for edge in part.documents[id_].edges.values()]
        whole = sum(bound for _, bound in edges)
        ways.append([(place[to], bound / whole) for to, bound in edges if to in place] if whole else [])
    ranks = list(starts)
    for _ in range(_MOST_ROUNDS):
        passed = [0.0] * len(ranks)
        for number, rank in enumerate(ranks):
            for to, share in ways[number]:
                passed[to] += rank * share
        walked = DAMPING * sum(passed)
        after = [DAMPING * gained + (1 - walked) * start for gained, start in zip(passed, starts, strict=True)]
        change = sum(abs(one - other) for one, other in zip(after, ranks, strict=True))
        ranks = after
        if change < _SETTLED:
            break
    return dict(zip(order, ranks, strict=True))


async def shortest(read: Reader, source: str, target: str) -> list[Hop] | None:
    """Return the path with the fewest links between two memories, the strongest of several; None if none is found.

    The search is bidirectional, one round trip per step. The path of a memory to itself is empty.
    """
    documents = dict(await read({source, target}))
    if source not in documents or target not in documents:
        return None
    # how far and how strongly each is bound to its end, and from where it was reached
    sides: list[dict[str, tuple[int, float, str]]] = [{source: (0, -1.0, "")}, {target: (0, -1.0, "")}]
    edges_of = [[source], [target]]
    meeting: set[str] = {source} & {target}
    for hop in range(_MAX_HOPS):
        if meeting:
            break
        side = hop % 2 if edges_of[hop % 2] else 1 - hop % 2
        frontier: dict[str, tuple[int, float, str]] = {}
        for id_ in edges_of[side]:
            depth, bound, _ = sides[side][id_]
            for edge in documents[id_].edges.values() if id_ in documents else ():
                way = (depth + 1, bound * strength(edge), id_)
                if edge.to not in sides[side] and way < frontier.get(edge.to, (depth + 2, 0.0, "")):
                    frontier[edge.to] = way
        ordered = sorted(frontier, key=lambda id_: frontier[id_])[: max(_MAX_SEEN - len(documents), 0)]
        documents |= await read([id_ for id_ in ordered if id_ not in documents])
        # what has gone meanwhile explains nothing
        edges_of[side] = [id_ for id_ in ordered if id_ in documents]
        sides[side] |= {id_: frontier[id_] for id_ in edges_of[side]}
        meeting = sides[0].keys() & sides[1].keys()
        if not any(edges_of):
            break
    if not meeting:
        return None
    here, there = sides
    middle = min(meeting, key=lambda id_: (here[id_][0] + there[id_][0], -here[id_][1] * there[id_][1], id_))
    found = []
    for one, other in pairwise([*_way(here, middle)[::-1], *_way(there, middle)[1:]]):
        edges = [edge for edge in documents[one].edges.values() if edge.to == other]
        # of several reasons the best, and rather what one comes from than what comes from it
        best = min(edges, key=lambda edge: (-strength(edge), edge.direction is Direction.IN, edge.kind))
        found.append(Hop(documents[one].node, documents[other].node, best))
    return found


def _way(side: Mapping[str, tuple[int, float, str]], id_: str) -> list[str]:
    """Return the path from a memory back to its end of the search."""
    way = [id_]
    while previous := side[way[-1]][2]:
        way.append(previous)
    return way
