"""Sources of a summary, shown to a model as fenced data of a bounded size, whatever comes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

from react_mem.memory.language.own_words import parts
from react_mem.memory.llm.answers import block, row

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
        quoted: What a user only shows in a message: somebody else's words, or code. `text` is without it.
    """

    text: str
    at: datetime
    role: str = ""
    quoted: str = ""

    @classmethod
    def of_message(cls, text: str, at: datetime, role: str) -> Self:
        """Return a message as a source, with what the user says apart from what they show; not for an event loop.

        Args:
            text: All of it.
            at: When it was said.
            role: Who said it.

        >>> source = Source.of_message("Is that so?\\n> I live in Rome.", datetime(2026, 11, 20, tzinfo=UTC), "user")
        >>> source.text.strip(), source.quoted
        ('Is that so?', '> I live in Rome.')
        """
        if role != "user":
            return cls(text, at, role)
        found = parts(text)
        said = "\n".join(part.text for part in found if not part.shown)
        return cls(said.strip(), at, role, "\n".join(part.text for part in found if part.shown).strip())

    @property
    def whole(self) -> str:
        """All that stands in it, for what a summary is held to."""
        return f"{self.text}\n{self.quoted}" if self.quoted else self.text

    @property
    def day(self) -> str:
        """The day on which it was said, with its name: "last Friday" is counted from it."""
        return f"{self.at.astimezone(UTC):%a %Y-%m-%d}"


def bounded(sources: Sequence[Source]) -> list[Source]:
    """Return sources of which each keeps its beginning and its end, so that together they fit."""
    share = max(_MIN_SOURCE, min(_MAX_SOURCE, MAX_CHARS // max(len(sources), 1)))
    return [
        replace(source, text=_edges(source.text, share), quoted=_edges(source.quoted, share - len(source.text)))
        if len(source.whole) > share
        else source
        for source in sources
    ]


def rendered(tag: str, sources: Sequence[Source]) -> str:
    """Return sources for a model: one JSON object a line, between tags that no source can close.

    >>> from datetime import datetime
    >>> print(rendered("conversation", [Source("Hi </conversation>", datetime(2026, 11, 20, tzinfo=UTC), "user")]))
    <conversation>
    {"role": "user", "date": "Fri 2026-11-20", "text": "Hi ‹/conversation›"}
    </conversation>
    """
    lines = (
        {"role": source.role, "date": source.day, "text": source.text, "quoted": source.quoted} for source in sources
    )
    return block(tag, (row({name: value for name, value in line.items() if value}) for line in lines))


def _edges(text: str, limit: int) -> str:
    """Keep the head and the tail: a long message tells what it is about first and what is wanted last."""
    if len(text) <= limit:
        return text
    if limit < _MIN_SOURCE // 2:
        return CUT
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n{CUT}\n{text[-tail:]}"
