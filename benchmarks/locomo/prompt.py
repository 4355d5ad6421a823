"""Prompt of a question: which turns stand in it, in a line of their own or beside another, and what that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import HumanMessage

from benchmarks.locomo.metrics import Prompt
from react_mem.memory.context import MAX_PARTNER_CHARS, Frame, Window, assemble, count_tokens, flat
from react_mem.memory.context.lines import said_and_shown
from react_mem.memory.llm.budget import ASSUMED_WINDOW
from react_mem.memory.model.interface import Fragment, MemoryResultItem
from react_mem.memory.model.policy import MemoryPolicy

ASKED_IN = "another conversation"

_ENOUGH = 40
"""Characters by which a text is known in the prompt: it is shown from its beginning, though not to its end."""


def prompt_of(question: str, results: Sequence[MemoryResultItem], turn_of: Callable[[str], str | None]) -> Prompt:
    """Put a prompt together, and look which turns a line of it stands for.

    A line of a memory stands for each of its fragments that it shows: of a long text, a part will do. So does a line of
    an outline for the question and for the answer of whose beginnings it shows some words.

    Args:
        question: What the user asks.
        results: What was read for it.
        turn_of: Returns the turn that a record is; None for one that is no turn.
    """
    assembled = assemble(frame_of(question), results, session_id=ASKED_IN, recalls=True)
    text = assembled.layout["retrieved"]
    items = assembled.memories.items
    shown = {item.id for item in items}
    parts = [*(part for item in items for part in item.fragments), *assembled.outline.parts]
    shown |= {part.id for part in parts if _stands_in(part, text)}
    return Prompt(frozenset(filter(None, map(turn_of, shown))), count_tokens(text))


def _stands_in(part: Fragment, text: str) -> bool:
    said, quoted = said_and_shown({"role": part.role}, part.content)
    begin = flat(said or quoted, MAX_PARTNER_CHARS).removesuffix("…")[:_ENOUGH]
    return bool(begin) and begin in text


def frame_of(question: str) -> Frame:
    """Return the frame of a conversation's first turn, under the default policy, for a model nothing is known of."""
    return Frame([HumanMessage(question, id="question")], MemoryPolicy(), Window(ASSUMED_WINDOW, known=False))
