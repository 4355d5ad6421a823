"""Seal of a store: what is written is sealed on its way to the database, and what is read opened on its way from there.

A database that has just been given a key holds rows that are sealed and rows that are not: items are looked up by both
of their keys, and one that is written again takes the place of its row in plain.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow

from react_mem.errors import SealError, StorageError
from react_mem.memory.model.namespaces import owner_of_path
from react_mem.memory.store.keys.key_ring import STALE_KEY, KeyRing
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.sealing.sealed_entries import (
    SEALED,
    is_sealed,
    items_of_json,
    opened_json,
    opened_rows,
    sealed_row,
    sealed_value,
)
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.writes import ItemRow, Writes

Keys = Mapping[str, OwnerKey]
"""The keys of owners; nothing is sealed of who has none."""

Result = TypeVar("Result")

_INLINE = 100_000
"""Characters and bytes that are sealed or opened on the event loop, in a few milliseconds; more, beside it."""

_ATTEMPTS = 3
"""Times that something is done again with keys that have just been read: they changed meanwhile."""

_BYTES_A_ROW = 1_500

_LIVE = "SELECT k.owner, k.version FROM memory_keys k WHERE k.owner = ANY(%s::text[]) AND k.state = 'live'"


class StoreSeal:
    """Seal of the rows of a store, by the keys of their owners.

    Args:
        ring: The keys of owners.
    """

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    async def keys(self, owners: Collection[str], conn: AsyncConnection[DictRow] | None = None) -> Keys:
        """Return the keys of those owners who have one.

        Args:
            owners: The owners.
            conn: A connection to read them by; by default one of the pool's, so that the caller must hold none.
        """
        return await self._ring.find(sorted(owners), conn)

    def forget(self, owners: Collection[str]) -> None:
        """Let go of the keys of owners, which are others by now."""
        self._ring.forget(*owners)

    async def with_keys(self, owners: Collection[str], use: Callable[[Keys], Awaitable[Result]]) -> Result:
        """Return what is done with the keys of owners, once more where a key turns out to be another by now.

        Args:
            owners: The owners.
            use: Does it; it may be called again.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return await use(await self.keys(owners))
            except SealError as error:
                if error.version is None:
                    raise
                self._ring.forget(*owners)
        return await use(await self.keys(owners))

    def statement(self, owners: Collection[str]) -> tuple[str, tuple[list[str]]]:
        """Return the statement that tells the keys in use, for `is_current`."""
        return _LIVE, (sorted(owners),)

    def is_current(self, keys: Keys, owners: Collection[str], rows: Sequence[DictRow]) -> bool:
        """Return whether keys are those in use; those that are not are forgotten.

        Args:
            keys: The keys.
            owners: Whose they are.
            rows: The answer to the statement.
        """
        live = {row["owner"]: row["version"] for row in rows}
        known = {owner: key.version for owner, key in keys.items()}
        other = [owner for owner in owners if live.get(owner) != known.get(owner)]
        self._ring.forget(*other)
        return not other

    async def sealed(self, writes: Writes) -> Writes:
        """Return writes as they are stored.

        Args:
            writes: Writes as an application has them.
        """
        keys = {owner: await self._ring.of(owner) for owner in sorted(writes.owners)}
        size = sum(len(item.value) for item in writes.items) + _BYTES_A_ROW * len(writes.rows)
        if size > _INLINE:
            return await asyncio.to_thread(_sealed, writes, keys)
        return _sealed(writes, keys)

    async def held(
        self, prefix: str, item: str, value: dict[str, Any] | None
    ) -> list[tuple[str, str, dict[str, Any] | None]]:
        """Return what a row may hold where an item holds a value: prefix, key and value of each.

        Args:
            prefix: The item's namespace.
            item: The item's key.
            value: The value; None where there is to be no item.
        """
        key = await self._ring.of(owner_of_path(prefix))
        if value is None:
            return [(prefix, key.keyed(item), None)]
        stored, clean = key.keyed(item), storable(value)
        sealed = [sealed_value(key, prefix, item, clean, version=version) for version in key.versions]
        return [*((prefix, stored, one) for one in sealed), (prefix, item, value)]

    async def until_current(self, owners: Collection[str], write: Callable[[], Awaitable[Result]]) -> Result:
        """Return what a write returns, sealed anew where its key was not the one in use any more.

        Args:
            owners: Whom it writes for.
            write: Seals and writes; it may be called again.
        """
        # each of them may be given a new key meanwhile, one after another
        for _ in range(_ATTEMPTS + len(owners)):
            try:
                return await write()
            except errors.DatabaseError as error:
                if error.sqlstate != STALE_KEY:
                    raise
                self._ring.forget(*owners)
        raise StorageError(
            "A memory could not be written: its owner's data key was changed by others each time it was sealed. Try "
            "again; nothing was changed."
        )

    async def opened(self, rows: Sequence[DictRow], keys: Keys) -> list[DictRow]:
        """Return rows of `store` opened: their `value` decoded, their `key` the item's own, `stored_key` the row's.

        Args:
            rows: The rows, their values as text.
            keys: The keys of their owners.

        Raises:
            SealError: If one does not open.
        """
        if sum(len(row["value"]) for row in rows) > _INLINE:
            return await asyncio.to_thread(_opened, rows, keys)
        return _opened(rows, keys)

    async def opened_index(
        self, key: OwnerKey | None, rows: Sequence[DictRow], own_keys: Callable[[str], list[str]]
    ) -> None:
        """Open rows of the index where they are: see `sealed_entries.opened_rows`.

        Args:
            key: The owner's; None where nothing is sealed.
            rows: The rows.
            own_keys: Tells of a namespace the keys of items that are known.
        """
        if key is None:
            if any(row.get("is_sealed") for row in rows):
                # made by another process since this one looked
                raise SealError("Texts were sealed with a key that is not known here yet.", version=0)
            return
        size = sum(len(row.get("sealed") or b"") + len(row.get("sealed_vectors") or b"") for row in rows)
        if size > _INLINE or any(row["present"] for row in rows):
            await asyncio.to_thread(opened_rows, key, rows, own_keys)
        else:
            opened_rows(key, rows, own_keys)


