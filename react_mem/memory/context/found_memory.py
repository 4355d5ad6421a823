"""A memory that was found, as it may be shown in a prompt."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property

from react_mem.memory.context.briefing_parts import part_of
from react_mem.memory.context.lines import MAX_LINE_CHARS, render_beside, render_line, said_and_shown
from react_mem.memory.language.indexed_words import index_terms
from react_mem.memory.language.text import normalise
from react_mem.memory.model.interface import Fragment, MemoryResultItem
from react_mem.memory.model.kinds import origin_of
from react_mem.memory.model.origins import Origin

_WORD = re.compile(r"\w+")


class FoundMemory:
    """A memory that was found: read and put into words once, however often it is chosen.

    Args:
        item: The memory.
        times: Whether the time of day is shown with the date.
    """

    def __init__(self, item: MemoryResultItem, *, times: bool = False) -> None:
        self.item = item
        self.part = part_of(item)
        """Part of the briefing in which it stands."""
        self._times = times
        # of a long text, the part that matched
        own = next((part.content for part in item.fragments if part.id == item.id), None)
        said, shown = said_and_shown(item.payload, str(item.payload.get("text", "")) if own is None else own)
        self.text, self._quoted = said or shown, not said and bool(shown)
        """Text that it shows."""
        self.key = normalise(self.text)
        """The same in one form."""
        self.about = normalise(str(item.payload.get("about") or ""))
        """Person or thing that it is about, in one form; empty where none is named, as of a message."""
        self._beside = [("", *_told("quoted", shown))] if said and shown else []
        self._beside += [(part.id, *_as_said(part)) for part in item.fragments if part.id != item.id]
        self._line: str | None = None
        self._sources = 0

    @property
    def linked(self) -> list[str]:
        """Lines of what it is linked with."""
        return [render_beside(part.role, part.content) for part in self.item.linked]

    @cached_property
    def is_own(self) -> bool:
        """True for what is in the user's own words."""
        return not self._quoted and origin_of(self.item.payload) is Origin.USER

    @cached_property
    def terms(self) -> frozenset[str]:
        """Terms of what it shows."""
        return frozenset(index_terms(self.text[:MAX_LINE_CHARS]))

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of what it shows, as they are written."""
        return frozenset(_WORD.findall(self.key))

    @property
    def partners(self) -> list[str]:
        """The texts that were said beside it, in one form."""
        return [key for id_, key, _ in self._beside if id_ and key]

    @property
    def line(self) -> str:
        """Its line."""
        if self._line is None:
            self._line = self.cut(MAX_LINE_CHARS)
        return self._line

    def stands_for(self, messages: int) -> None:
        """Note how many messages it was found in the place of, which its line tells."""
        if messages != self._sources:
            self._sources, self._line = messages, None

    def cut(self, limit: int) -> str:
        """Return its line with so many characters of the text, at most."""
        item = self.item
        return render_line(
            item.payload,
            self.text,
            limit,
            kind=item.source,
            doubts=item.doubts,
            times=self._times,
            quoted=self._quoted,
            messages=self._sources,
        )

    def beside(self, ids: Collection[str], known: Collection[str]) -> dict[str, str]:
        """Return the lines of what was said beside it, by what they say in one form.

        Args:
            ids: The memories that may have a line of their own.
            known: What they say.
        """
        return {key: line for id_, key, line in self._beside if id_ not in ids and key and key not in known}


def _as_said(part: Fragment) -> tuple[str, str]:
    """Return what was said beside a memory, what the user only shows of it left out."""
    said, shown = said_and_shown({"role": part.role}, part.content)
    return _told(part.role if said or not shown else "quoted", said or shown)


def _told(role: str, text: str) -> tuple[str, str]:
    """Return what stands below the line of a memory: in one form, and as a line."""
    return normalise(text), render_beside(role, text)
