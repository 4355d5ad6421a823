"""The indexes of owners that a process has at hand: read once, and then kept up by what changed since.

A read asks for the owner's revision in the round trip that it makes anyway, and what changed since the one at hand
comes with the answer (see `owner_texts`). When all of them take more bytes than they may, those go that were not asked
for longest.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import Any, LiteralString
from weakref import WeakSet

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory import telemetry
from react_mem.memory.store.owner_texts import (
    SIZES,
    OwnerTexts,
    bytes_of_a_text,
    changes_statement,
    is_cut_off,
    is_void,
    too_large,
    updated,
)
from react_mem.memory.store.sealing.store_seal import StoreSeal
from react_mem.memory.store.unread_texts import unread_keys, unread_statement, with_words
from react_mem.memory.store.wall import walled

_INLINE_BYTES = 250_000
"""Bytes that are made an index of at once, in 3 ms; more, beside the event loop."""

_INLINE_TEXTS = 2_000
"""Texts of an owner that are changed at once: now and then a small change has most of them copied, which takes 5 ms a
thousand; those of more, beside the event loop."""

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


class OwnerIndexes:
    """Indexes of the owners that were asked for last.

    Args:
        pool: Connections to the database.
        limit: Texts of a namespace from which on it is left to the database.
        max_bytes: Bytes of all that is at hand.
        seal: Opens what is sealed. The database finds nothing in that: then no namespace is left to it.
    """

    def __init__(self, pool: Pool, *, limit: int, max_bytes: int, seal: StoreSeal | None = None) -> None:
        self._pool = pool
        self._seal = seal
        self._limit = limit
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, OwnerTexts] = OrderedDict()
        self._nbytes = 0
        self._readings: dict[tuple[str, str | None], asyncio.Task[OwnerTexts]] = {}
        _opened.add(self)

    @property
    def nbytes(self) -> int:
        """Bytes of all that is at hand."""
        return self._nbytes

    def __len__(self) -> int:
        """Return how many owners are at hand."""
        return len(self._kept)

    def known(self, owner: str) -> OwnerTexts | None:
        """Return what is at hand of an owner, which may have changed meanwhile."""
        return self._kept.get(owner)

    def forget(self, owner: str) -> None:
        """Drop the index of an owner who has been erased."""
        if (known := self._kept.get(owner)) is not None:
            self._drop(known)

    async def load(self, owner: str) -> OwnerTexts:
        """Return what is at hand of an owner, or read it; who asks meanwhile waits for the same reading.

        What was written after that began may not be in it: `take` sees to that.
        """
        if (known := self._kept.get(owner)) is not None:
            return known
        return await self._shared((owner, None), lambda: self._load(owner))

    async def take(self, known: OwnerTexts, rows: Sequence[DictRow]) -> OwnerTexts:
        """Return the index with what changed.

        Args:
            known: What was known.
            rows: The answer to its `changes_statement`, in binary form.
        """
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
        """Return an owner's index with all that has been written by now."""
        starts = owner not in self._kept and (owner, None) not in self._readings
        known = await self.load(owner)
        return known if starts else await self.take(known, await self._ask(owner, self.changes(known)))

    def changes(self, known: OwnerTexts) -> tuple[LiteralString, dict[str, Any]]:
        """Return the statement that reads what changed of what is known, and its parameters."""
        return changes_statement(known.owner, known, sealed=self._seal is not None)

    async def with_words(self, known: OwnerTexts, prefix: str) -> OwnerTexts:
        """Return an index in which the words of a namespace's texts have been read, also of those without any yet.

        Args:
            known: The index.
            prefix: The namespace.
        """
        if not unread_keys(known, prefix, ()):
            return known
        found = await self._shared((known.owner, prefix), lambda: self._read_words(known, prefix))
        # of who began before something was written, which this one knows
        return found if found.follows(known) else await self._read_words(known, prefix)

    async def _read_words(self, known: OwnerTexts, prefix: str) -> OwnerTexts:
        gone: set[str] = set()
        while keys := unread_keys(known, prefix, gone):
            rows = await self._ask(known.owner, unread_statement(known.owner, prefix, keys))
            gone |= set(keys).difference(*(json.loads(row["keys"]) for row in rows))
            known = await asyncio.to_thread(with_words, known, prefix, rows)
            self._keep(known)
            latest = self._kept.get(known.owner)
            if latest is not None and latest.follows(known):
                known = latest
        return known

    async def close(self) -> None:
        """Stop reading."""
        readings = list(self._readings.values())
        for task in readings:
            task.cancel()
        if readings:
            await asyncio.wait(readings)

    async def _load(self, owner: str) -> OwnerTexts:
        telemetry.count("owner_index.reads", outcome="load")
        large: frozenset[str] = frozenset()
        sealed = self._seal is not None
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
            async with walled(conn, [owner]):
                await cursor.execute(*statement)
            return await cursor.fetchall()

    async def _take(
        self, owner: str, known: OwnerTexts | None, rows: Sequence[DictRow], large: frozenset[str]
    ) -> OwnerTexts:
        await self._open(owner, known, rows)
        sent = sum(len(row["halves"] or b"") for row in rows)
        there = sum(map(len, known.namespaces.values())) if known is not None else 0
        if sent > _INLINE_BYTES or there > _INLINE_TEXTS or any(row["present"] for row in rows):
            texts = await asyncio.to_thread(updated, owner, known, rows, large=large)
        else:
            texts = updated(owner, known, rows, large=large)
        if self._seal is None:
            texts = texts.without_large(self._limit)
        self._keep(texts)
        return texts

    async def _open(self, owner: str, known: OwnerTexts | None, rows: Sequence[DictRow]) -> None:
        """Put in place of what is sealed what it is."""
        seal = self._seal
        if seal is None:
            return

        def own_keys(prefix: str) -> list[str]:
            texts = known.namespaces.get(prefix) if known is not None else None
            return [] if texts is None else list({texts.key(text) for text in texts.order.tolist()})

        await seal.with_keys([owner], lambda keys: seal.opened_index(keys.get(owner), rows, own_keys))

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
        """Read something, or wait for who does so already."""
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
