"""Data keys of owners: encryption with AES-256-GCM, keyed hashes of ids, and the ring that makes and caches them.

A sealed value is one byte for the format, four for the version of the data key, a nonce of twelve, and the
ciphertext with its tag. The nonce is synthetic: an HMAC over the associated data and the value. So encryption
is deterministic, stored values can be compared, and a nonce repeats only for the same value in the same place.

The keys are made on first use, stored wrapped by the master key, and cached in the process. Reading a key raises
EncryptionKeyError if the master key did not wrap it.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from typing import LiteralString, NamedTuple

from cachetools import LRUCache
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import EncryptionKeyError, SealError
from react_mem.memory.store.master_key import FILE, FUNCTION, KEY, KEY_BYTES, MasterKey, derived_key
from react_mem.memory.store.process_state import lock_of


class KeyedHash:
    """HMAC-SHA256 under one key, initialised once, which makes each hash four times as fast."""

    def __init__(self, key: bytes) -> None:
        self._begun = HMAC(key, SHA256())

    def digest(self, *parts: bytes) -> bytes:
        """Return the hash of the concatenated parts: 32 bytes."""
        begun = self._begun.copy()
        for part in parts:
            begun.update(part)
        return begun.finalize()


_FORMAT = b"\x01"
_VERSION_BYTES = 4
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEADER_BYTES = len(_FORMAT) + _VERSION_BYTES
_KEYED_BYTES = 24
"""192 bits of an id: among a million million records, two ids collide with a chance of 1 in 10^34."""

SEAL_BYTES = _HEADER_BYTES + _NONCE_BYTES + _TAG_BYTES
"""Bytes that encryption adds to a value."""


class DataKey(NamedTuple):
    """An unwrapped data key: 32 random bytes for encryption, and 32 for ids, which all versions of an owner share."""

    version: int
    secret: bytes


class OwnerKey:
    """All data keys of one owner, the current one first: seals and opens values, and hashes ids."""

    def __init__(self, owner: str, keys: Sequence[DataKey]) -> None:
        self.owner = owner
        self.versions = tuple(key.version for key in keys)
        self._ciphers = {key.version: _ciphers(key.secret) for key in keys}
        self._shared = keys[0].secret[KEY_BYTES:]
        self._ids = KeyedHash(derived_key(self._shared, "ids"))

    @property
    def version(self) -> int:
        """Return the version that seals."""
        return self.versions[0]

    def seal(self, plain: bytes, bound: bytes, *, version: int | None = None) -> bytes:
        """Return a value encrypted, bound to its place: it opens nowhere else.

        An older version of the data key serves to compare with stored values.
        """
        version = self.version if version is None else version
        cipher, nonces = self._ciphers[version]
        # with its length, so that no other pair of the two is the same bytes
        nonce = nonces.digest(len(bound).to_bytes(8, "big"), bound, plain)[:_NONCE_BYTES]
        header = _FORMAT + version.to_bytes(_VERSION_BYTES, "big")
        return header + nonce + cipher.encrypt(nonce, plain, header + bound)

    def open(self, sealed: bytes, bound: bytes) -> bytes:
        """Return the decrypted value of the place `bound`.

        A SealError says that it was changed or moved, or, with its `version` set, that its data key is unknown here.
        """
        if len(sealed) < SEAL_BYTES or sealed[:1] != _FORMAT:
            raise SealError("A sealed value is damaged: it is too short, or in a format of a later version.")
        version = sealed_version(sealed)
        if version not in self._ciphers:
            raise SealError("A value was sealed with a data key that is not there any more.", version=version)
        header, nonce = sealed[:_HEADER_BYTES], sealed[_HEADER_BYTES : _HEADER_BYTES + _NONCE_BYTES]
        cipher, _ = self._ciphers[version]
        try:
            return cipher.decrypt(nonce, sealed[_HEADER_BYTES + _NONCE_BYTES :], header + bound)
        except InvalidTag:
            raise SealError("A sealed value does not open: it was changed, or moved to another place.") from None

    def renewed(self) -> DataKey:
        """Return a new data key of the owner, with unchanged hashes of ids."""
        return DataKey(secrets.randbits(8 * _VERSION_BYTES), os.urandom(KEY_BYTES) + self._shared)

    def keyed(self, text: str) -> str:
        """Return the keyed hash of an id: 32 characters, the same under every version of the owner's key."""
        digest = self._ids.digest(text.encode("utf-8", "surrogatepass"))
        return base64.urlsafe_b64encode(digest[:_KEYED_BYTES]).decode()

    def derive(self, purpose: str) -> bytes:
        """Return a key for a purpose, the same under every version of the owner's key."""
        return derived_key(self._shared, f"for/{purpose}")


def sealed_version(sealed: bytes) -> int:
    """Return the version of the data key that sealed a value."""
    return int.from_bytes(sealed[len(_FORMAT) : _HEADER_BYTES], "big")


def _ciphers(secret: bytes) -> tuple[AESGCM, KeyedHash]:
    """Return the cipher and the hash for nonces."""
    key = secret[:KEY_BYTES]
    return AESGCM(derived_key(key, "seal")), KeyedHash(derived_key(key, "nonce"))


