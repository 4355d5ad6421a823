"""Reading the graph of a user's memories from a store. Every call is about one owner."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.graph.documents import Direction, Document, Edge
from react_mem.memory.graph.export import Graph, GraphLink, GraphNode
from react_mem.memory.graph.links import LinkKind, Node, node_of
from react_mem.memory.graph.traverse import MAX_NODES, Hop, Reader, Subgraph, expand, page_rank, shortest, strength
from react_mem.memory.graph.upkeep import read_documents
from react_mem.memory.graph.wording import name_of, reason
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import links_namespace, scope_namespace
from react_mem.memory.store.owned import WHOLE, everything

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
            f"{self._called(hop.source)} {reason(hop.edge.kind, hop.edge.direction)} {self._called(hop.target)}"
            for hop in self.hops
        )

    def _called(self, node: Node) -> str:
        return f'{node.type.replace("_", " ")} "{self.names.get(node.id, node.id)}"'


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
        found = await self.reader(user_id)([id_])
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
        return await expand(self.reader(user_id), seeds, hops=hops, max_nodes=max_nodes, kinds=kinds)

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
        hops = await shortest(self.reader(user_id), source, target)
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
        held = await self._store.asearch(links_namespace(user_id), limit=WHOLE, refresh_ttl=False)
        documents = [Document.from_value(item.key, item.value) for item in held if "node" in item.value]
        nodes: dict[str, GraphNode] = {}
        for item in items:
            node = node_of(item.namespace[2], item.value)
            if node is not None:
                nodes[node.id] = _graph_node(node, item.value)
        links = [
            GraphLink(document.node.id, edge.to, edge.kind, edge.weight, edge.at, edge.direction is Direction.BOTH)
            for document in documents
            for edge in document.edges.values()
            if {document.node.id, edge.to} <= nodes.keys()
            and (edge.direction is Direction.OUT or (edge.direction is Direction.BOTH and document.node.id < edge.to))
        ]
        return Graph(
            tuple(sorted(nodes.values(), key=lambda node: (node.metadata["created_at"], node.id))),
            tuple(sorted(links, key=lambda link: (link.source, link.target, link.kind))),
        )

    def reader(self, user_id: str) -> Reader:
        """Return what reads the documents of a user's memories."""

        async def read(ids: Collection[str]) -> dict[str, Document]:
            found = await read_documents(self._store, user_id, ids)
            return {id_: stored for id_, stored in found.items() if isinstance(stored, Document)}

        return read


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
    )
