"""Parts of the briefing, the section of the prompt with memories, in their order, each under a heading.

A line of a memory begins with a dash, and one below it with a space: no text can pass for a heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar

from react_mem.memory.llm.budget import count_lines
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import DOCUMENT, MESSAGE
from react_mem.prompts import load_prompt


class BriefingPart(StrEnum):
    """A part of the briefing, in the order of the prompt; the headings are in `prompts/memory_parts.md`."""

    INSTRUCTIONS = "instructions"
    PROFILE = "profile"
    FACTS = "facts"
    DOCUMENTS = "documents"
    SAID = "said"
    EARLIER = "earlier"
    SKILLS = "skills"
    OUTLINE = "outline"


class BriefingEntry(NamedTuple):
    """A memory in the prompt: its part of the briefing, and its line with the lines below it."""

    part: BriefingPart
    text: str


def _headings() -> Mapping[BriefingPart, str]:
    rows = (line.partition(":") for line in load_prompt("memory_parts").splitlines())
    return {BriefingPart(name): f"# {heading.strip()}" for name, _, heading in rows}


HEADINGS = _headings()

HEADING_TOKENS = {part: count_lines(heading) for part, heading in HEADINGS.items()}

_ORDER = {part: place for place, part in enumerate(BriefingPart)}

_PARTS = {
    MemoryScope.PROFILE: BriefingPart.PROFILE,
    MemoryScope.DIALOG: BriefingPart.EARLIER,
    MemoryScope.EPISODIC: BriefingPart.EARLIER,
    MemoryScope.PROCEDURAL: BriefingPart.SKILLS,
}

_PARTS_BY_KIND = {
    DOCUMENT.name: BriefingPart.DOCUMENTS,
    MESSAGE.name: BriefingPart.SAID,
}


def part_of(item: MemoryResultItem) -> BriefingPart:
    """Return the part of a memory; a memory of a custom scope stands with the facts."""
    return _PARTS_BY_KIND.get(item.source) or _PARTS.get(item.scope, BriefingPart.FACTS)


def briefing(entries: Iterable[BriefingEntry]) -> str:
    """Return entries in parts, each under its heading and in its order: of each part the most relevant last."""
    ordered = sorted(entries, key=lambda entry: _ORDER[entry.part])
    parts = groupby(ordered, key=lambda entry: entry.part)
    return "\n".join("\n".join([HEADINGS[part], *(entry.text for entry in among)]) for part, among in parts)


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class PromptBlock(Generic[_Item]):
    """Rendered section of the prompt.

    Args:
        text: One list, the most relevant last, as a search tool returns it; empty where there is none.
        items: What stands in it, the most relevant first.
        dropped: How many did not fit.
        entries: The lines of memories by their parts, the most relevant last.
    """

    text: str = ""
    items: Sequence[_Item] = ()
    dropped: int = 0
    entries: Sequence[BriefingEntry] = ()

    @classmethod
    def of(cls, entries: Sequence[BriefingEntry], items: Sequence[_Item], dropped: int) -> PromptBlock[_Item]:
        return cls("\n".join(entry.text for entry in entries), items, dropped, entries)

    def __add__(self, other: PromptBlock[_Item]) -> PromptBlock[_Item]:
        """Return both, this one first."""
        entries = [*self.entries, *other.entries]
        return self.of(entries, [*self.items, *other.items], self.dropped + other.dropped)

    @property
    def briefing(self) -> str:
        """The same in parts under headings, as the prompt has it; empty where there is none."""
        return briefing(self.entries)
