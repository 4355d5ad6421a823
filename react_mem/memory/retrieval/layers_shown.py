"""Layers of memory that a request goes to: they show all that was found in them, the others only their best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from react_mem.memory.model.interface import MemoryResultItem, MemoryScope

BESIDE = 2
"""Memories that a layer shows which a request does not ask for: never none, since the choice may be wrong."""


def shown_of(results: Sequence[MemoryResultItem], layers: Collection[str]) -> list[MemoryResultItem]:
    """Return what is shown of what was found: of the profile all.

    Args:
        results: What was found, of each scope the most relevant first.
        layers: The scopes that the request asks for; none for all of them alike.
    """
    if not layers:
        return list(results)
    asked_for = {*layers, MemoryScope.PROFILE}
    counts: Counter[MemoryScope] = Counter()
    shown = []
    for item in results:
        counts[item.scope] += 1
        if item.scope in asked_for or counts[item.scope] <= BESIDE:
            shown.append(item)
    return shown
