"""Memories and links in words: what a node is called, and why two of them belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from react_mem.memory.graph.derived import FOUNDS, STEPS, Direction, Edge
from react_mem.memory.graph.links import LinkKind, Node
from react_mem.memory.model.kinds import CONCEPT, EPISODE, FACT, SKILL, SUMMARY, title_of

MAX_NAME = 120
"""Characters of a name: a line of a list, or of what appears under the pointer."""

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
"""Meaning of a support link, by the kinds of its two memories."""

_SUMMED_UP = {
    (SUMMARY.name, EPISODE.name): ("tells of", "is told of in"),
    (SUMMARY.name, FACT.name): ("keeps the preference", "is a preference kept in"),
}
"""Meaning of a link of a summary with what it stands for beside its sources."""

_REPLACED = ("was replaced by", "replaced")


def name_of(value: Mapping[str, Any]) -> str:
    """Return what a record is called, on one line.

    >>> name_of({"kind": "episode", "goal": "Plan  the\\ntrip", "text": "Plan the trip. Booked."})
    'Plan the trip'
    """
    line = " ".join(str(title_of(value) or value.get("kind", "")).split())
    return line if len(line) <= MAX_NAME else f"{line[: MAX_NAME - 1]}…"


def reason(source: Node, edge: Edge, target: Node) -> str:
    """Return in words how one memory is linked with another.

    Args:
        source: The one.
        edge: The link, as it sees it.
        target: The other.

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
