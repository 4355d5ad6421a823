"""Prompt of a turn: the question, memories, web pages and the conversation, in one window."""

from react_mem.memory.context.assembly import Assembled, assemble
from react_mem.memory.context.conversation import squeezed_text
from react_mem.memory.context.frame import Frame
from react_mem.memory.context.layout import Layout, lay_out
from react_mem.memory.context.lines import (
    MAX_LINE_CHARS,
    MAX_PARTNER_CHARS,
    labelled,
    profile_lines,
    render_line,
    render_message,
)
from react_mem.memory.context.memories import MemoryBlock, render_memories
from react_mem.memory.llm.budget import Section, Window
from react_mem.memory.llm.fencing import fence, flat
from react_mem.memory.llm.tokens import count_tokens, tool_tokens

__all__ = [
    "MAX_LINE_CHARS",
    "MAX_PARTNER_CHARS",
    "Assembled",
    "Frame",
    "Layout",
    "MemoryBlock",
    "Section",
    "Window",
    "assemble",
    "count_tokens",
    "fence",
    "flat",
    "labelled",
    "lay_out",
    "profile_lines",
    "render_line",
    "render_memories",
    "render_message",
    "squeezed_text",
    "tool_tokens",
]
