"""The key ring: data keys of owners, made on first use, stored wrapped, and cached in the process.

Reading a key raises EncryptionKeyError if the master key did not wrap it.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from typing import LiteralString, NamedTuple

from cachetools import LRUCache
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import EncryptionKeyError
from react_mem.memory.store.keys.master_key import FILE, FUNCTION, KEY, MasterKey
from react_mem.memory.store.keys.owner_key import KEY_BYTES, DataKey, OwnerKey
from react_mem.memory.store.process_state import lock_of

STALE_KEY = "RM001"
"""SQLSTATE of a write sealed with an outdated data key: forgotten with its owner, or rotated."""

_KEPT = 10_000
"""Owners with cached keys, some 2 kB each."""

_CHECK = ":check"
_SECRET_BYTES = 2 * KEY_BYTES

_READ: LiteralString = """
    SELECT owner, version, wrapped, wrapped_by FROM memory_keys WHERE owner = ANY(%s::text[])
    ORDER BY owner, state = 'live' DESC, created_at DESC, version
"""
_MAKE = """
    INSERT INTO memory_keys (owner, version, wrapped, wrapped_by) VALUES (%s, %s, %s, %s)
    ON CONFLICT (owner) WHERE state = 'live' DO NOTHING
"""
_ANY = "SELECT owner, version, wrapped, wrapped_by FROM memory_keys ORDER BY owner <> %s LIMIT 1"
_SEALED_UNDER = "SELECT wrapped_by FROM memory_keys WHERE owner <> %s LIMIT 1"
_NEED = "SELECT memory_need_key(%s, %s)"


class KeyRing:
    """The data keys of a database.

    The database's own keys (see `derive`) have owners with a colon, which no owner's label contains.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]], master: MasterKey) -> None:
        self._pool = pool
        self.master = master
        self._known: LRUCache[str, OwnerKey] = LRUCache(_KEPT)

    async def of(self, owner: str) -> OwnerKey:
        """Return the key of an owner, made if absent; concurrent callers in any process get the same key."""
        if (known := self._known.get(owner)) is not None:
            return known
        async with lock_of(("memory_keys",), owner):
            found = await self.find([owner])
            while owner not in found:  # again if the user is forgotten in between
                made = await self.wrapped(owner, DataKey(secrets.randbits(32), os.urandom(_SECRET_BYTES)))
                async with self._pool.connection() as conn:
                    await conn.execute(_MAKE, made)
                found = await self.find([owner])
            return found[owner]

    async def find(self, owners: Collection[str], conn: AsyncConnection[DictRow] | None = None) -> dict[str, OwnerKey]:
        """Return the existing keys of owners, read with a connection of the pool if none is given.

        An owner without a key has no sealed row.
        """
        found = {owner: known for owner in owners if (known := self._known.get(owner)) is not None}
        if missing := [owner for owner in owners if owner not in found]:
            async with self._pool.connection() if conn is None else nullcontext(conn) as reading:
                keys = await read_keys(reading, self.master, missing)
            self._known.update(keys)
            found.update(keys)
        return found

    async def wrapped(self, owner: str, key: DataKey) -> tuple[str, int, bytes, str]:
        """Return a data key as its row: owner, version, wrapped key, id of the master key."""
        wrapped = await self.master.wrap(key.secret, bound_to(owner, key.version))
        return owner, key.version, wrapped, self.master.id

    def forget(self, *owners: str) -> None:
        """Drop the cached keys of owners, after a change in the database."""
        for owner in owners:
            self._known.pop(owner, None)

    async def derive(self, purpose: str) -> bytes:
        """Return a key of 32 bytes of this database for a purpose, such as its checkpoints.

        The key survives a rotation of the master key, and works with a key service.
        """
        return (await self.of(f":{purpose}")).derive(purpose)

    async def check(self) -> None:
        """Check that this database is encrypted under the master key; an unencrypted database is from now on."""
        async with self._pool.connection() as conn:
            row = await (await conn.execute(_ANY, (_CHECK,))).fetchone()
        if row is not None:
            await _unwrapped(row, self.master)
        await self.of(_CHECK)


async def read_keys(conn: AsyncConnection[DictRow], master: MasterKey, owners: Collection[str]) -> dict[str, OwnerKey]:
    """Return the existing keys of owners, read with one connection and without the cache."""
    keys: dict[str, list[DataKey]] = {}
    for row in await (await conn.execute(_READ, (sorted(owners),))).fetchall():
        keys.setdefault(row["owner"], []).append(await _unwrapped(row, master))
    return {owner: OwnerKey(owner, data_keys) for owner, data_keys in keys.items()}


