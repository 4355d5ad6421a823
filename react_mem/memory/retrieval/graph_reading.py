"""Reading the graph of a user's memories from a store. Every call is bounded by one owner."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, Literal, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.graph.links import FOUNDS, STEPS, Direction, Edge, Link, LinkKind, Node, derived, reader
from react_mem.memory.graph.traverse import MAX_NODES, Hop, Subgraph, expand, page_rank, shortest, strength
from react_mem.memory.index.recall import as_read
from react_mem.memory.llm.causes import cause_of, checked_calls
from react_mem.memory.model.interface import Fragment, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import CONCEPT, EPISODE, FACT, KINDS, SKILL, SUMMARY, origin_of, title_of
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import LABELS
from react_mem.memory.model.records import now
from react_mem.memory.store.capabilities import everything
from react_mem.memory.store.searches import Wanted, listed

# A user's graph for other programs: JSON, and a page that draws it.

_PLACE = "/*DATA*/null"
_DRAWING_PLACE = "/*DRAWING*/"
_IN_A_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_SHOWN_CHARS = 600
"""Characters of a memory that fit beside the drawing."""


@dataclass(frozen=True)
class GraphNode:
    """A memory of a kind (`type`), its name on one line, its text, date and provenance.

    `current` says that it is believed; always true for kinds without belief, such as messages.
    """

    id: str
    type: str
    name: str
    text: str
    metadata: dict[str, Any]
    current: bool = True

    @property
    def content(self) -> str:
        """Its text, under the name in the paper's schema."""
        return self.text


@dataclass(frozen=True)
class Graph:
    nodes: tuple[GraphNode, ...]
    links: tuple[Link, ...]

    def written(self, form: Literal["html", "json"]) -> str:
        """Return the graph as a page that draws it, or as JSON for other programs."""
        return to_html(self) if form == "html" else to_json(self)

    def largest(self, limit: int) -> Graph:
        """Return the graph of the memories with most links, `limit` at most."""
        if len(self.nodes) <= limit:
            return self
        degree = Counter(end for link in self.links for end in (link.source, link.target))
        kept = {node.id for node in sorted(self.nodes, key=lambda node: (-degree[node.id], node.id))[:limit]}
        return Graph(
            tuple(node for node in self.nodes if node.id in kept),
            tuple(link for link in self.links if {link.source, link.target} <= kept),
        )


def to_json(graph: Graph) -> str:
    """Return a graph as {"nodes": [...], "links": [...]}, the node-link form of networkx and D3."""
    nodes = [asdict(node) for node in graph.nodes]
    return json.dumps({"nodes": nodes, "links": [link._asdict() for link in graph.links]}, ensure_ascii=False, indent=1)


