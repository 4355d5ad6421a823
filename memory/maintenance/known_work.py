"""Work that a worker knows of without asking its store: what this process wrote, and what a look found to be due."""

from __future__ import annotations

from collections.abc import Iterable

from react_mem.memory.maintenance.queue import Held
from react_mem.memory.work.items import Place


class KnownWork:
    """Items of work as they were last seen; another process may have changed them since."""

    def __init__(self) -> None:
        self._items: dict[Place, Held] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._items)

    def places(self) -> Iterable[Place]:
        """Return where they are."""
        return self._items.keys()

    def add(self, held: Held) -> None:
        """Keep an item, in place of what it was before."""
        self._items[held.place] = held

    def drop(self, place: Place) -> None:
        """Keep an item no longer: it is being done, done, or somebody else's."""
        self._items.pop(place, None)

    def get(self, place: Place) -> Held | None:
        """Return an item; None for one that nobody told of."""
        return self._items.get(place)

    def due(self, at: int) -> list[Held]:
        """Return what is due, the longest overdue first.

        Args:
            at: Now, in milliseconds since 1970.
        """
        return sorted((one for one in self._items.values() if one.work.due_at <= at), key=lambda one: one.work.due_at)

    def next_due(self, at: int) -> int | None:
        """Return when the next item is due that is not yet; None where there is none.

        Args:
            at: Now, in milliseconds since 1970.
        """
        return min((one.work.due_at for one in self._items.values() if one.work.due_at > at), default=None)
