"""Summaries of what precedes the messages shown word for word, under a token budget."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from react_mem.memory.context.lines import SUMMARY_ID, render_message
from react_mem.memory.llm.fencing import flat
from react_mem.memory.llm.tokens import count_lines
from react_mem.memory.model.chain import ChainEntry, ContextChain
from react_mem.memory.model.interface import MemoryResultItem
from react_mem.memory.model.kinds import CHAIN
from react_mem.memory.model.origins import LABELS

_MAX_CHARS = 4_000
"""The longest summary there may be, `SummarySettings.summary_length`."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SummaryBlock:
    """The part of a chain that fits, rendered.

    Args:
        text: One summary a line, the oldest first; empty where there is none.
        ids: The records in it.
        dropped: How many did not fit.
    """

    text: str = ""
    ids: frozenset[str] = frozenset()
    dropped: int = 0


def chain_of(results: Sequence[MemoryResultItem], session_id: str) -> tuple[ContextChain | None, str]:
    """Return the chain of a conversation among what was read, and why it cannot be read where it is there.

    Args:
        results: What `Memory.read` returned; where the database is down, perhaps of another conversation.
        session_id: The conversation.
    """
    chains = (item.payload for item in results if item.source == CHAIN.name)
    value = next((payload for payload in chains if payload.get("session_id") == session_id), None)
    if value is None:
        return None, ""
    try:
        return ContextChain.from_value(value), ""
    except ValidationError as error:
        # of a later version, perhaps: the turn goes on without
        fields = ", ".join(sorted({str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}))
        log.warning("the summaries of a conversation cannot be read: %s are not as expected", fields)
        return None, f"cannot be read: {fields} are not as expected"


def render_summaries(entries: Sequence[ChainEntry], max_tokens: int) -> SummaryBlock:
    """Render what stands for the earlier part of a conversation.

    Where not all of it fits, what stands for the fewest messages goes first, the oldest of it before the newer.

    Args:
        entries: Summaries and messages of a chain, the oldest first.
        max_tokens: The budget, in tokens.

    Returns:
        The block.
    """
    lines = [_line(entry) for entry in entries]
    kept: set[int] = set()
    for place in sorted(range(len(entries)), key=lambda place: (-entries[place].covers, -place)):
        if (cost := count_lines(lines[place])) > max_tokens:
            break
        kept.add(place)
        max_tokens -= cost
    text = "\n".join(lines[place] for place in sorted(kept))
    return SummaryBlock(text, frozenset(entries[place].id for place in kept), len(entries) - len(kept))


def _line(entry: ChainEntry) -> str:
    date = entry.at.date().isoformat()
    if entry.is_message:
        payload = entry.model_dump(mode="json") | {"created_at": entry.at.isoformat()}
        return render_message(payload, entry.text, _MAX_CHARS)
    level = "master" if entry.level == "master" else f"level {entry.level}"
    messages = f"{entry.covers} message" + ("s" if entry.covers > 1 else "")
    head = f"summary {entry.id[:SUMMARY_ID]} until {date}, {level}, {messages}"
    return f"- [{head}] {LABELS[entry.origin]}{flat(entry.text, _MAX_CHARS)}"
