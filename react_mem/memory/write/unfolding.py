"""Expansion of a summary into its sources, level by level, down to the messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import MESSAGE, SUMMARY
from react_mem.memory.model.records import Message, Summary
from react_mem.memory.write.chain_upkeep import load_chain

MIN_PREFIX = 6
"""Characters of an id that tell the dozen summaries of one chain apart."""

_MAX_DEPTH = 12
"""Most levels, messages and master included, and one to spare."""


@dataclass(frozen=True)
class Unfolded:
    """Summary or message, with its sources.

    Args:
        parts: Its sources, in the order of the conversation; a message has none.
        missing: The ids of deleted sources.
    """

    record: Summary | Message
    parts: tuple[Unfolded, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def messages(self) -> list[Message]:
        """All messages below, in the order of the conversation."""
        if isinstance(self.record, Message):
            return [self.record]
        return [message for part in self.parts for message in part.messages]


async def unfold(memory: MemoryFacade, user_id: str, summary_id: str) -> Unfolded | None:
    """Return a summary as a tree of its sources, with one round trip a level; None if the owner has no such summary."""
    found: dict[str, dict[str, Any]] = {}
    wanted = {summary_id}
    for _ in range(_MAX_DEPTH):
        level = await memory.records(user_id, MemoryScope.DIALOG, wanted)
        found |= level
        below = (id_ for value in level.values() if SUMMARY.matches(value) for id_ in value["source_ids"])
        wanted = set(below) - found.keys()
        if not wanted:
            break
    if not SUMMARY.matches(found.get(summary_id, {})):
        return None
    return _tree(found[summary_id], found, set())


async def find_summary(memory: MemoryFacade, user_id: str, session_id: str, name: str) -> str | None:
    """Return the id of a summary by its id or prefix: in a conversation's chain, else in any.

    Args:
        name: The id, or at least its first six characters.
    """
    chain = await load_chain(memory, user_id, session_id)
    entries = [entry.id for entry in chain.entries if not entry.is_message] if chain else []
    matching = [id_ for id_ in entries if len(name) >= MIN_PREFIX and id_.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    known = await memory.records(user_id, MemoryScope.DIALOG, [name])
    if SUMMARY.matches(known.get(name, {})):
        return name
    if len(name) < MIN_PREFIX:
        return None
    # of another conversation, as memory found it
    summaries = await memory.dialog.every(user_id, kind=SUMMARY.name)
    named = [str(value["id"]) for value in summaries if str(value["id"]).startswith(name)]
    return named[0] if len(named) == 1 else None


def _tree(value: dict[str, Any], found: Mapping[str, dict[str, Any]], seen: set[str]) -> Unfolded:
    seen.add(value["id"])
    if MESSAGE.matches(value):
        return Unfolded(Message.from_value(value))
    parts: list[Unfolded] = []
    missing: list[str] = []
    for id_ in value["source_ids"]:
        # each once: what somebody has forged may name a part twice, or itself
        if id_ in found and id_ not in seen:
            parts.append(_tree(found[id_], found, seen))
        elif id_ not in found:
            missing.append(id_)
    return Unfolded(Summary.from_value(value), tuple(parts), tuple(missing))
