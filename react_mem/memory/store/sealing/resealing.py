"""Online encryption of existing rows: plain rows, and rows sealed with a former data key.

It works owner by owner in small transactions, each of which blocks that owner's writers for some 30 ms. It can
be stopped and started again, since each row names the key that sealed it. Ids and times stay, so no reader
notices.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, LiteralString, NamedTuple

from psycopg.rows import DictRow

from react_mem.memory.store.keys.key_ring import KeyRing, need_keys
from react_mem.memory.store.keys.owner_key import OwnerKey, sealed_version
from react_mem.memory.store.owner_index import facts_of_text
from react_mem.memory.store.row_security import Connection, Pool
from react_mem.memory.store.sealing.sealed_entries import (
    SEALED,
    is_sealed,
    opened_value,
    resealed_row,
    sealed_row,
    sealed_value,
)
from react_mem.memory.store.stored_text import to_json
from react_mem.memory.store.transactions import until_no_deadlock
from react_mem.memory.store.writes import IndexRow, columns, revise

_ITEMS = 100
"""Items in one transaction."""

_OWNERS = 1_000

# After an interruption this also counts the items of an owner that are done already.
_LEFT: LiteralString = """
    SELECT count(*) AS items FROM store s
    WHERE NOT jsonb_exists(s.value, %s)
        OR EXISTS (SELECT FROM memory_keys k WHERE k.owner = s.owner AND k.state = 'former')
"""
# From the items, by the primary key: an owner without writes since revisions exist is not in memory_owners.
_NEXT_OWNERS = "SELECT DISTINCT owner FROM store WHERE owner > %s ORDER BY owner LIMIT %s"
_NEXT = """
    SELECT prefix, key, value FROM store WHERE owner = %s AND (prefix, key) > (%s, %s)
    ORDER BY prefix, key LIMIT %s FOR UPDATE
"""
_TEXTS = """
    SELECT v.prefix, v.key, v.field_name, vector_send(v.half::vector) AS embedding,
        v.words::text AS words, v.length, v.place, v.said_at, v.sealed, v.sealed_vector
    FROM store_vectors v JOIN unnest(%s::text[], %s::text[]) AS wanted (prefix, key)
        ON v.prefix = wanted.prefix AND v.key = wanted.key
    WHERE v.owner = %s
"""
# A process without the key may have written a plain row beside an older sealed row: the later one counts.
_DROP_OLDER = """
    DELETE FROM store s USING unnest(%s::text[], %s::text[], %s::text[]) AS new (prefix, key, stored), store plain
    WHERE s.owner = %s AND s.prefix = new.prefix AND s.key = new.stored
        AND plain.owner = s.owner AND plain.prefix = new.prefix AND plain.key = new.key
        AND s.updated_at < plain.updated_at
"""
_THERE = """
    SELECT s.prefix, s.key FROM store s JOIN unnest(%s::text[], %s::text[]) AS new (prefix, stored)
        ON s.prefix = new.prefix AND s.key = new.stored
    WHERE s.owner = %s
