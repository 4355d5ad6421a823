"""A user's graph for other programs: JSON, and a page that draws it.

What is in a memory was written by anybody: it is escaped for where it goes, and never markup or code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from react_mem.memory.graph.links import Link

_PLACE = "/*DATA*/null"
_DRAWING_PLACE = "/*DRAWING*/"
_IN_A_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_SHOWN_CHARS = 600
"""Characters of a memory on the page: what fits beside the drawing."""


@dataclass(frozen=True)
class GraphNode:
    """A memory.

    Args:
        id: The record's.
        type: The record's kind.
        name: What it is called, on a line.
        text: What it says. Its vector stays in the store's index.
        metadata: When it was made and where it comes from.
        current: Whether it is believed; of what is no belief, such as a message, always true.
    """

    id: str
    type: str
    name: str
    text: str
    metadata: dict[str, Any]
    current: bool = True

    @property
    def content(self) -> str:
        """Its text, by the name that the authors gave it."""
        return self.text


@dataclass(frozen=True)
class Graph:
    """Memories and links."""

    nodes: tuple[GraphNode, ...]
    links: tuple[Link, ...]

    def of_types(self, types: Collection[str]) -> Graph:
        """Return the graph of the memories of some kinds."""
        nodes = tuple(node for node in self.nodes if node.type in types)
        kept = {node.id for node in nodes}
        return Graph(nodes, tuple(link for link in self.links if {link.source, link.target} <= kept))

    def largest(self, limit: int) -> Graph:
        """Return the graph of the memories that have the most links, so many of them at most."""
        if len(self.nodes) <= limit:
            return self
        degree = Counter(end for link in self.links for end in (link.source, link.target))
        kept = {node.id for node in sorted(self.nodes, key=lambda node: (-degree[node.id], node.id))[:limit]}
        return Graph(
            tuple(node for node in self.nodes if node.id in kept),
            tuple(link for link in self.links if {link.source, link.target} <= kept),
        )


def to_json(graph: Graph) -> str:
    """Return a graph as {"nodes": [...], "links": [...]}, the node-link form that networkx and D3 read."""
    nodes = [asdict(node) for node in graph.nodes]
    return json.dumps({"nodes": nodes, "links": [link._asdict() for link in graph.links]}, ensure_ascii=False, indent=1)


def to_html(graph: Graph) -> str:
    """Return a page that draws a graph: one file that loads nothing, so that it can be sent and kept."""
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
    return _shipped("view.html").replace(_DRAWING_PLACE, graph_drawing()).replace(_PLACE, text)


def graph_drawing() -> str:
    """Return the script that draws a graph on a page's canvas: `graphDrawing(canvas, nodes, links)`."""
    return _shipped("drawing.js")


def _shipped(name: str) -> str:
    return files("react_mem.memory.graph").joinpath(name).read_text(encoding="utf-8")