def to_html(graph: Graph) -> str:
    """Return a self-contained page that draws a graph."""
    number = {node.id: place for place, node in enumerate(graph.nodes)}
    data = {
        "nodes": [
            {
                "type": node.type,
                "name": node.name,
                "text": node.text[:_SHOWN_CHARS],
                "at": str(node.metadata["created_at"])[:16].replace("T", " "),
                "session": node.metadata["session_id"],
            }
            for node in graph.nodes
        ],
        "links": [[number[link.source], number[link.target], str(link.kind), link.weight] for link in graph.links],
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for char, escaped in _IN_A_SCRIPT.items():
        text = text.replace(char, escaped)
    # what was written by anybody comes last, so that nothing in it is taken for a place
    return _shipped("view.html").replace(_DRAWING_PLACE, _shipped("drawing.js")).replace(_PLACE, text)


def _shipped(name: str) -> str:
    return files("react_mem.memory.graph").joinpath(name).read_text(encoding="utf-8")


# Memories and links in words: what a node is called, and why two of them belong together.

MAX_NAME = 120
"""Characters of a name: a line of a list, or of a tooltip."""

_REASONS = {
    LinkKind.SUPPORT: ("comes from", "supports"),
    LinkKind.SUMMARIZATION: ("sums up", "is summed up in"),
    LinkKind.MILESTONE: ("was reached through", "led to"),
    LinkKind.DEPENDENCY: ("depends on", "is needed for"),
    LinkKind.TIMELINE: ("was followed by", "followed on"),
    LinkKind.SEMANTIC: ("is like", "is like"),
}
_STEP = "step"
_CAME_UP = ("came up in", "brought up")
_FOUNDED = {
    (FACT.name, _STEP): _CAME_UP,
    (FACT.name, EPISODE.name): _CAME_UP,
    (CONCEPT.name, _STEP): _CAME_UP,
    (CONCEPT.name, EPISODE.name): _CAME_UP,
    (CONCEPT.name, FACT.name): ("is named in", "names"),
    (EPISODE.name, _STEP): ("was reached through", "led to"),
    (SKILL.name, _STEP): ("was learnt from", "taught"),
}
"""Verbs of a support link, by the kinds of its two memories."""

_SUMMED_UP = {
    (SUMMARY.name, EPISODE.name): ("tells of", "is told of in"),
    (SUMMARY.name, FACT.name): ("keeps the preference", "is a preference kept in"),
}
"""Verbs of a summary's links beside its sources."""

_REPLACED = ("was replaced by", "replaced")


def name_of(value: Mapping[str, Any]) -> str:
    """Return the name of a record on one line."""
    line = " ".join(str(title_of(value) or value.get("kind", "")).split())
    return line if len(line) <= MAX_NAME else f"{line[: MAX_NAME - 1]}…"


def reason(source: Node, edge: Edge, target: Node) -> str:
    """Return the verb between two linked memories, of a link seen from the source.

    >>> concept, step = Node("c", "concept", "semantic"), Node("s", "task_step", "state")
    >>> reason(concept, Edge("s", "state", LinkKind.SUPPORT, Direction.OUT), step)
    'came up in'
    """
    starts, ends = (target, source) if edge.direction is Direction.IN else (source, target)
    out, in_ = _REASONS[edge.kind]
    if edge.kind in FOUNDS:
        out, in_ = _FOUNDED.get((_sort(starts), _sort(ends)), (out, in_))
    elif edge.kind is LinkKind.SUMMARIZATION:
        out, in_ = _SUMMED_UP.get((_sort(starts), _sort(ends)), (out, in_))
    elif edge.kind is LinkKind.TIMELINE and starts.type == FACT.name:
        out, in_ = _REPLACED
    return in_ if edge.direction is Direction.IN else out


def _sort(node: Node) -> str:
    return _STEP if node.scope in STEPS else node.type


@dataclass(frozen=True)
class Explanation:
    """Relation of two memories: the links on the path, and the same in words, a line per link."""

    hops: tuple[Hop, ...]
    words: str


@checked_calls
class MemoryGraph:
    """The graph of memories on any store."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def neighbours(self, user_id: str, id_: str, *, limit: int = 20) -> list[Edge]:
        """Return the links of a memory, the strongest first."""
        found = await reader(self._store, user_id)([id_])
        edges: Collection[Edge] = found[id_].edges.values() if id_ in found else ()
        return sorted(edges, key=lambda edge: (-strength(edge), edge.at, edge.to))[:limit]

    async def expand(
        self, user_id: str, seeds: Mapping[str, float], *, hops: int = 2, max_nodes: int = MAX_NODES
    ) -> Subgraph:
        """Return the memories around some seeds (weights up to 1), the strongest bound, by one round trip per hop."""
        return await expand(reader(self._store, user_id), seeds, hops=hops, max_nodes=max_nodes)

    async def rank(self, user_id: str, seeds: Mapping[str, float], *, hops: int = 2) -> list[tuple[Node, float]]:
        """Rank the memories around some seeds with weights, included, by personalised PageRank, in descending order."""
        part = await self.expand(user_id, seeds, hops=hops)
        ranks = page_rank(part, seeds)
        return [(part.documents[id_].node, ranks[id_]) for id_ in sorted(ranks, key=lambda id_: (-ranks[id_], id_))]

    async def explain(self, user_id: str, source: str, target: str) -> Explanation | None:
        """Return the shortest path between two memories, in words; None if unrelated."""
        hops = await shortest(reader(self._store, user_id), source, target)
        if hops is None:
            return None
        nodes = {node.id: node for hop in hops for node in (hop.source, hop.target)}
        records = await _records(self._store, user_id, ((node.scope, node.id) for node in nodes.values()))
        names = {id_: name_of(records[id_]) if id_ in records else id_ for id_ in nodes}
        called = {id_: f'{node.type.replace("_", " ")} "{names[id_]}"' for id_, node in nodes.items()}
        told = (f"{called[a.id]} {reason(a, edge, b)} {called[b.id]}" for a, b, edge in hops)
        return Explanation(tuple(hops), "\n".join(told))

    async def whole(self, user_id: str) -> Graph:
        """Return all of a user's memories with their links, the oldest first."""
        items = await everything(self._store, user_id)
        return await asyncio.to_thread(_graph, items)

    async def newest(self, user_id: str, limit: int, *, kinds: Collection[str] = ()) -> tuple[Graph, int]:
        """Return the newest memories (of some kinds, or all) with the links among them, the oldest first, and the
        number of older ones. A store with paged listing reads no more than these.
        """
        wanted = Wanted(
            namespaces=[scope_namespace(user_id, scope) for scope in MemoryScope],
            kinds=list(kinds) or None,
            without=[kind.name for kind in KINDS.values() if not kind.node],
        )
        found = await listed(self._store, user_id, wanted, None, limit)
        graph = await asyncio.to_thread(_graph, [item for _, item in found.items])
        return graph, found.total - len(found.items)


def _graph(items: Sequence[Item]) -> Graph:
    documents = derived((item.namespace[2], item.value) for item in items)
    values = {str(item.value.get("id")): item.value for item in items}
    at = now()
    nodes = [
        GraphNode(
            id=id_,
            type=node.type,
            name=name_of(value),
            text=str(value.get("text") or ""),
            metadata={
                "created_at": node.at,
                "scope": node.scope,
                "session_id": node.session_id,
                "agent_id": str(value.get("agent_id") or ""),
                "source_ids": [str(source) for source in value.get("source_ids") or ()],
            },
            current=value.get("current") is not False,
        )
        for id_, node, value in ((id_, one.node, as_read(values[id_], at)) for id_, one in documents.items())
    ]
    links = [
        Link(id_, edge.to, edge.kind, edge.weight, edge.at, edge.direction is Direction.BOTH)
        for id_, document in documents.items()
        for edge in document.edges.values()
        if edge.direction is Direction.OUT or (edge.direction is Direction.BOTH and id_ < edge.to)
    ]
    return Graph(
        tuple(sorted(nodes, key=lambda node: (node.metadata["created_at"], node.id))),
        tuple(sorted(links, key=lambda link: (link.source, link.target, link.kind))),
    )


# Episodes and task steps that the facts which were found are linked with, as lines below theirs.

log = logging.getLogger(__name__)

_LINES = 2
"""Lines below a fact, at most."""

_CHARS = 110
"""Characters of a line: two lines take about 60 tokens."""

_SHOWN: dict[str, str] = {MemoryScope.EPISODIC: "episode", MemoryScope.STATE: "task step"}
"""Scopes of the memories shown with a fact, in this order, and what these are called."""


async def _records(store: BaseStore, user_id: str, places: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Return the records of scopes and ids that exist, by id."""
    ops = [GetOp(scope_namespace(user_id, MemoryScope(scope)), id_) for scope, id_ in places]
    found = cast("list[Item | None]", await store.abatch(ops)) if ops else []
    return {item.key: item.value for item in found if item is not None}


async def with_linked(store: BaseStore, user_id: str, results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Add to each fact its linked episodes and steps, unless these are results themselves or cannot be read."""
    facts = [item.id for item in results if item.source == FACT.name]
    if not facts:
        return list(results)
    try:
        documents = await reader(store, user_id)(facts)
        order, linked = list(_SHOWN), dict[str, list[Edge]]()
        # each under the best fact only
        taken = {item.id for item in results}
        for id_ in facts:
            edges = documents[id_].edges.values() if id_ in documents else ()
            near = {edge.to: edge for edge in edges if edge.scope in order and edge.to not in taken}
            linked[id_] = sorted(near.values(), key=lambda edge: (order.index(edge.scope), -edge.weight, edge.to))
            linked[id_] = linked[id_][:_LINES]
            taken |= {edge.to for edge in linked[id_]}
        records = await _records(store, user_id, ((edge.scope, edge.to) for edges in linked.values() for edge in edges))
    except Exception as error:
        log.warning("facts are shown without what they are linked with: %s", cause_of(error))
        return list(results)
    told = {
        id_: tuple(
            Fragment(id=edge.to, role=_SHOWN[edge.scope], content=_told(records[edge.to]))
            for edge in edges
            if edge.to in records
        )
        for id_, edges in linked.items()
    }
    return [item.model_copy(update={"linked": told[item.id]}) if told.get(item.id) else item for item in results]


def _told(value: Mapping[str, Any]) -> str:
    """Return an episode's outcome and lessons, or a step's text, after a label of its origin."""
    came = ". ".join(str(part) for part in (value.get("outcome"), *value.get("lessons", ())) if part)
    return LABELS[origin_of(value)] + (came or str(value["text"]))[:_CHARS]