"""
# What was sealed before keeps its place.
_MOVE = """
    INSERT INTO store (owner, prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
    SELECT s.owner, s.prefix, new.stored, new.value::jsonb, s.created_at, s.updated_at, s.expires_at, s.ttl_minutes
    FROM store s JOIN unnest(%s::text[], %s::text[], %s::text[], %b::text[]) AS new (prefix, key, stored, value)
        ON s.prefix = new.prefix AND s.key = new.key
    WHERE s.owner = %s
    ON CONFLICT (owner, prefix, key) DO UPDATE SET value = excluded.value
"""
_MOVE_TEXTS = """
    INSERT INTO store_vectors (
        owner, prefix, key, field_name, sealed, sealed_vector, revision, created_at, updated_at
    )
    SELECT v.owner, v.prefix, new.stored, v.field_name, new.sealed, new.sealed_vector, o.revision, v.created_at,
        v.updated_at
    FROM store_vectors v
        JOIN unnest(%s::text[], %s::text[], %s::text[], %s::text[], %b::bytea[], %b::bytea[])
            AS new (prefix, key, field_name, stored, sealed, sealed_vector)
        ON v.prefix = new.prefix AND v.key = new.key AND v.field_name = new.field_name
        JOIN memory_owners o ON o.owner = v.owner
    WHERE v.owner = %s
    ON CONFLICT (owner, prefix, key, field_name) DO UPDATE SET sealed = excluded.sealed,
        sealed_vector = excluded.sealed_vector, revision = excluded.revision
"""
_DROP = """
    DELETE FROM store s USING unnest(%s::text[], %s::text[]) AS gone (prefix, key)
    WHERE s.owner = %s AND s.prefix = gone.prefix AND s.key = gone.key
"""
_RETIRE = "UPDATE memory_keys SET state = 'former' WHERE owner = %s AND version = %s AND state = 'live'"
_ADD = "INSERT INTO memory_keys (owner, version, wrapped, wrapped_by) VALUES (%s, %s, %s, %s)"
_DROP_FORMER = "DELETE FROM memory_keys WHERE owner = %s AND state = 'former' AND version = ANY(%s::bigint[])"


class Resealed(NamedTuple):
    """Numbers of sealed items: formerly plain ones, and ones of a former data key."""

    from_plain: int = 0
    anew: int = 0


_Item = tuple[str, str, str, str]
"""Prefix, present key, key of the sealed row, and its value."""

_Text = tuple[str, str, str, str, bytes | None, bytes | None]
"""Prefix, present key, field name, key of the sealed row, and its sealed words and vector."""


async def owners_of(pool: Pool, statement: LiteralString = _NEXT_OWNERS, *where: Any) -> AsyncIterator[str]:
    """Yield the owners that a statement finds, by default all in a database, in order."""
    last = ""
    while True:
        async with pool.connection() as conn:
            rows = await (await conn.execute(statement, (*where, last, _OWNERS))).fetchall()
        for row in rows:
            yield row["owner"]
        if len(rows) < _OWNERS:
            return
        last = rows[-1]["owner"]


async def reseal(pool: Pool, ring: KeyRing, report: Callable[[int, int], None]) -> Resealed:
    """Seal all plain items, seal the items of former data keys again, and delete those keys.

    `report` is called after each transaction with the number of items sealed so far, and of all.
    """
    async with pool.connection() as conn:
        row = await (await conn.execute(_LEFT, (SEALED,))).fetchone()
    done, total = Resealed(), row["items"] if row is not None else 0
    report(0, total)
    async for owner in owners_of(pool):
        async for sealed in _reseal_owner(pool, ring, owner):
            done = Resealed(done.from_plain + sealed.from_plain, done.anew + sealed.anew)
            # some may have been written since they were counted
            report(sum(done), max(total, sum(done)))
    return done


async def renew(pool: Pool, ring: KeyRing, owner: str) -> None:
    """Give an owner a new data key that seals from now on; the former key still opens older values."""
    ring.forget(owner)
    key = await ring.of(owner)
    made = await ring.wrapped(owner, key.renewed())
    async with pool.connection() as conn, conn.transaction():
        await revise(conn, [owner], removes=False)
        if (await conn.execute(_RETIRE, (owner, key.version))).rowcount:
            await conn.execute(_ADD, made)
    ring.forget(owner)


async def _reseal_owner(pool: Pool, ring: KeyRing, owner: str) -> AsyncIterator[Resealed]:
    ring.forget(owner)
    key = await ring.of(owner)
    place: tuple[str, str] | None = ("", "")
    while place is not None:
        sealed, place = await until_no_deadlock(pool, partial(_reseal_batch, key=key, after=place))
        yield sealed
    if former := key.versions[1:]:
        # all writers must use the current key since it exists: nothing is sealed with the former ones any more
        async with pool.connection() as conn, conn.transaction():
            await revise(conn, [owner], removes=False)
            await need_keys(conn, [key])
            await conn.execute(_DROP_FORMER, (owner, list(former)))
        ring.forget(owner)


async def _reseal_batch(
    conn: Connection, key: OwnerKey, after: tuple[str, str]
) -> tuple[Resealed, tuple[str, str] | None]:
    """Seal the next items in one transaction, and return their numbers and the place of the last if others follow."""
    owner = key.owner
    async with conn.transaction():
        await revise(conn, [owner], removes=True)
        await need_keys(conn, [key])
        rows = await (await conn.execute(_NEXT, (owner, *after, _ITEMS))).fetchall()
        following = (rows[-1]["prefix"], rows[-1]["key"]) if len(rows) == _ITEMS else None
        rows = [row for row in rows if not _is_current(key, row["value"])]
        if not rows:
            return Resealed(), following
        places = columns([(row["prefix"], row["key"]) for row in rows], 2)
        texts = await (await conn.execute(_TEXTS, (*places, owner))).fetchall()
        items, new_texts = await asyncio.to_thread(_sealed_batch, key, rows, texts)
        moved, later = [item for item in items if item[1] != item[2]], set()
        if moved:
            prefixes, keys, stored, _ = columns(moved, 4)
            await conn.execute(_DROP_OLDER, (prefixes, keys, stored, owner))
            there = await (await conn.execute(_THERE, (prefixes, stored, owner))).fetchall()
            later = {(row["prefix"], row["key"]) for row in there}
        new = [item for item in items if item[1] == item[2] or (item[0], item[2]) not in later]
        await conn.execute(_MOVE, (*columns(new, 4), owner))
        with_texts = [text for text in new_texts if text[1] == text[3] or (text[0], text[3]) not in later]
        await conn.execute(_MOVE_TEXTS, (*columns(with_texts, 6), owner))
        if moved:
            await conn.execute(_DROP, (prefixes, keys, owner))
    return Resealed(len(moved), len(items) - len(moved)), following


def _is_current(key: OwnerKey, value: Any) -> bool:
    return is_sealed(value) and sealed_version(b64decode(value[SEALED][:8])) == key.version


def _sealed_batch(key: OwnerKey, rows: Sequence[DictRow], texts: Iterable[DictRow]) -> tuple[list[_Item], list[_Text]]:
    of_item: defaultdict[tuple[str, str], list[IndexRow]] = defaultdict(list)
    for text in texts:
        of_item[text["prefix"], text["key"]].append(IndexRow(**text))
    items: list[_Item] = []
    sealed_texts: list[_Text] = []
    for row in rows:
        prefix, item, value = row["prefix"], row["key"], row["value"]
        its_texts = of_item[prefix, item]
        if is_sealed(value):
            stored, (own, opened) = item, opened_value(key, prefix, item, value)
            new = [resealed_row(key, text) for text in its_texts]
        else:
            stored, own, opened = key.keyed(item), item, value
            names = [text.field_name for text in its_texts]
            new = [sealed_row(key, _with_words(text, value, names)) for text in its_texts]
        items.append((prefix, item, stored, to_json(sealed_value(key, prefix, own, opened))))
        sealed_texts += [(prefix, item, each.field_name, stored, each.sealed, each.sealed_vector) for each in new]
    return items, sealed_texts


def _with_words(row: IndexRow, value: Any, names: Sequence[str]) -> IndexRow:
    """Return a row with the words of its text, which are missing where LangGraph's own store wrote it."""
    if row.words is not None:
        return row
    words, length, place, said_at = facts_of_text(value, row.field_name, names)
    return row._replace(words=f"{{{','.join(map(str, words))}}}", length=length, place=place, said_at=said_at)


# Rotation of the data keys: every owner gets a new one, and everything is sealed anew, while others read and write.

_BEGUN = ":rotation"
_NOTED = "SELECT created_at FROM memory_keys WHERE owner = %s"
# Two statements: of an owner and of all in one, a cluster makes no plan.
_ROTATION_LEFT = """
    SELECT owner FROM memory_keys WHERE owner NOT LIKE ':%%' AND (state = 'former' OR created_at < %s) LIMIT 1
"""
_END = "DELETE FROM memory_keys WHERE owner = %s"
_OLD = "owner NOT LIKE ':%%' AND state = 'live' AND created_at < %s"
_COUNT = f"SELECT count(*) AS owners FROM memory_keys WHERE {_OLD}"  # noqa: S608 - of literals
_NEXT_OLD = f"SELECT owner FROM memory_keys WHERE {_OLD} AND owner > %s ORDER BY owner LIMIT %s"  # noqa: S608 - of literals


async def begin_rotation(pool: Pool, ring: KeyRing) -> tuple[datetime, bool]:
    """Start a rotation of all data keys, or continue an unfinished one; return its start, and true if continued."""
    before = await _begun(pool)
    if before is not None and await _is_open(pool, before):
        return before, True
    # a stopped rotation may have been completed since, for example by `reseal`
    await end_rotation(pool, ring)
    await ring.of(_BEGUN)
    begun = await _begun(pool)
    assert begun is not None  # noqa: S101 - it was just made
    return begun, False


async def renew_all(pool: Pool, ring: KeyRing, begun: datetime, report: Callable[[int, int], None]) -> int:
    """Give a new data key to every owner with a key from before the rotation, and return the number of owners."""
    async with pool.connection() as conn:
        row = await (await conn.execute(_COUNT, (begun,))).fetchone()
    done, total = 0, row["owners"] if row is not None else 0
    report(done, total)
    async for owner in owners_of(pool, _NEXT_OLD, begun):
        await renew(pool, ring, owner)
        done += 1
        report(done, max(done, total))
    return done


async def end_rotation(pool: Pool, ring: KeyRing) -> None:
    """Mark the rotation as finished; the next one makes new keys."""
    async with pool.connection() as conn:
        await conn.execute(_END, (_BEGUN,))
    ring.forget(_BEGUN)


async def _begun(pool: Pool) -> datetime | None:
    async with pool.connection() as conn:
        row = await (await conn.execute(_NOTED, (_BEGUN,))).fetchone()
    return None if row is None else row["created_at"]


async def _is_open(pool: Pool, begun: datetime) -> bool:
    async with pool.connection() as conn:
        return await (await conn.execute(_ROTATION_LEFT, (begun,))).fetchone() is not None
