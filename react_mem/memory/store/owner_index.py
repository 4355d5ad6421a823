"""Cache of the owners' indexes in a process, updated with the changes since the last read.

A read asks for the owner's revision in its own round trip, and gets the changes since the cached one with the answer
(see `owner_texts`). When the cache exceeds its bytes, the least recently used indexes go.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Container, Coroutine, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from datetime import datetime
from typing import Any, LiteralString
from weakref import WeakSet

import numpy as np
from psycopg.rows import DictRow

from react_mem.memory import telemetry
from react_mem.memory.index.entries import term_number
from react_mem.memory.index.recall import microseconds
from react_mem.memory.index.texts import NO_PLACE, NO_TIME, TextColumns
from react_mem.memory.store.owner_texts import (
    COLUMNS,
    SIZES,
    OwnerTexts,
    bytes_of_a_text,
    changes_statement,
    columns_of,
    is_cut_off,
    is_void,
    too_large,
    updated,
)
from react_mem.memory.store.row_codec import RowCodec
from react_mem.memory.store.row_security import Pool, confined
from react_mem.memory.store.stored_text import entries_of_fields

# Words of texts that LangGraph's own store wrote, which keeps none: read from the items themselves.

_UNREAD: LiteralString = f"""
    SELECT m.dims, {COLUMNS}, json_agg(v.value)::text AS items, json_agg(v.fields)::text AS fields
    FROM memory_embedding m, (
        SELECT v.*, s.value, ARRAY(
            SELECT f.field_name FROM store_vectors f WHERE f.owner = v.owner AND f.prefix = v.prefix AND f.key = v.key
        ) AS fields
        FROM store_vectors v JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
        WHERE v.owner = %s AND v.prefix = %s AND v.key = ANY(%s::text[]) AND v.words IS NULL
    ) v
    GROUP BY m.dims, v.prefix