# The ring of a database's keys.

STALE_KEY = "RM001"
"""SQLSTATE of a write sealed with an outdated data key: forgotten with its owner, or rotated."""

_KEPT = 10_000
"""Owners with cached keys, some 2 kB each."""

_CHECK = ":check"
_ALL_SEALED = 0
"""Version of the check key once no row is in plain. The wrapped key is bound to it, so that nobody forges another."""

SEALED = ":sealed"
"""Field of a sealed value. The colon keeps it apart from a field `sealed` of an application."""

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
_HAS_PLAIN: LiteralString = "SELECT FROM store WHERE NOT jsonb_exists(value, %s) LIMIT 1"
_CONVERT = "UPDATE memory_keys SET version = %s, wrapped = %s, wrapped_by = %s WHERE owner = %s"
_SEALED_UNDER = "SELECT wrapped_by FROM memory_keys WHERE owner <> %s LIMIT 1"
_NEED = "SELECT memory_need_key(%s, %s)"


class KeyRing:
    """The data keys of a database.

    The database's own keys (see `derive`) have owners with a colon, which no owner's label contains. `refuses_plain`
    is true once everything is sealed: a plain row that comes later is not ours.
    """

    refuses_plain = False

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
                await self._make(owner, 1 + secrets.randbelow(2**32 - 1))
                found = await self.find([owner])
            return found[owner]

    async def _make(self, owner: str, version: int) -> None:
        made = await self.wrapped(owner, DataKey(version, os.urandom(_SECRET_BYTES)))
        async with self._pool.connection() as conn:
            await conn.execute(_MAKE, made)

    async def find(self, owners: Collection[str], conn: AsyncConnection[DictRow] | None = None) -> dict[str, OwnerKey]:
        """Return the existing keys of owners, read with a connection of the pool if none is given.

        An owner without a key has no sealed row.
        """
        found = {owner: known for owner in owners if (known := self._known.get(owner)) is not None}
        if missing := [owner for owner in owners if owner not in found]:
            async with self._pool.connection() if conn is None else nullcontext(conn) as reading:
                rows = await (await reading.execute(_READ, (sorted(missing),))).fetchall()
            keys: dict[str, list[DataKey]] = {}
            for row in rows:
                keys.setdefault(row["owner"], []).append(await _unwrapped(row, self.master))
            made = {owner: OwnerKey(owner, data_keys) for owner, data_keys in keys.items()}
            self._known.update(made)
            found.update(made)
        return found

    async def wrapped(self, owner: str, key: DataKey) -> tuple[str, int, bytes, str]:
        """Return a data key as its row: owner, version, wrapped key, id of the master key."""
        wrapped = await self.master.wrap(key.secret, _bound_to(owner, key.version))
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
        # where there are keys without the check key, somebody has deleted it
        if row["owner"] != _CHECK if row is not None else not await self._has_plain():
            await self._make(_CHECK, _ALL_SEALED)
        self.refuses_plain = (await self.of(_CHECK)).version == _ALL_SEALED

    async def refuse_plain(self) -> None:
        """Refuse plain rows from now on, in every process that starts; nothing is done while there are some."""
        if self.refuses_plain or await self._has_plain():
            return
        key = DataKey(_ALL_SEALED, os.urandom(_SECRET_BYTES))
        async with self._pool.connection() as conn:
            await conn.execute(_CONVERT, (*(await self.wrapped(_CHECK, key))[1:], _CHECK))
        self.forget(_CHECK)
        self.refuses_plain = True

    async def _has_plain(self) -> bool:
        async with self._pool.connection() as conn:
            return await (await conn.execute(_HAS_PLAIN, (SEALED,))).fetchone() is not None


async def _unwrapped(row: DictRow, master: MasterKey) -> DataKey:
    bound = _bound_to(row["owner"], row["version"])
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


def _bound_to(owner: str, version: int) -> bytes:
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
"""


class KeyCounts(NamedTuple):
    """Numbers of data keys: one in use for each owner, former ones that only open, and both by id of the master key."""

    in_use: int
    former: int
    wrapped_by: dict[str, int]


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
) -> int:
    """Wrap all data keys of former master keys with the current one, and return their number.

    `report` gets the number done and of all. A missing former key raises EncryptionKeyError; the data keys before it
    are done.
    """
    async with pool.connection() as conn:
        row = await (await conn.execute(_ALL, (master.id,))).fetchone()
    done, total = 0, row["keys"] if row is not None else 0
    while True:
        report(done, max(done, total))
        async with pool.connection() as conn:
            rows = await (await conn.execute(_NEXT, (master.id, _ROWS))).fetchall()
        if not rows:
            return done
        wrapped = []
        for row in rows:
            bound = _bound_to(row["owner"], row["version"])
            secret = await master.unwrap(row["wrapped"], bound, row["wrapped_by"])
            wrapped.append(await master.wrap(secret, bound))
        owners, versions, before = ([row[name] for row in rows] for name in ("owner", "version", "wrapped_by"))
        async with pool.connection() as conn:
            done += (await conn.execute(_REWRAP, (master.id, owners, versions, wrapped, before))).rowcount
