"""The chain of a conversation after a fork: summaries of nothing but the path stay, and what is left waits again."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.records import Message, Summary
from react_mem.memory.summaries.summary_groups import MASTER, MAX_WAITING


def regrown(chain: ContextChain, summaries: Sequence[Summary], messages: Sequence[Message]) -> ContextChain:
    """Return a chain as it is with these summaries and messages, and no others.

    Args:
        chain: The chain as it was.
        summaries: The summaries of the conversation's chain that stand for nothing but what is on its path.
        messages: The messages on its path.
    """
    summed_up = {source for summary in summaries for source in summary.source_ids}
    stand = [_entry(summary) for summary in summaries if summary.id not in summed_up]
    waiting = sorted(
        (m for m in messages if m.text and m.id not in summed_up), key=lambda m: (m.turn, m.created_at, m.id)
    )
    masters = [entry for entry in stand if entry.level == MASTER]
    rest = sorted((entry for entry in stand if entry.level != MASTER), key=lambda entry: entry.first_turn)
    done = sorted((m for m in messages if m.id in summed_up), key=lambda m: (m.turn, m.created_at, m.id))
    begun = chain.model_copy(
        update={
            "entries": (*masters, *rest),
            "latest": tuple(message.id for message in done),
            "behind": len(waiting) > MAX_WAITING,
        }
    )
    return begun.append(waiting[:MAX_WAITING])


def _entry(summary: Summary) -> ChainEntry:
    return ChainEntry(
        id=summary.id,
        level=summary.level,
        text=summary.text,
        at=summary.created_at,
        first_turn=summary.first_turn or 0,
        last_turn=summary.last_turn or 0,
        covers=max(summary.covers, 1),
        origin=summary.origin,
    )