"""  # noqa: S608 - of literals


_READ_AT_ONCE = 1_000
"""Texts a read, so that progress is cached even while others write."""


def unread_keys(known: OwnerTexts, prefix: str, without: Container[str]) -> list[str]:
    """Return the keys of some items of a namespace with unindexed words, except the keys in `without`."""
    texts = known.namespaces.get(prefix)
    if texts is None or not texts.unread.any():
        return []
    # no further than needed: this runs on the event loop, and again for each part of a namespace of which all is unread
    unread = (texts.key(int(text)) for text in texts.order[texts.unread[texts.order]])
    keys: dict[str, None] = {}
    for key in unread:
        if key not in without:
            keys[key] = None
        if len(keys) == _READ_AT_ONCE:
            break
    return list(keys)


def with_words(known: OwnerTexts, prefix: str, rows: Sequence[DictRow]) -> OwnerTexts:
    """Return an index with the words of unindexed texts. Blocking: some 0.1 ms a text.

    `rows` is the answer to `_UNREAD`, in binary form.
    """
    texts = known.namespaces[prefix]
    for row in rows:  # one, or none where the items have gone
        texts = texts.with_changes(_read(row))
    return replace(known, namespaces={**known.namespaces, prefix: texts})


def _read(row: DictRow) -> TextColumns:
    columns = columns_of(row, row["dims"])
    items, fields = json.loads(row["items"]), json.loads(row["fields"])
    read = [facts_of_text(*text) for text in zip(items, columns.field_names, fields, strict=True)]
    return replace(
        columns,
        places=np.array([NO_PLACE if place is None else place for _, _, place, _ in read]),
        said_at=np.array([NO_TIME if said_at is None else microseconds(said_at) for *_, said_at in read]),
        lengths=np.array([length for _, length, *_ in read], dtype=np.float32),
        unread=np.zeros(len(read), dtype=np.bool_),
        words=np.array([number for numbers, *_ in read for number in numbers], dtype=np.int32),
        word_ends=np.cumsum([len(numbers) for numbers, *_ in read]),
    )


def facts_of_text(
    value: Mapping[str, Any], name: str, names: Sequence[str]
) -> tuple[list[int], int, int | None, datetime | None]:
    """Return the numbers of the words of one text of an item, its length, its place and its time.

    `names` are the field names of all of the item's texts: a long text without pieces among them stands for all pieces.
    """
    found = {entry.field_name: entry for entry in entries_of_fields(value, [name])}
    if any(other.startswith(f"{name}#") for other in names):
        found = {name: found[name]} if name in found else {}
    entries = [entry for other, entry in found.items() if other == name or other.startswith(f"{name}#")]
    words = sorted({term_number(term) for entry in entries for term in entry.terms})
    first = entries[0] if entries else None
    length = sum(entry.length for entry in entries)
    return words, length, first.place if first else None, first.said_at if first else None


_INLINE_BYTES = 250_000
"""Bytes that are indexed at once, in 3 ms; more go to a thread."""

_INLINE_TEXTS = 2_000
"""Texts of an owner up to which changes are applied at once: now and then most of them are copied, 5 ms a thousand."""


class OwnerIndexes:
    """Cache of indexes by owner, least recently used out first, of `max_bytes` in all.

    The database searches the namespaces with more texts than `limit`. It can search no encrypted rows: then every
    namespace is cached.
    """

    def __init__(self, pool: Pool, *, limit: int, max_bytes: int, codec: RowCodec) -> None:
        self._pool = pool
        self._codec = codec
        self._limit = limit
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, OwnerTexts] = OrderedDict()
        self._nbytes = 0
        self._readings: dict[tuple[str, str | None], asyncio.Task[OwnerTexts]] = {}
        _opened.add(self)

    @property
    def nbytes(self) -> int:
        """Bytes of all cached indexes."""
        return self._nbytes

    def __len__(self) -> int:
        """Return the number of cached owners."""
        return len(self._kept)

    def forget(self, owner: str) -> None:
        """Drop the index of an owner who has been erased."""
        if (known := self._kept.get(owner)) is not None:
            self._drop(known)

    async def load(self, owner: str) -> OwnerTexts:
        """Return the cached index of an owner, or read it; concurrent callers share one read.

        Writes after the start of that read may be missing: `take` adds them.
        """
        if (known := self._kept.get(owner)) is not None:
            return known
        return await self._shared((owner, None), lambda: self._load(owner))

    async def take(self, known: OwnerTexts, rows: Sequence[DictRow]) -> OwnerTexts:
        """Return the index with the changes of `rows`, the answer to its `changes_statement` in binary form."""
        if is_void(known, rows):
            self._drop(known)
            return await self.current(known.owner)
        if rows[0]["revision"] == known.revision:
            telemetry.count("owner_index.reads", outcome="hit")
            if known.owner in self._kept:
                self._kept.move_to_end(known.owner)
            return known
        telemetry.count("owner_index.reads", outcome="delta")
        return await self._take(known.owner, known, rows, known.large)

    async def current(self, owner: str) -> OwnerTexts:
        """Return an owner's index with all writes until now."""
        starts = owner not in self._kept and (owner, None) not in self._readings
        known = await self.load(owner)
        return known if starts else await self.take(known, await self._ask(owner, self.changes(known)))

    def changes(self, known: OwnerTexts) -> tuple[LiteralString, dict[str, Any]]:
        """Return the statement that reads the changes since an index, and its parameters."""
        return changes_statement(known.owner, known, sealed=self._codec.seals)

    async def with_words(self, known: OwnerTexts, prefix: str) -> OwnerTexts:
        """Return an index that has the words of all texts of a namespace."""
        if not unread_keys(known, prefix, ()):
            return known
        found = await self._shared((known.owner, prefix), lambda: self._read_words(known, prefix))
        # of who began before something was written, which this one knows
        return found if found.follows(known) else await self._read_words(known, prefix)

    async def _read_words(self, known: OwnerTexts, prefix: str) -> OwnerTexts:
        gone: set[str] = set()
        while keys := unread_keys(known, prefix, gone):
            rows = await self._ask(known.owner, (_UNREAD, (known.owner, prefix, keys)))
            gone |= set(keys).difference(*(json.loads(row["keys"]) for row in rows))
            known = await asyncio.to_thread(with_words, known, prefix, rows)
            self._keep(known)
            latest = self._kept.get(known.owner)
            if latest is not None and latest.follows(known):
                known = latest
        return known

    async def close(self) -> None:
        """Cancel the reads."""
        readings = list(self._readings.values())
        for task in readings:
            task.cancel()
        if readings:
            await asyncio.wait(readings)

    async def _load(self, owner: str) -> OwnerTexts:
        telemetry.count("owner_index.reads", outcome="load")
        large: frozenset[str] = frozenset()
        sealed = self._codec.seals
        rows = await self._ask(owner, changes_statement(owner, sealed=sealed))
        if is_cut_off(rows):
            sizes = {row["prefix"]: row["texts"] for row in await self._ask(owner, (SIZES, (owner,)))}
            # with room for others: what drives out even itself would be read again by every read
            room = self._max_bytes // 2 // bytes_of_a_text(rows[0]["dims"])
            large = too_large(sizes, self._limit, room) if not sealed else large
            rest = sum(texts for prefix, texts in sizes.items() if prefix not in large)
            rows = await self._ask(owner, changes_statement(owner, large=large, texts=max(1, rest), sealed=sealed))
        return await self._take(owner, None, rows, large)

    async def _ask(self, owner: str, statement: tuple[LiteralString, Any]) -> list[DictRow]:
        async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            async with confined(conn, [owner]):
                await cursor.execute(*statement)
            return await cursor.fetchall()

    async def _take(
        self, owner: str, known: OwnerTexts | None, rows: Sequence[DictRow], large: frozenset[str]
    ) -> OwnerTexts:
        namespaces = known.namespaces if known is not None else {}
        await self._codec.with_keys([owner], lambda keys: self._codec.open_index(owner, rows, keys, namespaces))
        sent = sum(len(row["halves"] or row.get("sealed_vectors") or b"") for row in rows)
        there = sum(map(len, known.namespaces.values())) if known is not None else 0
        if sent > _INLINE_BYTES or there > _INLINE_TEXTS or any(row["present"] for row in rows):
            texts = await asyncio.to_thread(updated, owner, known, rows, large=large)
        else:
            texts = updated(owner, known, rows, large=large)
        if not self._codec.seals:
            texts = texts.without_large(self._limit)
        self._keep(texts)
        return texts

    def _keep(self, texts: OwnerTexts) -> None:
        before = self._kept.get(texts.owner)
        if before is not None and not texts.follows(before):
            return  # another read has seen more
        if before is not None:
            self._drop(before)
        self._kept[texts.owner] = texts
        self._nbytes += texts.nbytes
        while self._nbytes > self._max_bytes:
            self._drop(next(iter(self._kept.values())))
            telemetry.count("owner_index.evictions")

    def _drop(self, texts: OwnerTexts) -> None:
        if self._kept.get(texts.owner) is texts:
            del self._kept[texts.owner]
            self._nbytes -= texts.nbytes

    async def _shared(
        self, what: tuple[str, str | None], read: Callable[[], Coroutine[Any, Any, OwnerTexts]]
    ) -> OwnerTexts:
        """Run a read, or wait for the same read that is under way."""
        if (task := self._readings.get(what)) is None:
            # in no caller's context: a turn may come to wait for what work behind turns began
            task = self._readings[what] = asyncio.create_task(read(), context=Context())
            task.add_done_callback(lambda done: self._done(what, done))
        # who is cancelled does not take it from those who wait as well
        return await asyncio.shield(task)

    def _done(self, what: tuple[str, str | None], task: asyncio.Task[OwnerTexts]) -> None:
        del self._readings[what]
        if not task.cancelled():
            task.exception()  # those who wait are told; when nobody does any more, there is nobody to tell


_opened: WeakSet[OwnerIndexes] = WeakSet()

telemetry.observe("owner_index.bytes", lambda: ((each.nbytes, {}) for each in list(_opened)))
telemetry.observe("owner_index.owners", lambda: ((len(each), {}) for each in list(_opened)))
