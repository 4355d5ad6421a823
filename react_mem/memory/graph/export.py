"""A user's graph for other programs: JSON, and a page that draws it.

The text of a memory is untrusted: it is escaped for its destination, and never becomes markup or code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, Literal

from react_mem.memory.graph.links import FOUNDS, STEPS, Direction, Edge, Link, LinkKind, Node
from react_mem.memory.model.kinds import CONCEPT, EPISODE, FACT, SKILL, SUMMARY, title_of

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
