"""Words, places and times of what a store keeps that has no index of them: made of its items, and kept in the process.

Such a store is listed: what has been written since the last time comes first from one that lists the latest first, and
everything is read again from time to time, since nothing tells what has gone. Who shows what the index finds therefore
reads it first.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import cast

import numpy as np
from langgraph.store.base import BaseStore, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.index.entries import Entry, term_number
from react_mem.memory.index.segments import NO_PLACE, NO_TIME, TextColumns
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.index.weights import microseconds
from react_mem.memory.model.kinds import kind_of
from react_mem.memory.model.namespaces import Namespace
from react_mem.memory.store.process_state import lock_of
from react_mem.memory.store.stored_text import index_entries

MOST = 10_000
"""Items of a namespace that are read; listing as many takes 20 ms in memory, and reading their words half a second."""

_FIRST = 100
_MORE = 1_000
"""Items of the first page of a list, which every question reads, and of the others."""

_OVERLAP = timedelta(minutes=1)
"""Time that a write may take: until then, one that began earlier may appear behind others."""

_READ_AGAIN = 600.0
"""Seconds after which everything is read again."""

_INLINE = 20
"""Items whose words are read at once, in a millisecond; more, beside the event loop."""

_INLINE_TEXTS = 1_000
"""Texts that are gone through at once for a change, in some milliseconds; more, beside the event loop."""

_BYTES = 64 * 2**20
"""Bytes of all namespaces of a store; beyond them those go that were not asked for longest."""

_BYTES_A_KEY = 200


@dataclass(frozen=True)
class KnownItems:
    """Items of one namespace, as they were when it was listed last.

    Args:
        texts: Their words, places and times.
        written: By key, when each was written.
        read_at: When all were read, by this process's clock.
        cut: Whether there are more, which are not among them.
    """

    texts: IndexedTexts
    written: dict[str, datetime]
    read_at: float
    cut: bool

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, more or less."""
        return self.texts.nbytes + _BYTES_A_KEY * len(self.written)


class ListedItems:
    """Known items of the namespaces of a store."""

    def __init__(self) -> None:
        self._known: OrderedDict[Namespace, KnownItems] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return sum(known.nbytes for known in self._known.values())

    async def follow(self, store: BaseStore, namespace: Namespace, page: Sequence[SearchItem]) -> KnownItems:
        """Return what is known of a namespace with what has been written since.

        Args:
            store: The store.
            namespace: The namespace itself, without those below it.
            page: The answer to `first_page`.
        """
        async with lock_of(namespace, "listed items"):  # who comes second finds what the first has read
            known = self._known.get(namespace)
            if known is not None and time.monotonic() - known.read_at > _READ_AGAIN:
                known = None
            items, whole, cut = await _listed(store, namespace, page, known)
            texts = known.texts if known is not None else None
            written = known.written if known is not None else {}
            own = {item.key: item for item in items if item.namespace == namespace}
            changed = [item for key, item in own.items() if key not in written or item.updated_at > written[key]]
            gone = [key for key in written if key not in own] if whole else []
            if known is None or changed or gone:
                if len(changed) + len(gone) > _INLINE or (texts is not None and len(texts) > _INLINE_TEXTS):
                    texts = await asyncio.to_thread(_updated, texts, changed, gone)
                else:
                    texts = _updated(texts, changed, gone)
                left = written.keys() - set(gone)
                written = {key: at for key, at in written.items() if key in left}
                written |= {item.key: item.updated_at for item in changed}
            assert texts is not None  # noqa: S101 - made where nothing was known
            read_at = time.monotonic() if known is None or whole else known.read_at
            self._keep(namespace, KnownItems(texts, written, read_at, cut))
            return self._known.get(namespace) or KnownItems(texts, written, read_at, cut)

    def _keep(self, namespace: Namespace, known: KnownItems) -> None:
        self._known[namespace] = known
        self._known.move_to_end(namespace)
        while self.nbytes > _BYTES:
            self._known.popitem(last=False)


def first_page(store: BaseStore, namespace: Namespace) -> SearchOp:
    """Return the list of a namespace's items that a question needs: in memory all, elsewhere the latest."""
    return SearchOp(namespace, limit=_first(store), refresh_ttl=False)


def _first(store: BaseStore) -> int:
    return MOST + 1 if isinstance(store, InMemoryStore) else _FIRST


async def _listed(
    store: BaseStore, namespace: Namespace, page: Sequence[SearchItem], known: KnownItems | None
) -> tuple[list[SearchItem], bool, bool]:
    """Return items, whether these are all, and whether there are more than are read."""
    items, size, last = list(page), _first(store), page
    while len(last) == size:
        if len(items) >= MOST:
            return items[:MOST], False, True
        if known is not None and _has_caught_up(items, last, known):
            return items, False, known.cut
        size = _MORE
        op = SearchOp(namespace, limit=size, offset=len(items), refresh_ttl=False)
        [last] = cast("list[list[SearchItem]]", await store.abatch([op]))
        items += last
    if len({(item.namespace, item.key) for item in items}) == len(items):
        return items, True, False
    # not every store keeps its order from page to page: where an item came twice, another one may be missing
    op = SearchOp(namespace, limit=MOST + 1, refresh_ttl=False)
    [items] = cast("list[list[SearchItem]]", await store.abatch([op]))
    return items[:MOST], len(items) <= MOST, len(items) > MOST


def _has_caught_up(items: Sequence[SearchItem], page: Sequence[SearchItem], known: KnownItems) -> bool:
    """Return whether a list that has the latest first has come to what is known."""
    times = [item.updated_at for item in items]
    newest = max(known.written.values(), default=None)
    if newest is None or any(one < other for one, other in pairwise(times)):
        return False
    # many may be written at once: a page of nothing new is enough
    return times[-1] < newest - _OVERLAP or all(known.written.get(item.key) == item.updated_at for item in page)


def _updated(texts: IndexedTexts | None, changed: Sequence[SearchItem], gone: Sequence[str]) -> IndexedTexts:
    """Return an index with what changed. Blocking: some 0.05 ms an item."""
    columns = _columns(changed)
    if texts is None:
        return IndexedTexts.of(columns)
    left_out = {*gone, *(item.key for item in changed)}
    there = ((texts.key(text), texts.field_name(text)) for text in texts.order.tolist())
    left = [(key, field_name) for key, field_name in there if key not in left_out]
    # a text that has been written again may have fewer pieces
    return texts.with_changes(columns, left)


def _columns(items: Sequence[SearchItem]) -> TextColumns:
    entries: list[tuple[str, Entry]] = [
        (item.key, entry)
        for item in items
        for entry in index_entries(item.value, kind_of(item.value).index(item.value))
    ]
    words = [sorted({term_number(term) for term in entry.terms}) for _, entry in entries]
    times = [NO_TIME if entry.said_at is None else microseconds(entry.said_at) for _, entry in entries]
    return TextColumns(
        keys=[key for key, _ in entries],
        field_names=[entry.field_name for _, entry in entries],
        vectors=np.zeros((len(entries), 0), dtype=np.float16),
        embedded=np.zeros(len(entries), dtype=bool),
        places=np.array([NO_PLACE if entry.place is None else entry.place for _, entry in entries], dtype=np.int64),
        said_at=np.array(times, dtype=np.int64),
        lengths=np.array([entry.length for _, entry in entries], dtype=np.float32),
        unread=np.zeros(len(entries), dtype=bool),
        words=np.array([number for numbers in words for number in numbers], dtype=np.int32),
        word_ends=np.cumsum([len(numbers) for numbers in words], dtype=np.int64),
    )
