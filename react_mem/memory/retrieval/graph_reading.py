"""Reading the graph of a user's memories from a store. Every call is bounded by one owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, Result

from react_mem.memory.graph.export import Graph, GraphNode, name_of, reason
from react_mem.memory.graph.links import Direction, Edge, Link, LinkDocument, LinkKind, Node, derived, reader
from react_mem.memory.graph.traverse import MAX_NODES, Hop, Subgraph, expand, page_rank, received, shortest, strength
from react_mem.memory.index.entries import meets
from react_mem.memory.index.recall import Recall, RecallHit, RecallOp, as_read, scored
from react_mem.memory.index.weights import GRAPH
from react_mem.memory.llm.causes import cause_of, checked_calls
from react_mem.memory.model.interface import Arm, Fragment, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import EPISODE, FACT, KINDS, TASK_STEP, origin_of
from react_mem.memory.model.namespaces import Namespace, decode, scope_namespace
from react_mem.memory.model.origins import LABELS
from react_mem.memory.model.records import now
from react_mem.memory.store.listing import Wanted, listed
from react_mem.memory.store.owned import everything


@dataclass(frozen=True)
class Explanation:
    """Relation of two memories: the links on the path, and the names of its memories by id."""

    hops: tuple[Hop, ...]
    names: Mapping[str, str]

    @property
    def words(self) -> str:
        """The path in words, a line per link."""
        return "\n".join(
            f"{self._called(hop.source)} {reason(hop.source, hop.edge, hop.target)} {self._called(hop.target)}"
            for hop in self.hops
        )

    def _called(self, node: Node) -> str:
        return f'{node.type.replace("_", " ")} "{self.names.get(node.id, node.id)}"'


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
        """Rank the memories around some seeds, included, by personalised PageRank, in descending order.

        The seeds have weights, such as the scores of a search.
        """
        part = await self.expand(user_id, seeds, hops=hops)
        ranks = page_rank(part, seeds)
        return [(part.documents[id_].node, ranks[id_]) for id_ in sorted(ranks, key=lambda id_: (-ranks[id_], id_))]

    async def explain(self, user_id: str, source: str, target: str) -> Explanation | None:
        """Return the shortest path between two memories, in words; None if unrelated."""
        hops = await shortest(reader(self._store, user_id), source, target)
        if hops is None:
            return None
        nodes = {node.id: node for hop in hops for node in (hop.source, hop.target)}
        records = await self.records(user_id, list(nodes.values()))
        return Explanation(tuple(hops), {id_: name_of(value) for id_, value in records.items()})

    async def records(self, user_id: str, nodes: Sequence[Node]) -> dict[str, dict[str, Any]]:
        ops = [GetOp(scope_namespace(user_id, MemoryScope(node.scope)), node.id) for node in nodes]
        found = cast("list[Item | None]", await self._store.abatch(ops)) if ops else []
        return {item.key: item.value for item in found if item is not None}

    async def whole(self, user_id: str) -> Graph:
        """Return all of a user's memories with their links, the oldest first."""
        items = await everything(self._store, user_id)
        return await asyncio.to_thread(_graph, items)

    async def newest(self, user_id: str, limit: int, *, kinds: Collection[str] = ()) -> tuple[Graph, int]:
        """Return the newest memories with the links among them, the oldest first, and the number of older ones.

        A store with paged listing reads no more than these.

        Args:
            kinds: Their kinds; by default all kinds in the graph.
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
    nodes = [_graph_node(document.node, as_read(values[id_], at)) for id_, document in documents.items()]
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


def _graph_node(node: Node, value: Mapping[str, Any]) -> GraphNode:
    return GraphNode(
        id=node.id,
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


# The arm of the graph: what is linked with what the other arms have found counts for more, or is found by it.

log = logging.getLogger(__name__)

SEEDS = 10
"""Best hits at which the walk starts, about as many as a prompt shows."""

_FOLLOWED = frozenset(LinkKind) - {LinkKind.TIMELINE}
"""Kinds of links in the walk; the window arm covers the timeline already."""


async def with_links(
    store: BaseStore, ops: Sequence[Op | RecallOp], answers: Sequence[Result | Recall]
) -> list[Result | Recall]:
    """Return the answers of one owner's read, with the arm of links added to the recalls that have it.

    If the links cannot be read, the answers stay as they are, with the arm listed as failed.
    """
    try:
        return await _linked(store, ops, answers)
    except Exception as error:
        cause = cause_of(error)
        log.warning("memory is searched without its links: %s", cause)
        return [
            answer.without({Arm.GRAPH: cause})
            if isinstance(op, RecallOp) and isinstance(answer, Recall) and Arm.GRAPH in op.arms
            else answer
            for op, answer in zip(ops, answers, strict=True)
        ]


async def _linked(
    store: BaseStore, ops: Sequence[Op | RecallOp], answers: Sequence[Result | Recall]
) -> list[Result | Recall]:
    asked = [
        (place, op, answer)
        for place, (op, answer) in enumerate(zip(ops, answers, strict=True))
        if isinstance(op, RecallOp) and isinstance(answer, Recall) and Arm.GRAPH in op.arms
    ]
    found = {one.item.key: one for _, _, answer in asked for one in answer.found}
    best = max((one.item.score or 0.0 for one in found.values()), default=0.0)
    if best <= 0:
        return list(answers)
    user_id = decode(asked[0][1].namespace[1])
    part = await _around(store, user_id, found)
    seeds = sorted(found.values(), key=lambda one: (-(one.item.score or 0.0), one.item.key))[:SEEDS]
    gained = received(part, page_rank(part, {one.item.key: one.item.score or 0.0 for one in seeds}))
    most = max(gained.values(), default=0.0)
    shares = {id_: GRAPH * best * gain / most for id_, gain in gained.items() if gain > 0}
    others = await _others(store, asked, found, shares, part)
    merged = list(answers)
    for place, op, answer in asked:
        brought = [
            RecallHit(scored(item, 0.0), arms={}, similarity=None)
            for item in others
            if item.namespace == op.namespace and meets(op.conditions, item.value)
        ]
        ranked = []
        for one in [*answer.found, *brought]:
            share = shares.get(one.item.key, 0.0)
            item = scored(one.item, (one.item.score or 0.0) + share)
            ranked.append(replace(one, item=item, arms={**one.arms, Arm.GRAPH: share}))
        ranked.sort(key=lambda one: (-(one.item.score or 0.0), one.item.key))
        merged[place] = Recall(ranked[: op.limit], answer.missing)
    return merged


async def _around(store: BaseStore, user_id: str, ids: Iterable[str]) -> Subgraph:
    """Return some memories with their neighbours; the neighbours' own links are not read."""
    part = Subgraph()
    for id_, document in (await reader(store, user_id)(list(ids))).items():
        edges = {key: edge for key, edge in document.edges.items() if edge.kind in _FOLLOWED}
        part.documents[id_] = LinkDocument(document.node, edges)
    for document in list(part.documents.values()):
        for edge in document.edges.values():
            part.documents.setdefault(edge.to, LinkDocument(Node(edge.to, "", edge.scope)))
    return part


