"""The order in which memories are listed: what is known before what was said, and questions last."""

from __future__ import annotations

from react_mem.memory import MemoryResultItem
from react_mem.memory.context import is_over
from react_mem.memory.language import is_question
from react_mem.memory.runtime import KINDS, MESSAGE, now


def rank(item: MemoryResultItem) -> tuple[int, int]:
    """Return where a memory stands in a list, within which the order stays: facts first, questions last."""
    payload = item.payload
    past = payload.get("current") is False or is_over(payload, now())
    asks = MESSAGE.matches(payload) and (payload.get("role") != "user" or is_question(str(payload.get("text", ""))))
    place = [*KINDS].index(item.source) if item.source in KINDS and KINDS[item.source].listed else len(KINDS)
    return (place, 1) if past or asks else (place, 0)
