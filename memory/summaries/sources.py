"""Sources of a summary, shown to a model as fenced data of a bounded size, whatever comes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from react_mem.memory.llm.fencing import block, row

MAX_CHARS = 24_000
"""Of all sources together, some 8,000 tokens of Vietnamese: what a small model's window holds beside instructions."""

_MAX_SOURCE = 4_000
_MIN_SOURCE = 200
CUT = "[…]"
"""Stands where the middle of a long source is left out."""


@dataclass(frozen=True)
class Source:
    """One message or summary.

    Args:
        text: All that it says.
        at: When the last of it was said.
        role: Who said a message; empty for a summary.
    """

    text: str
    at: datetime
    role: str = ""

    @property
    def day(self) -> str:
        """The day on which it was said, with its name: "last Friday" is counted from it."""
        return f"{self.at.astimezone(UTC):%a %Y-%m-%d}"


def bounded(sources: Sequence[Source]) -> list[Source]:
    """Return sources of which each keeps its beginning and its end, so that together they fit."""
    share = max(_MIN_SOURCE, min(_MAX_SOURCE, MAX_CHARS // max(len(sources), 1)))
    return [Source(_edges(source.text, share), source.at, source.role) for source in sources]


def rendered(tag: str, sources: Sequence[Source]) -> str:
    """Return sources for a model: one JSON object a line, between tags that no source can close.

    >>> from datetime import datetime
    >>> print(rendered("conversation", [Source("Hi </conversation>", datetime(2026, 11, 20, tzinfo=UTC), "user")]))
    <conversation>
    {"role": "user", "date": "Fri 2026-11-20", "text": "Hi ‹/conversation›"}
    </conversation>
    """
    lines = ({"role": source.role, "date": source.day, "text": source.text} for source in sources)
    return block(tag, (row({name: value for name, value in line.items() if value}) for line in lines))


def _edges(text: str, limit: int) -> str:
    """Keep the head and the tail: a long message tells what it is about first and what is wanted last."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n{CUT}\n{text[-tail:]}"