async def _others(
    store: BaseStore,
    asked: Sequence[tuple[int, RecallOp, Recall]],
    found: Mapping[str, RecallHit],
    shares: Mapping[str, float],
    part: Subgraph,
) -> list[Item]:
    """Return linked memories that the other arms missed and that score high enough for an answer."""
    wanted: set[tuple[Namespace, str]] = set()
    for _, op, answer in asked:
        worst = min((one.item.score or 0.0 for one in answer.found), default=0.0)
        least = worst if len(answer.found) >= op.limit else 0.0
        near = [
            id_
            for id_, share in shares.items()
            if share > least and id_ not in found and id_ not in op.without
            if part.documents[id_].node.scope == op.namespace[2]
        ]
        near.sort(key=lambda id_: (-shares[id_], id_))
        wanted |= {(op.namespace, id_) for id_ in near[: op.limit]}
    ops = [GetOp(namespace, id_) for namespace, id_ in sorted(wanted)]
    items = cast("list[Item | None]", await store.abatch(ops)) if ops else []
    return [item for item in items if item is not None]


# Episodes and task steps that the facts which were found are linked with, as lines below theirs.

_LINES = 2
"""Lines below a fact, at most."""

_CHARS = 110
"""Characters of a line: two lines take about 60 tokens."""

_SHOWN = {MemoryScope.EPISODIC: EPISODE.name, MemoryScope.STATE: TASK_STEP.name}
"""Kinds shown with a fact, by scope and in this order."""


async def with_linked(store: BaseStore, user_id: str, results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Add to each fact among the results its linked episodes and steps, unless these are results themselves.

    If the links cannot be read, the results stay as they are.
    """
    facts = [item.id for item in results if item.source == FACT.name]
    if not facts:
        return list(results)
    try:
        documents = await reader(store, user_id)(facts)
        linked = _linked_nodes(facts, documents, {item.id for item in results})
        records = await MemoryGraph(store).records(user_id, [node for nodes in linked.values() for node in nodes])
    except Exception as error:
        log.warning("facts are shown without what they are linked with: %s", cause_of(error))
        return list(results)
    told = {
        id_: tuple(
            Fragment(id=node.id, role=node.type.replace("_", " "), content=_told(records[node.id]))
            for node in nodes
            if node.id in records
        )
        for id_, nodes in linked.items()
    }
    return [item.model_copy(update={"linked": told[item.id]}) if told.get(item.id) else item for item in results]


def _linked_nodes(
    facts: Sequence[str], documents: Mapping[str, LinkDocument], taken: set[str]
) -> dict[str, list[Node]]:
    """Return the episodes and steps of each fact, each under the best fact only."""
    order = list(_SHOWN)
    found = {}
    for id_ in facts:
        edges = documents[id_].edges.values() if id_ in documents else ()
        near = {edge.to: edge for edge in edges if edge.scope in order and edge.to not in taken}
        best = sorted(near.values(), key=lambda edge: (order.index(MemoryScope(edge.scope)), -edge.weight, edge.to))
        found[id_] = [Node(edge.to, _SHOWN[MemoryScope(edge.scope)], edge.scope) for edge in best[:_LINES]]
        taken |= {node.id for node in found[id_]}
    return found


def _told(value: Mapping[str, Any]) -> str:
    """Return an episode's outcome and lessons, or a step's text, after a label of its origin."""
    came = ". ".join(str(part) for part in (value.get("outcome"), *value.get("lessons", ())) if part)
    return LABELS[origin_of(value)] + (came or str(value["text"]))[:_CHARS]
