"""Codec of a store's rows: the one place that knows whether rows are stored plain or sealed.

A database that has just been given a key has sealed and plain rows: an item is looked up by both of its keys, and a
write replaces its plain row.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, LiteralString, NamedTuple, TypeVar

from langgraph.store.base import Item, SearchOp
from psycopg import errors
from psycopg.rows import DictRow

from react_mem.errors import SealError, StorageError
from react_mem.memory import telemetry
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.model.namespaces import owner_of_path
from react_mem.memory.store.key_ring import STALE_KEY, KeyRing, OwnerKey
from react_mem.memory.store.row_security import Connection
from react_mem.memory.store.sealed_entries import (
    KEYED,
    PLAIN,
    SEALED,
    has_skeleton,
    is_sealed,
    opened_json,
    opened_rows,
    sealed_row,
    sealed_value,
)
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.writes import Held, ItemRow, Writes

# Filters over sealed items in parts: the database tests the skeletons, this process the opened values.


class SealedFilter(NamedTuple):
    """Conditions beside those on readable fields: the values of hashed fields, and conditions on opened values."""

    keyed: dict[str, list[str]]
    rest: dict[str, Any]


def meets(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Return true if a value meets a filter, by the rules of the SQL in `memory.store.searches`.

    >>> meets({"n": 9, "of": {"who": "Ann"}}, {"n": {"$gte": 9, "$lt": 10}, "of": {"who": "Ann"}, "gone": None})
    True
    >>> meets({"n": "9"}, {"n": {"$gt": 1}}), meets({"n": True}, {"n": 1}), meets({"n": 1.0}, {"n": 1})
    (False, False, True)
    """
    return all(_meets(value.get(name), expected) for name, expected in conditions.items())


def _meets(actual: Any, expected: Any) -> bool:
    if not isinstance(expected, Mapping):
        return _equals(actual, expected)
    if not any(str(name).startswith("$") for name in expected):
        return meets(actual if isinstance(actual, Mapping) else {}, expected)
    return all(_compares(actual, operator, operand) for operator, operand in expected.items())


