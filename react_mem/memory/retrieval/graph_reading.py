"""Reading the graph of a user's memories from a store. Every call is about one owner."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.graph.derived import Direction, Edge, derived
from react_mem.memory.graph.export import Graph, GraphNode
from react_mem.memory.graph.link_reading import reader
from react_mem.memory.graph.links import Link, LinkKind, Node
from react_mem.memory.graph.traverse import MAX_NODES, Hop, Subgraph, expand, page_rank, shortest, strength
from react_mem.memory.graph.wording import name_of, reason
from react_mem.memory.index.recall import as_read
from react_mem.memory.llm.checked_calls import checked_calls
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import KINDS
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import now
from react_mem.memory.store.listing import Wanted, listed
from react_mem.memory.store.owned import everything

EVERY_KIND = frozenset(LinkKind)


@dataclass(frozen=True)
class Explanation:
    """Relation of two memories.

    Args:
        hops: The links on the way from one to the other.
        names: What the memories on the way are called, by id.
    """

    hops: tuple[Hop, ...]
    names: Mapping[str, str]

    @property
    def words(self) -> str:
        """The way in words, a line a link."""
        return "\n".join(
            f"{self._called(hop.source)} {reason(hop.source, hop.edge, hop.target)} {self._called(hop.target)}"
            for hop in self.hops
        )

    def _called(self, node: Node) -> str:
        return f'{node.type.replace("_", " ")} "{self.names.get(node.id, node.id)}"'


@checked_calls
class MemoryGraph:
    """The graph of memories on any store.

    Args:
        store: The store.
    """

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def neighbours(
        self, user_id: str, id_: str, *, kinds: Collection[LinkKind] = EVERY_KIND, limit: int = 20
    ) -> list[Edge]:
        """Return what a memory is linked with, the most strongly bound first.

        Args:
            user_id: The owner.
            id_: The memory.
            kinds: The links to follow.
            limit: How many.
        """
        found = await reader(self._store, user_id)([id_])
        edges = [edge for edge in found[id_].edges.values() if edge.kind in kinds] if id_ in found else []
        return sorted(edges, key=lambda edge: (-strength(edge), edge.at, edge.to))[:limit]

    async def expand(
        self,
        user_id: str,
        seeds: Mapping[str, float],
        *,
        hops: int = 2,
        max_nodes: int = MAX_NODES,
        kinds: Collection[LinkKind] = EVERY_KIND,
    ) -> Subgraph:
        """Return what is around some memories, the most strongly bound; one round trip for them and one a hop.

        Args:
            user_id: The owner.
            seeds: The ids to begin with, with how much each counts, up to 1.
            hops: How far.
            max_nodes: How many memories, at most.
            kinds: The links to follow.
        """
        return await expand(reader(self._store, user_id), seeds, hops=hops, max_nodes=max_nodes, kinds=kinds)

    async def rank(
        self, user_id: str, seeds: Mapping[str, float], *, hops: int = 2, max_nodes: int = MAX_NODES
    ) -> list[tuple[Node, float]]:
        """Return the memories that matter most to some others, by personalised PageRank over what is around them.

        Args:
            user_id: The owner.
            seeds: What a search has found, with how well.
            hops: How far to look.
            max_nodes: How many memories to look at, at most.

        Returns:
            Memories with their share of the walk, the largest first; the seeds are among them.
        """
        part = await self.expand(user_id, seeds, hops=hops, max_nodes=max_nodes)
        ranks = page_rank(part, seeds)
        return [(part.documents[id_].node, ranks[id_]) for id_ in sorted(ranks, key=lambda id_: (-ranks[id_], id_))]

    async def explain(self, user_id: str, source: str, target: str) -> Explanation | None:
        """Return the shortest way from one memory to another, in words; None where they have nothing to do.

        Args:
            user_id: The owner.
            source: A memory.
            target: Another one.
        """
        hops = await shortest(reader(self._store, user_id), source, target)
        if hops is None:
            return None
        nodes = {node.id: node for hop in hops for node in (hop.source, hop.target)}
        records = await self.records(user_id, list(nodes.values()))
        return Explanation(tuple(hops), {id_: name_of(value) for id_, value in records.items()})

    async def records(self, user_id: str, nodes: Sequence[Node]) -> dict[str, dict[str, Any]]:
        """Return the records of memories, by id, in one round trip.

        Args:
            user_id: The owner.
            nodes: The memories.
        """
        ops = [GetOp(scope_namespace(user_id, MemoryScope(node.scope)), node.id) for node in nodes]
        found = cast("list[Item | None]", await self._store.abatch(ops)) if ops else []
        return {item.key: item.value for item in found if item is not None}

    async def whole(self, user_id: str) -> Graph:
        """Return all of a user's memories with their links, the oldest first: for an export or a picture.

        Args:
            user_id: The owner.
        """
        items = await everything(self._store, user_id)
        return await asyncio.to_thread(_graph, items)

    async def newest(self, user_id: str, limit: int, *, kinds: Collection[str] = ()) -> tuple[Graph, int]:
        """Return the newest of a user's memories with the links among them, the oldest first, and how many are older.

        A store that lists page by page reads no more than these.

        Args:
            user_id: The owner.
            limit: How many memories.
            kinds: Their kinds; by default all that the graph has.
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