async def _unwrapped(row: DictRow, master: MasterKey) -> DataKey:
    bound = bound_to(row["owner"], row["version"])
    return DataKey(row["version"], await master.unwrap(row["wrapped"], bound, row["wrapped_by"]))


async def check_unencrypted(conn: AsyncConnection[DictRow]) -> None:
    """Raise EncryptionKeyError if a database has a data key, as no master key is set."""
    row = await (await conn.execute(_SEALED_UNDER, (_CHECK,))).fetchone()
    if row is not None:
        raise EncryptionKeyError(
            f"This database is encrypted under the master key {row['wrapped_by']!r}, and none is set. Set {KEY}, "
            f"{FILE} or {FUNCTION} to that key. Nothing was changed."
        )


async def need_keys(conn: AsyncConnection[DictRow], keys: Iterable[OwnerKey]) -> None:
    """Make a transaction fail with the SQLSTATE `STALE_KEY` unless it seals with current keys.

    A write without this check may be unreadable: another process forgot the user, and with the user the key that
    this process has cached. On that error call `KeyRing.forget` and seal again. The transaction must have raised
    the owners' revisions before, so that nobody forgets them meanwhile.
    """
    for key in keys:
        await conn.execute(_NEED, (key.owner, key.version))


def bound_to(owner: str, version: int) -> bytes:
    """Return the associated data of a wrapped key, so that it unwraps for its owner and version alone."""
    return f"{version}:{owner}".encode()


# Rotation of the master key: every data key is wrapped anew, while others read and write.

_ROWS = 500

_COUNTS = """
    SELECT wrapped_by, state, count(*) AS keys FROM memory_keys WHERE owner NOT LIKE ':%%' GROUP BY 1, 2 ORDER BY 1, 2
"""

_ALL = "SELECT count(*) AS keys FROM memory_keys WHERE wrapped_by <> %s"
_NEXT = """
    SELECT owner, version, wrapped, wrapped_by FROM memory_keys WHERE wrapped_by <> %s ORDER BY owner, version LIMIT %s
"""
# A key may be gone by now, with its owner, or another process has wrapped it anew.
_REWRAP = """
    UPDATE memory_keys k SET wrapped = new.wrapped, wrapped_by = %s
    FROM unnest(%s::text[], %s::bigint[], %b::bytea[], %s::text[]) AS new (owner, version, wrapped, before)
    WHERE k.owner = new.owner AND k.version = new.version AND k.wrapped_by = new.before
    RETURNING k.owner LIKE ':%%' AS is_own
"""


class KeyCounts(NamedTuple):
    """Numbers of data keys: one in use for each owner, former ones that only open, and both by id of the master key."""

    in_use: int
    former: int
    wrapped_by: dict[str, int]


class Rewrapped(NamedTuple):
    """Numbers of data keys that were wrapped again: of owners, and of the database itself, as for its checkpoints."""

    of_owners: int = 0
    own: int = 0


async def key_counts(pool: AsyncConnectionPool[AsyncConnection[DictRow]]) -> KeyCounts:
    """Count the data keys of a database's owners."""
    async with pool.connection() as conn:
        rows = await (await conn.execute(_COUNTS, ())).fetchall()
    by_state, by_master = Counter[str](), Counter[str]()
    for row in rows:
        by_state[row["state"]] += row["keys"]
        by_master[row["wrapped_by"]] += row["keys"]
    return KeyCounts(by_state["live"], by_state["former"], dict(by_master))


async def rewrap(
    pool: AsyncConnectionPool[AsyncConnection[DictRow]], master: MasterKey, report: Callable[[int, int], None]
) -> Rewrapped:
    """Wrap all data keys of former master keys with the current one; `report` gets the number done and of all.

    A missing former key raises EncryptionKeyError; the data keys before it are done.
    """
    async with pool.connection() as conn:
        row = await (await conn.execute(_ALL, (master.id,))).fetchone()
    done, total = Rewrapped(), row["keys"] if row is not None else 0
    while True:
        report(sum(done), max(sum(done), total))
        async with pool.connection() as conn:
            rows = await (await conn.execute(_NEXT, (master.id, _ROWS))).fetchall()
        if not rows:
            return done
        wrapped = []
        for row in rows:
            bound = bound_to(row["owner"], row["version"])
            secret = await master.unwrap(row["wrapped"], bound, row["wrapped_by"])
            wrapped.append(await master.wrap(secret, bound))
        owners, versions, before = ([row[name] for row in rows] for name in ("owner", "version", "wrapped_by"))
        async with pool.connection() as conn:
            cursor = await conn.execute(_REWRAP, (master.id, owners, versions, wrapped, before))
            own = [one["is_own"] for one in await cursor.fetchall()]
        done = Rewrapped(done.of_owners + own.count(False), done.own + own.count(True))
