"""Work that a worker knows of without asking its store: what this process wrote, and what a look found to be due.

However much that is, finding what is next takes no longer. Owners are served in turn, each with what of theirs has
been due longest: one with many conversations keeps nobody waiting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush

from react_mem.memory.maintenance.queue import Held
from react_mem.memory.work.items import Place

_SPARE = 100
"""Entries beyond twice those that count, before all are put in order anew."""


class KnownWork:
    """Items of work as they were last seen; another process may have changed them since."""

    def __init__(self) -> None:
        self._items: dict[Place, Held] = {}
        # what is dropped or put off stays in both until it is come to
        self._later: list[tuple[int, Place]] = []
        self._due: dict[str, list[tuple[int, Place]]] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._items)

    def places(self) -> Iterable[Place]:
        """Return where they are."""
        return self._items.keys()

    def add(self, held: Held) -> None:
        """Keep an item, in place of what it was before."""
        before, self._items[held.place] = self._items.get(held.place), held
        if before is not None and before.work.due_at == held.work.due_at:
            return  # it is in its place already, however often it is found
        if len(self._later) > 2 * len(self._items) + _SPARE:
            # every turn puts the work of its conversation off
            self._later = [(one.work.due_at, place) for place, one in self._items.items()]
            self._due.clear()
            heapify(self._later)
        else:
            heappush(self._later, (held.work.due_at, held.place))

    def drop(self, place: Place) -> None:
        """Keep an item no longer: it is being done, done, or somebody else's."""
        self._items.pop(place, None)

    def get(self, place: Place) -> Held | None:
        """Return an item; None for one that nobody told of."""
        return self._items.get(place)

    def next(self, at: int, without: Collection[str]) -> Held | None:
        """Return what is to be begun next, which stays until it is dropped; its owner is served last from now on.

        Args:
            at: Now, in milliseconds since 1970.
            without: The owners who have to wait.

        Returns:
            The item; None where nothing is due of anybody else.
        """
        while self._later and self._later[0][0] <= at:
            due_at, place = heappop(self._later)
            if self._is_there(due_at, place):
                heappush(self._due.setdefault(self._items[place].user_id, []), (due_at, place))
        while (owner := next((one for one in self._due if one not in without), None)) is not None:
            waiting = self._due.pop(owner)
            while waiting and not self._is_there(*waiting[0]):
                heappop(waiting)
            if waiting:
                self._due[owner] = waiting
                return self._items[waiting[0][1]]
        return None

    def next_due(self) -> int | None:
        """Return when the next item is due that was not yet when somebody last asked; None where there is none."""
        while self._later and not self._is_there(*self._later[0]):
            heappop(self._later)
        return self._later[0][0] if self._later else None

    def _is_there(self, due_at: int, place: Place) -> bool:
        held = self._items.get(place)
        return held is not None and held.work.due_at == due_at