def both_keys(keys: Keys, prefix: str, item: str) -> list[str]:
    """Return the keys of the rows that an item may be: sealed, where its owner has a key, and in plain."""
    key = keys.get(owner_of_path(prefix))
    return [item] if key is None else [key.keyed(item), item]


def _sealed(writes: Writes, keys: Keys) -> Writes:
    items = []
    for item in writes.items:
        key = keys[owner_of_path(item.prefix)]
        # what has been written as JSON is what a database takes, and so is what is made of it
        value = sealed_value(key, item.prefix, item.key, json.loads(item.value))
        items.append(ItemRow(item.prefix, key.keyed(item.key), json.dumps(value), item.ttl))
    plain = [*writes.deletes, *((item.prefix, item.key) for item in writes.items)]
    return replace(
        writes,
        deletes=[(prefix, keys[owner_of_path(prefix)].keyed(item)) for prefix, item in writes.deletes],
        items=items,
        rows=[sealed_row(keys[owner_of_path(row.prefix)], row) for row in writes.rows],
        in_plain=plain,
        sealed_with=list(keys.values()),
    )


def _opened(rows: Iterable[DictRow], keys: Keys) -> list[DictRow]:
    read = list(rows)
    values = json.loads(f"[{','.join([row['value'] for row in read])}]")
    found: list[DictRow] = []
    sealed: list[int] = []
    opened: list[bytes] = []
    for place, (row, value) in enumerate(zip(read, values, strict=True)):
        if is_sealed(value):
            key = keys.get(owner_of_path(row["prefix"]))
            if key is None:
                raise SealError("A memory was sealed with a key that is not known here yet.", version=0)
            sealed.append(place)
            opened.append(opened_json(key, row["prefix"], row["key"], value[SEALED]))
        found.append({**row, "stored_key": row["key"], "value": value})
    for place, (item, value) in zip(sealed, items_of_json(opened), strict=True):
        found[place] |= {"key": item, "value": value}
    return found