def _compares(actual: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _equals(actual, operand) is (operator == "$eq")
    numbers = _is_number(actual) and _is_number(operand)
    if not numbers and not (isinstance(actual, str) and isinstance(operand, str)):
        return False
    order = int(actual > operand) - int(actual < operand)
    return {"$gt": order > 0, "$gte": order >= 0, "$lt": order < 0, "$lte": order <= 0}[operator]


def _equals(one: Any, other: Any) -> bool:
    """Return true if two JSON values are equal; unlike in Python, true is not 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equals(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equals, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flat(expected: Any) -> bool:
    """Return true if an operand can be compared with a readable field."""
    if isinstance(expected, Mapping):
        return bool(expected) and all(
            str(name).startswith("$") and _is_flat(part) and not isinstance(part, Mapping)
            for name, part in expected.items()
        )
    return expected is None or isinstance(expected, str | int | float)


class Keys(dict[str, OwnerKey]):
    """Keys by owner; an owner without a key has no sealed row.

    They are `sure` once they were read anew: what they do not open is damaged, and not sealed with a newer key.
    """

    sure = False


Result = TypeVar("Result")

_INLINE = 100_000
"""Characters and bytes that are decoded, sealed or opened on the event loop, in milliseconds; more go to a thread."""

_ROWS_AT_ONCE = 100
"""Rows that a thread decodes at once, as the JSON parser holds the interpreter's lock meanwhile."""

_ATTEMPTS = 3
"""Attempts with fresh keys, if keys change meanwhile."""

_BYTES_A_ROW = 1_500

_MOST_REFUSED = 10_000
"""Refused rows that are remembered, to be named; of small ones the value too, as of the revision that guards writes."""

_SMALL = 2_000  # characters

log = logging.getLogger(__name__)

_LIVE: LiteralString = "SELECT owner, version FROM memory_keys WHERE owner = ANY(%s::text[]) AND state = 'live'"


class RowCodec:
    """Codec of rows: sealed with the keys of their owners, or plain without a ring of keys.

    A row that does not open, or is in plain where everything is sealed, is refused: it is left out of what is read,
    named once in the log, and named by receipts until its owner is erased.
    """

    def __init__(self, ring: KeyRing | None = None) -> None:
        self._ring = ring
        self._refused: dict[tuple[str, str], Any] = {}

    @property
    def seals(self) -> bool:
        """True if rows are sealed: the database cannot compare their vectors, nor order them by their items' keys."""
        return self._ring is not None

    async def keys(self, owners: Collection[str], conn: Connection | None = None) -> Keys:
        """Return the existing keys of owners, read with a connection of the pool if none is given."""
        return Keys(await self._ring.find(sorted(owners), conn) if self._ring is not None else {})

    def forget(self, owners: Collection[str]) -> None:
        """Drop the cached keys of owners, after a change."""
        if self._ring is not None:
            self._ring.forget(*owners)

    def erased(self, owner: str) -> None:
        """Drop the cache of an owner who is erased."""
        self.forget([owner])
        for place in [place for place in list(self._refused) if owner_of_path(place[0]) == owner]:
            self._refused.pop(place, None)

    def refused(self, owner: str) -> list[str]:
        """Return the stored keys of an owner's refused rows, as far as they were read."""
        return sorted(key for prefix, key in list(self._refused) if owner_of_path(prefix) == owner)

    async def with_keys(self, owners: Collection[str], use: Callable[[Keys], Awaitable[Result]]) -> Result:
        """Return the result of `use`, called again with fresh keys if one has changed."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await use(await self.keys(owners))
            except SealError as error:
                if error.version is None:
                    raise
                self.forget(owners)
        return await use(await self.latest(owners))

    async def latest(self, owners: Collection[str]) -> Keys:
        """Read the keys of owners again and return them."""
        self.forget(owners)
        keys = await self.keys(owners)
        keys.sure = True
        return keys

    def key_statements(self, owners: Collection[str]) -> list[tuple[LiteralString, Any]]:
        """Return the statements, one at most, that read the current keys' versions, for `is_current`."""
        return [(_LIVE, (sorted(owners),))] if self.seals else []

    def is_current(self, keys: Keys, owners: Collection[str], found: Sequence[Sequence[DictRow]]) -> bool:
        """Return true if keys are current, by the rows of the statements; drop outdated ones from the cache."""
        live = {row["owner"]: row["version"] for rows in found for row in rows}
        known = {owner: key.version for owner, key in keys.items()}
        other = [owner for owner in owners if live.get(owner) != known.get(owner)]
        self.forget(other)
        return not other

    def split(self, op: SearchOp, key: OwnerKey | None) -> tuple[SearchOp, SealedFilter | None]:
        """Return a search with the conditions on readable fields alone, and its other conditions; None for no sealing.

        The key is None for several owners, or for an owner without sealed rows.
        """
        if not self.seals:
            return op, None
        plain: dict[str, Any] = {}
        sealed = SealedFilter({}, {})
        has_fields = has_skeleton(".".join(op.namespace_prefix))
        for name, expected in storable(op.filter or {}).items():
            if has_fields and name in PLAIN and _is_flat(expected):
                plain[name] = expected
            elif has_fields and name in KEYED and key is not None and isinstance(expected, str):
                sealed.keyed[name] = list(dict.fromkeys([key.keyed(expected) if expected else "", expected]))
            else:
                sealed.rest[name] = expected
        return op._replace(filter=plain), sealed

    async def encoded(self, writes: Writes) -> Writes:
        """Return writes as they are stored."""
        if self._ring is None:
            return writes
        keys = {owner: await self._ring.of(owner) for owner in sorted(writes.owners)}
        size = sum(len(item.value) for item in writes.items) + _BYTES_A_ROW * len(writes.rows)
        return await asyncio.to_thread(_sealed, writes, keys) if size > _INLINE else _sealed(writes, keys)

    async def held(self, prefix: str, item: str, value: dict[str, Any] | None) -> list[Held]:
        """Return every row that may store an item's value, sealed with any of the owner's keys or plain.

        The value None stands for no item.
        """
        if self._ring is None:
            return [(prefix, item, value)]
        key = await self._ring.of(owner_of_path(prefix))
        if value is None:
            stored = key.keyed(item)
            # what does not open holds nothing, and must not block whoever writes it anew
            refused = [(prefix, one, self._refused.get((prefix, one))) for one in (stored, item)]
            return [*(held for held in refused if held[2] is not None), (prefix, stored, None)]
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
                self.forget(owners)
        raise StorageError(
            "A memory could not be written: its owner's data key was changed by others each time it was sealed. Try "
            "again; nothing was changed."
        )

    async def open_items(self, rows: Sequence[DictRow], keys: Keys, conn: Connection | None = None) -> None:
        """Add to rows of `store`, their values as text, the `item` of each that is not refused.

        With a connection, missing keys are read: a search across owners only learns the owners from its rows. A
        SealError says that the owner of a row may have another key by now.
        """
        if conn is not None and (others := {owner_of_path(row["prefix"]) for row in rows} - keys.keys()):
            sure, keys = keys.sure, Keys({**keys, **await self.keys(others, conn)})
            keys.sure = sure
        if sum(len(row["value"]) for row in rows) <= _INLINE:
            self._open(rows, keys)
            return
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            await asyncio.to_thread(self._open, rows[start : start + _ROWS_AT_ONCE], keys)

    async def open_index(
        self, owner: str, rows: Sequence[DictRow], keys: Keys, known: Mapping[str, IndexedTexts]
    ) -> None:
        """Open an owner's index rows in place: see `sealed_entries.opened_rows`."""
        key = keys.get(owner)
        if self.refuses_plain:
            _leave_out(row for row in rows if not row.get("is_sealed"))
        if key is None:
            if any(row.get("is_sealed") for row in rows):
                # made by another process since this one looked, or lost
                need_sure(keys)
                _leave_out(rows)
            return
        size = sum(len(row.get("sealed") or b"") + len(row.get("sealed_vectors") or b"") for row in rows)
        if size > _INLINE or any(row["present"] for row in rows):
            await asyncio.to_thread(opened_rows, key, rows, known, sure=keys.sure)
        else:
            opened_rows(key, rows, known, sure=keys.sure)

    @property
    def refuses_plain(self) -> bool:
        """True if everything is sealed: a plain row is not ours."""
        return self._ring is not None and self._ring.refuses_plain

    def _open(self, rows: Sequence[DictRow], keys: Keys) -> None:
        # parsed as one text, which is faster than one by one
        values: list[Any] = json.loads(f"[{','.join([row['value'] for row in rows])}]")
        sealed: list[DictRow] = []
        opened: list[bytes] = []
        for row, value in zip(rows, values, strict=True):
            place, kept = (row["prefix"], row["key"]), value if len(row["value"]) <= _SMALL else None
            if not self.seals or not is_sealed(value):
                if self.refuses_plain:
                    self._refuse(place, kept, "is in plain, where everything is sealed")
                else:
                    row["item"] = item_of(row, row["key"], value)
                continue
            try:
                key = keys[owner_of_path(row["prefix"])]
                opened.append(opened_json(key, *place, value[SEALED]))
            except (KeyError, SealError) as error:
                if getattr(error, "version", 0) is not None:
                    need_sure(keys)
                self._refuse(place, kept, "does not open")
                continue
            sealed.append(row)
            self._refused.pop(place, None)
        for row, (item, value) in zip(sealed, json.loads(b"[%b]" % b",".join(opened)), strict=True):
            row["item"] = item_of(row, item, value)

    def _refuse(self, place: tuple[str, str], value: Any, why: str) -> None:
        """Remember a row that is left out, and name it in the log, once for each of its values."""
        if place in self._refused and self._refused[place] == value:
            return
        if len(self._refused) >= _MOST_REFUSED:
            self._refused.clear()
        self._refused[place] = value
        telemetry.count("degradations", part="sealed_row")
        log.error("a row of the store %s and is left out: its key is %r", why, place[1])


def _leave_out(rows: Iterable[DictRow]) -> None:
    """Make rows of the index say nothing of texts."""
    for row in rows:
        if not row["present"]:
            row["prefix"] = None


def need_sure(keys: Keys) -> None:
    """Raise the SealError after which a caller reads again with fresh keys, unless these are."""
    if not keys.sure:
        raise SealError("A memory was sealed with a key that is not known here yet.", version=0)


def both_keys(keys: Keys, prefix: str, item: str) -> list[str]:
    """Return the keys of the rows that may store an item: the keyed id if its owner has a key, and the plain key."""
    key = keys.get(owner_of_path(prefix))
    return [item] if key is None else [key.keyed(item), item]


def item_of(row: DictRow, key: str, value: dict[str, Any]) -> Item:
    """Return the item of a row, with its plain key and its opened value."""
    return Item(
        namespace=tuple(row["prefix"].split(".")),
        key=key,
        value=value,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _sealed(writes: Writes, keys: Mapping[str, OwnerKey]) -> Writes:
    items = []
    for item in writes.items:
        key = keys[owner_of_path(item.prefix)]
        # already JSON that jsonb accepts, so `json.dumps` is enough
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
