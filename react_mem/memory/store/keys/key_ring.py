"""The key ring: the data keys of owners, read from the database, made where there is none, and kept at hand."""

from __future__ import annotations

import os
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from typing import LiteralString, NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import EncryptionKeyError
from react_mem.memory.store.keys.master_key import FILE, FUNCTION, KEY, MasterKey
from react_mem.memory.store.keys.owner_key import KEY_BYTES, DataKey, OwnerKey
from react_mem.memory.store.process_state import lock_of

STALE_KEY = "RM001"
"""SQLSTATE of a write with a data key that is no longer the one in use: forgotten with its owner, or rotated."""

_KEPT = 10_000
"""Owners whose keys are at hand; of each some 2 kB."""

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

    The database's own keys (see `derive`) are those of owners with a colon, which no label holds.

    Args:
        pool: The database.
        master: What wraps them.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]], master: MasterKey) -> None:
        self._pool = pool
        self.master = master
        self._known: OrderedDict[str, OwnerKey] = OrderedDict()

    async def of(self, owner: str) -> OwnerKey:
        """Return the key of an owner, made if there is none: by one of those who ask at once, in any process.

        Args:
            owner: The owner, as in the database's column.

        Raises:
            EncryptionKeyError: If the master key did not wrap it.
        """
        if (known := self._at_hand(owner)) is not None:
            return known
        async with lock_of(("memory_keys",), owner):
            found = await self.find([owner])
            while owner not in found:  # a user who is forgotten in between
                await self._make(owner)
                found = await self.find([owner])
            return found[owner]

    async def find(self, owners: Collection[str], conn: AsyncConnection[DictRow] | None = None) -> dict[str, OwnerKey]:
        """Return the keys of owners who have one: of nobody else anything is sealed.

        Args:
            owners: The owners.
            conn: A connection to read them by; by default one of the pool's.

        Raises:
            EncryptionKeyError: If the master key did not wrap them.
        """
        found = {owner: known for owner in owners if (known := self._at_hand(owner)) is not None}
        if missing := [owner for owner in owners if owner not in found]:
            async with self._pool.connection() if conn is None else nullcontext(conn) as reading:
                rows = await (await reading.execute(_READ, (missing,))).fetchall()
            for owner, key in (await _owner_keys(rows, self.master)).items():
                found[owner] = self._keep(key)
        return found

    async def wrapped(self, owner: str, key: DataKey) -> tuple[str, int, bytes, str]:
        """Return a data key as the database keeps it: the owner, the version, the key wrapped, and by what.

        Args:
            owner: Whose it is.
            key: The key.
        """
        wrapped = await self.master.wrap(key.secret, bound_to(owner, key.version))
        return owner, key.version, wrapped, self.master.id

    def forget(self, *owners: str) -> None:
        """Let go of the keys of owners, which have changed in the database or are gone from it."""
        for owner in owners:
            self._known.pop(owner, None)

    async def derive(self, purpose: str) -> bytes:
        """Return a key of this database for a purpose, such as its checkpoints: 32 bytes.

        It stays the same when the master key is rotated, and works with a key service.

        Args:
            purpose: A word for what it is for.

        Raises:
            EncryptionKeyError: If the master key did not wrap it.
        """
        return (await self.of(f":{purpose}")).derive(purpose)

    async def check(self) -> None:
        """Make sure that the master key is the one under which this database is encrypted, from now on if it was not.

        Raises:
            EncryptionKeyError: If it is not; nothing was changed.
        """
        async with self._pool.connection() as conn:
            row = await (await conn.execute(_ANY, (_CHECK,))).fetchone()
        if row is not None:
            await _unwrapped(row, self.master)
        await self.of(_CHECK)

    async def _make(self, owner: str) -> None:
        made = await self.wrapped(owner, DataKey(secrets.randbits(32), os.urandom(_SECRET_BYTES)))
        async with self._pool.connection() as conn:
            await conn.execute(_MAKE, made)

    def _at_hand(self, owner: str) -> OwnerKey | None:
        if (known := self._known.get(owner)) is not None:
            self._known.move_to_end(owner)
        return known

    def _keep(self, key: OwnerKey) -> OwnerKey:
        self._known[key.owner] = key
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return key


async def read_keys(conn: AsyncConnection[DictRow], master: MasterKey, owners: Collection[str]) -> dict[str, OwnerKey]:
    """Return the keys of owners who have one, as they are now, for who works with one connection.

    Args:
        conn: The connection.
        master: What has wrapped them.
        owners: The owners.

    Raises:
        EncryptionKeyError: If the master key did not wrap them.
    """
    rows = await (await conn.execute(_READ, (sorted(owners),))).fetchall()
    return await _owner_keys(rows, master)


async def _owner_keys(rows: Iterable[DictRow], master: MasterKey) -> dict[str, OwnerKey]:
    keys: dict[str, list[DataKey]] = {}
    for row in rows:
        keys.setdefault(row["owner"], []).append(await _unwrapped(row, master))
    return {owner: OwnerKey(owner, data_keys) for owner, data_keys in keys.items()}


async def _unwrapped(row: DictRow, master: MasterKey) -> DataKey:
    bound = bound_to(row["owner"], row["version"])
    return DataKey(row["version"], await master.unwrap(row["wrapped"], bound, row["wrapped_by"]))


async def check_unencrypted(conn: AsyncConnection[DictRow]) -> None:
    """Make sure that nothing in a database is encrypted, as no key is set.

    Raises:
        EncryptionKeyError: If something may be; nothing was changed.
    """
    row = await (await conn.execute(_SEALED_UNDER, (_CHECK,))).fetchone()
    if row is not None:
        raise EncryptionKeyError(
            f"This database is encrypted under the master key {row['wrapped_by']!r}, and none is set. Set {KEY}, "
            f"{FILE} or {FUNCTION} to that key. Nothing was changed."
        )


async def need_keys(conn: AsyncConnection[DictRow], keys: Iterable[OwnerKey]) -> None:
    """Let a transaction fail unless it seals with the keys in use; what it fails with has the SQLSTATE `STALE_KEY`.

    Who writes without it may write what nobody can read: the user was forgotten by another process, and with the user
    the key that this one still has at hand. Whoever gets the error calls `KeyRing.forget`, and seals again.

    Args:
        conn: A connection in a transaction that has raised the revisions of the owners: nobody forgets them meanwhile.
        keys: What it seals with.
    """
    for key in keys:
        await conn.execute(_NEED, (key.owner, key.version))


def bound_to(owner: str, version: int) -> bytes:
    """Return what a wrapped key is bound to: it is unwrapped as no other owner's."""
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
    """Number of data keys in a database.

    Args:
        in_use: Keys that seal, one for each owner.
        former: Keys that only open what they sealed.
        wrapped_by: Number of both by the name of the master key that wrapped them.
    """

    in_use: int
    former: int
    wrapped_by: dict[str, int]


class Rewrapped(NamedTuple):
    """Number of data keys that were wrapped anew.

    Args:
        of_owners: Those of owners, as `KeyCounts` has them.
        own: Those that the store keeps for itself, such as that of the threads.
    """

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
    """Wrap all data keys by the master key in use that a former one has wrapped.

    Args:
        pool: The database.
        master: The master key, and those before it.
        report: Is told how many it were so far, and of how many.

    Returns:
        How many it were.

    Raises:
        EncryptionKeyError: If one was wrapped by a key that is not set; those before it are done.
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
