"""The order in which memories are listed: what is known before what was said, and questions last."""

from __future__ import annotations

from react_mem.memory.index.over import is_over
from react_mem.memory.language.statements import is_question
from react_mem.memory.model.interface import MemoryResultItem
from react_mem.memory.model.records import now

BOOKKEEPING = {"chain", "concept", "conversation", "experience", "outcome", "pending", "state", "summarization"}
"""Kinds that memory writes for itself; a list shows them where their scope is named."""

_ORDER = ("fact", "profile", "knowledge", "skill", "task", "document", "episode", "message", "summary")


def rank(item: MemoryResultItem) -> tuple[int, int]:
    """Return where a memory stands in a list, within which the order stays: facts first, questions last."""
    payload = item.payload
    past = payload.get("current") is False or is_over(payload, now())
    asks = item.source == "message" and (payload.get("role") != "user" or is_question(str(payload.get("text", ""))))
    place = _ORDER.index(item.source) if item.source in _ORDER else len(_ORDER)
    return (place, 1) if past or asks else (place, 0)
