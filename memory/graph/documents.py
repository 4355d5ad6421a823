"""How the store keeps links: one document a memory, with all of its links, so that neighbours are a look-up by key.

Each link stands in the documents of both its ends, with its direction as seen from there. A line - the messages of a
conversation, a user's episodes - has a document as well: its latest members, after which the next one comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from react_mem.memory.graph.links import Link, LinkKind, Node

LINKS, LINE = "links", "line"
"""The kinds of documents."""


class Direction(StrEnum):
    """Where a link leads, seen from one of its ends."""

    OUT = "out"
    IN = "in"
    BOTH = "both"

    __hash__ = str.__hash__  # as with the kinds of links

    @property
    def reverse(self) -> Direction:
        """The direction seen from the other end."""
        return {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(self, self)


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

    @property
    def key(self) -> EdgeKey:
        """What it is among the edges of its document."""
        return (self.to, self.kind, self.direction)


EdgeKey = tuple[str, LinkKind, Direction]

_KINDS = {str(kind): kind for kind in LinkKind}
_DIRECTIONS = {str(direction): direction for direction in Direction}


@dataclass
class Document:
    """A memory with its links.

    Args:
        node: The memory.
        edges: Its links.
    """

    node: Node
    edges: dict[EdgeKey, Edge] = field(default_factory=dict)

    def to_value(self) -> dict[str, Any]:
        """Return the document as the store keeps it; the same links always as the same JSON."""
        node = self.node
        about = {"type": node.type, "scope": node.scope, "session_id": node.session_id, "at": node.at}
        if node.turn is not None:
            about["turn"] = node.turn  # type: ignore[assignment]
        edges = sorted(self.edges.values(), key=lambda edge: (edge.kind, edge.direction, edge.at, edge.to))
        # rows and not objects: a quarter of the bytes and half of the time of reading them
        return {"kind": LINKS, "node": about, "edges": [[*map(_plain, edge)] for edge in edges]}

    @classmethod
    def from_value(cls, id_: str, value: Mapping[str, Any]) -> Document:
        """Read a document back from the store."""
        edges: dict[EdgeKey, Edge] = {}
        for to, scope, why, way, weight, at in value["edges"]:
            kind, direction = _KINDS[why], _DIRECTIONS[way]
            edges[to, kind, direction] = Edge(to, scope, kind, direction, weight, at)
        return cls(Node(id=id_, **value["node"]), edges)


@dataclass
class Line:
    """The latest of what stands in a line, in its order.

    Args:
        last: The place and the id of each.
        cut: Whether there are earlier ones that are not among them.
    """

    last: list[tuple[str, str]] = field(default_factory=list)
    cut: bool = False

    def to_value(self) -> dict[str, Any]:
        """Return the line as the store keeps it."""
        return {"kind": LINE, "last": [list(member) for member in self.last], "cut": self.cut}

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> Line:
        """Read a line back from the store."""
        return cls([(place, id_) for place, id_ in value["last"]], value["cut"])


Stored = Document | Line


def read_stored(id_: str, value: Mapping[str, Any]) -> Stored:
    """Return what an item of the namespace of links is."""
    return Line.from_value(value) if value["kind"] == LINE else Document.from_value(id_, value)


def edge_of(link: Link, node: Node, direction: Direction) -> Edge:
    """Return a link as its end sees it from which it leads in this direction to a node."""
    return Edge(node.id, node.scope, link.kind, direction, link.weight, link.at)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value
