"""Standing instructions and preferences of the user, as the prompt shows them."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.context.briefing_parts import HEADING_TOKENS, BriefingEntry, BriefingPart
from react_mem.memory.context.lines import render_line
from react_mem.memory.context.memories import MemoryBlock
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.tokens import LineTokens
from react_mem.memory.model.interface import MemoryResultItem
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.retrieval.instructions import INSTRUCTION

_MAX_CHARS = 160
_SHARE = 6
"""A sixth of the room of memories is what they take at most."""

_SAYS_MORE = 1.5
"""Length of a message, in that of its instruction, up to which it says nothing else."""


def render_instructions(results: Sequence[MemoryResultItem], room: int, counts: LineTokens) -> MemoryBlock:
    """Render what the user wants from now on, word for word.

    Args:
        results: What `Memory.read` returned.
        room: The tokens that memories have.
        counts: What lines take.
    """
    found = [item for item in results if item.source == INSTRUCTION]
    left = room // _SHARE - HEADING_TOKENS[BriefingPart.INSTRUCTIONS]
    entries: list[BriefingEntry] = []
    items: list[MemoryResultItem] = []
    for item in found:
        line = render_line(item.payload, item.fragments[0].content, _MAX_CHARS, kind=MESSAGE.name)
        if counts[line] <= left:
            left -= counts[line]
            entries.append(BriefingEntry(BriefingPart.INSTRUCTIONS, line))
            items.append(item)
    return MemoryBlock(entries, items, len(found) - len(items))


def told_by(instructions: Sequence[MemoryResultItem]) -> frozenset[str]:
    """Return the messages that say nothing besides: they need no line of their own.

    Args:
        instructions: What is shown.
    """
    return frozenset(
        item.id
        for item in instructions
        if len(normalise(str(item.payload.get("text", "")))) <= _SAYS_MORE * len(normalise(item.fragments[0].content))
    )
