"""Memories and links in words: what a node is called, and why two of them belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from react_mem.memory.graph.documents import Direction
from react_mem.memory.graph.links import LinkKind

MAX_NAME = 120
"""Characters of a name: a line of a list, or of what appears under the pointer."""

_NAMED_BY = ("milestone_title", "title", "name", "goal", "text", "tool")
"""Fields that say in short what a record is, the shorter first."""

_REASONS = {
    LinkKind.SUPPORT: ("comes from", "supports"),
    LinkKind.SUMMARIZATION: ("sums up", "is summed up in"),
    LinkKind.MILESTONE: ("was reached through", "led to"),
    LinkKind.DEPENDENCY: ("depends on", "is needed for"),
    LinkKind.TIMELINE: ("was followed by", "followed on"),
    LinkKind.SEMANTIC: ("is like", "is like"),
}


def name_of(value: Mapping[str, Any]) -> str:
    """Return what a record is called, on one line.

    >>> name_of({"kind": "episode", "goal": "Plan  the\\ntrip", "text": "Plan the trip. Booked."})
    'Plan the trip'
    """
    said = next((str(value[name]) for name in _NAMED_BY if value.get(name)), str(value.get("kind", "")))
    line = " ".join(said.split())
    return line if len(line) <= MAX_NAME else f"{line[: MAX_NAME - 1]}…"


def reason(kind: LinkKind, direction: Direction) -> str:
    """Return in words how one memory is linked with another.

    >>> reason(LinkKind.SUMMARIZATION, Direction.IN)
    'is summed up in'
    """
    out, in_ = _REASONS[kind]
    return in_ if direction is Direction.IN else out
