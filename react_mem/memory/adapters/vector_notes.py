"""Notes of items that a vector store has yet to index: written with each item, deleted once it is indexed.

A crash or an outage in between leaves the note, and the next search or write catches up.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.adapters.vector_index import Namespace, VectorEntry, VectorIndex
from react_mem.memory.llm.causes import cause_of

NOTES = "vector_index"
"""Namespace of the notes; the item's namespace follows."""

KNOWN = "vector_index_known"
"""Namespace of the marks of vector stores that have been backfilled."""

FIELDS = ("text",)
"""Fields that are searched of an item unless its write says otherwise."""

PAGE = 500
WHOLE = 10_000_000
_TRIES = 3
"""Retries for an item that changes while it is indexed; then its note waits for the next run."""

log = logging.getLogger(__name__)

Place = tuple[Namespace, str]


def is_note(namespace: Namespace) -> bool:
    """Return true if a namespace belongs to the vector store's bookkeeping."""
    return namespace[:1] in ((NOTES,), (KNOWN,))


class VectorNotes:
    """Notes of items that a vector store has yet to index.

    Args:
        inner: The store of the records and the notes.
        index: The vector store.
        covers: Returns true if a namespace is searched in the vector store.
    """

    def __init__(self, inner: BaseStore, index: VectorIndex, covers: Callable[[Namespace], bool]) -> None:
        self._inner = inner
        self._index = index
        self._covers = covers

    def noted(self, puts: Sequence[PutOp]) -> dict[Place, PutOp]:
        """Return a note for each item to index; of an item that is put twice, the last."""
        noted: dict[Place, PutOp] = {}
        for put in puts:
            if self._covers(put.namespace):
                wanted = FIELDS if put.index is None else put.index or ()
                fields = [] if put.value is None else list(wanted)
                value = {"fields": fields, "stamp": uuid.uuid4().hex}
                noted[put.namespace, put.key] = PutOp((NOTES, *put.namespace), put.key, value, index=False)
        return noted

    async def follow(self, noted: Mapping[Place, PutOp]) -> dict[Place, str]:
        """Index noted items, and return the failed ones, still noted, with the cause."""
        notes = {place: dict(note.value or {}) for place, note in noted.items()}
        if not notes:
            return {}
        try:
            left = await self.settle({place: note["fields"] for place, note in notes.items()})
        except Exception as error:
            cause = cause_of(error)
            log.warning("the vector store does not follow, %d items wait for it: %s", len(notes), cause)
            return dict.fromkeys(notes, cause)
        done = [place for place in notes if place not in left]
        found = await self._inner.abatch([GetOp((NOTES, *space), key, refresh_ttl=False) for space, key in done])
        # one that was noted anew meanwhile is somebody else's to finish
        over = [
            place
            for place, item in zip(done, cast("list[Item | None]", found), strict=True)
            if item is not None and item.value.get("stamp") == notes[place].get("stamp")
        ]
        await self._inner.abatch([PutOp((NOTES, *space), key, None) for space, key in over])
        return dict.fromkeys(left, "it changes all the time")

    async def settle(self, fields: Mapping[Place, Sequence[str]]) -> set[Place]:
        """Index items until the store has the indexed values, and return the places that keep changing."""
        left = dict(fields)
        for _ in range(_TRIES):
            before = await self._values(left)
            await self._index.replace(
                [VectorEntry(space, key, before[space, key], paths) for (space, key), paths in left.items()]
            )
            # another process may have changed one in between, and have been faster
            after = await self._values(left)
            left = {place: paths for place, paths in left.items() if before[place] != after[place]}
            if not left:
                break
        return set(left)

    async def _values(self, places: Iterable[Place]) -> dict[Place, Mapping[str, Any] | None]:
        wanted = list(places)
        found = await self._inner.abatch([GetOp(space, key, refresh_ttl=False) for space, key in wanted])
        items = cast("list[Item | None]", found)
        return {place: item.value if item else None for place, item in zip(wanted, items, strict=True)}

    async def catch_up(self, prefix: Namespace) -> dict[Place, str]:
        """Index the noted items below a prefix, and return the failed ones with the cause."""
        left: dict[Place, str] = {}
        waiting = await self._inner.asearch(prefix, limit=WHOLE, refresh_ttl=False)
        for start in range(0, len(waiting), PAGE):
            page = waiting[start : start + PAGE]
            notes = {(item.namespace[1:], item.key): PutOp(item.namespace, item.key, item.value) for item in page}
            left |= await self.follow(notes)
        return left
