"""Encryption of a store: rows are sealed on the way to the database and opened on the way back.

A database that has just been given a key has sealed and plain rows: an item is looked up by both of its keys,
and a write replaces its plain row.
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
"""Keys by owner; an owner without a key has no sealed row."""

Result = TypeVar("Result")

_INLINE = 100_000
"""Characters and bytes that are sealed or opened on the event loop, in a few milliseconds; more go to a thread."""

_ATTEMPTS = 3
"""Attempts with fresh keys, if keys change meanwhile."""

_BYTES_A_ROW = 1_500

_LIVE = "SELECT k.owner, k.version FROM memory_keys k WHERE k.owner = ANY(%s::text[]) AND k.state = 'live'"


class StoreSeal:
    """Encryption of a store's rows with the keys of their owners."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    async def keys(self, owners: Collection[str], conn: AsyncConnection[DictRow] | None = None) -> Keys:
        """Return the existing keys of owners.

        Args:
            conn: A connection to read with; by default one of the pool's, and then the caller must hold none.
        """
        return await self._ring.find(sorted(owners), conn)

    def forget(self, owners: Collection[str]) -> None:
        """Drop the cached keys of owners, after a change."""
        self._ring.forget(*owners)

    async def with_keys(self, owners: Collection[str], use: Callable[[Keys], Awaitable[Result]]) -> Result:
        """Return the result of `use`, called again with fresh keys if one has changed."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await use(await self.keys(owners))
            except SealError as error:
                if error.version is None:
                    raise
                self._ring.forget(*owners)
        return await use(await self.keys(owners))

    def statement(self, owners: Collection[str]) -> tuple[str, tuple[list[str]]]:
        """Return the statement that reads the current keys' versions, for `is_current`."""
        return _LIVE, (sorted(owners),)

    def is_current(self, keys: Keys, owners: Collection[str], rows: Sequence[DictRow]) -> bool:
        """Return true if keys are current, by the rows of the statement; drop outdated ones from the cache."""
        live = {row["owner"]: row["version"] for row in rows}
        known = {owner: key.version for owner, key in keys.items()}
        other = [owner for owner in owners if live.get(owner) != known.get(owner)]
        self._ring.forget(*other)
        return not other

    async def sealed(self, writes: Writes) -> Writes:
        """Return writes sealed."""
        keys = {owner: await self._ring.of(owner) for owner in sorted(writes.owners)}
        size = sum(len(item.value) for item in writes.items) + _BYTES_A_ROW * len(writes.rows)
        if size > _INLINE:
            return await asyncio.to_thread(_sealed, writes, keys)
        return _sealed(writes, keys)

    async def held(
        self, prefix: str, item: str, value: dict[str, Any] | None
    ) -> list[tuple[str, str, dict[str, Any] | None]]:
        """Return every row (prefix, key, value) that may store an item's value; None stands for no item."""
        key = await self._ring.of(owner_of_path(prefix))
        if value is None:
            return [(prefix, key.keyed(item), None)]
        stored, clean = key.keyed(item), storable(value)
        sealed = [sealed_value(key, prefix, item, clean, version=version) for version in key.versions]
        return [*((prefix, stored, one) for one in sealed), (prefix, item, value)]

    async def until_current(self, owners: Collection[str], write: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of `write`, called again as long as it sealed with an outdated key."""
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
        """Return rows of `store` opened: `value` decoded, `key` the item's plain key, `stored_key` the row's.

        Args:
            rows: The rows, their values as text.

        Raises:
            SealError: If one does not open.
        """
        if sum(len(row["value"]) for row in rows) > _INLINE:
            return await asyncio.to_thread(_opened, rows, keys)
        return _opened(rows, keys)

    async def opened_index(
        self, key: OwnerKey | None, rows: Sequence[DictRow], own_keys: Callable[[str], list[str]]
    ) -> None:
        """Open index rows in place: see `sealed_entries.opened_rows`.

        Args:
            key: The owner's key; None if there is none.
            own_keys: Returns the known plain keys of a namespace.
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
    """Return the keys of the rows that may store an item: the keyed id if its owner has a key, and the plain key."""
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
