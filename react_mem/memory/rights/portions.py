"""Portions of what is brought in: as much as one transaction takes, by number and by size.

A transaction is decided and written on the event loop, which takes the longer the more there is to read in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Told = Callable[[int, int | None], None]
"""Is told how many entries are done, and of how many."""

BATCH = 200
"""Entries of one transaction, at most."""

MAX_PORTION = 50_000
"""Characters of one transaction, which hold the event loop for some 15 ms."""

Part = TypeVar("Part")


def nobody_listens(_done: int, _total: int | None) -> None:
    """Tell nobody."""


def portions(
    parts: Iterable[Part], size: Callable[[Part], int], same: Callable[[Part], Hashable] | None = None
) -> Iterator[list[Part]]:
    """Yield some parts at a time, in their order; one that is larger than a portion is a portion by itself.

    Args:
        parts: The parts.
        size: How many characters one has.
        same: What no two of a portion have in common; without, they may have anything.

    >>> [*portions(["a" * 30_000, "b" * 30_000, "c"], len)] == [["a" * 30_000], ["b" * 30_000, "c"]]
    True
    >>> [*portions(["a", "b", "a"], len, str)]
    [['a', 'b'], ['a']]
    """
    portion: list[Part] = []
    chars = 0
    seen: set[Hashable] = set()
    for part in parts:
        more, name = size(part), same(part) if same else None
        if portion and (len(portion) == BATCH or chars + more > MAX_PORTION or name in seen):
            yield portion
            portion, chars = [], 0
            seen.clear()
        portion.append(part)
        chars += more
        if same:
            seen.add(name)
    if portion:
        yield portion
