"""Online encryption of existing rows: plain rows, and rows sealed with a former data key.

It works owner by owner in small transactions, each of which blocks that owner's writers for some 30 ms. It can
be stopped and started again, since each row names the key that sealed it. Ids and times stay, so no reader
notices.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, LiteralString, NamedTuple

from psycopg.rows import DictRow

from react_mem.errors import SealError
from react_mem.memory.store.key_ring import KeyRing, OwnerKey, need_keys, sealed_version
from react_mem.memory.store.owner_index import facts_of_text
from react_mem.memory.store.row_security import Connection, Pool
from react_mem.memory.store.sealed_entries import (
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

log = logging.getLogger(__name__)

_ITEMS = 100
"""Items in one transaction."""

_OWNERS = 1_000

# After an interruption this also counts the items of an owner that are done already.
_LEFT: LiteralString = """
    SELECT count(*) AS items FROM store s
    WHERE NOT jsonb_exists(s.value, %s) OR EXISTS (
        SELECT FROM memory_keys k
        WHERE k.owner = s.owner AND (k.state = 'former' OR k.created_at < coalesce(%s, '-infinity'::timestamptz))
    )
"""
# From the items, as an owner without writes since revisions exist is not in memory_owners; and from the keys, as one
# without items has a key that would seal the next.
_NEXT_OWNERS = """
    SELECT owner FROM store WHERE owner > %(last)s
    UNION SELECT owner FROM memory_keys WHERE owner > %(last)s AND owner NOT LIKE ':%%'
    ORDER BY owner LIMIT %(most)s
"""
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
# A sealed write deletes its item's plain row: one beside a sealed row is of a process without the key, and later.
_DROP_OLDER = """
    DELETE FROM store s USING unnest(%s::text[], %s::text[]) AS new (prefix, stored)
    WHERE s.owner = %s AND s.prefix = new.prefix AND s.key = new.stored
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
_IS_OLD = "SELECT FROM memory_keys WHERE owner = %s AND state = 'live' AND created_at < %s"


class Resealed(NamedTuple):
    """Numbers of sealed items: formerly plain ones, and ones of a former data key; of owners with a new key; and of
    rows that are left as they are, since they do not open, or are in plain where everything was sealed before.
    """

    from_plain: int = 0
    anew: int = 0
    owners: int = 0
    refused: int = 0


_Item = tuple[str, str, str, str]
"""Prefix, present key, key of the sealed row, and its value."""

_Text = tuple[str, str, str, str, bytes | None, bytes | None]
"""Prefix, present key, field name, key of the sealed row, and its sealed words and vector."""


async def owners_of(pool: Pool) -> AsyncIterator[str]:
    """Yield the owners of a database with items or a data key, in order."""
    last = ""
    while True:
        async with pool.connection() as conn:
            rows = await (await conn.execute(_NEXT_OWNERS, {"last": last, "most": _OWNERS})).fetchall()
        for row in rows:
            yield row["owner"]
        if len(rows) < _OWNERS:
            return
        last = rows[-1]["owner"]


async def reseal(
    pool: Pool, ring: KeyRing, report: Callable[[int, int], None], *, older_than: datetime | None = None
) -> Resealed:
    """Seal all plain items, seal the items of former data keys again, and delete those keys.

    `report` is called after each transaction with the number of items sealed so far, and of all. An owner whose key is
    older than a time gets a new one first.
    """
    async with pool.connection() as conn:
        row = await (await conn.execute(_LEFT, (SEALED, older_than))).fetchone()
    plain, anew, owners, refused, total = 0, 0, 0, 0, row["items"] if row is not None else 0
    report(0, total)
    async for owner in owners_of(pool):
        if older_than is not None and await _found(pool, _IS_OLD, owner, older_than):
            await renew(pool, ring, owner)
            owners += 1
        async for moved, again, left in _reseal_owner(pool, ring, owner):
            plain, anew, refused = plain + moved, anew + again, refused + left
            # some may have been written since they were counted
            report(plain + anew, max(total, plain + anew))
    await ring.refuse_plain()
    return Resealed(plain, anew, owners, refused)


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


async def _reseal_owner(pool: Pool, ring: KeyRing, owner: str) -> AsyncIterator[tuple[int, int, int]]:
    ring.forget(owner)
    key = await ring.of(owner)
    place: tuple[str, str] | None = ("", "")
    while place is not None:
        sealed, place = await until_no_deadlock(
            pool, partial(_reseal_batch, key=key, after=place, takes_plain=not ring.refuses_plain)
        )
        yield sealed
    if former := key.versions[1:]:
        # all writers must use the current key since it exists: nothing is sealed with the former ones any more
        async with pool.connection() as conn, conn.transaction():
            await revise(conn, [owner], removes=False)
            await need_keys(conn, [key])
            await conn.execute(_DROP_FORMER, (owner, list(former)))
        ring.forget(owner)


async def _reseal_batch(
    conn: Connection, key: OwnerKey, after: tuple[str, str], *, takes_plain: bool
) -> tuple[tuple[int, int, int], tuple[str, str] | None]:
    """Seal the next items in one transaction, and return their numbers and the place of the last if others follow.

    The numbers are of formerly plain ones, of ones that were sealed with a former key, and of refused ones.
    """
    owner = key.owner
    async with conn.transaction():
        await revise(conn, [owner], removes=True)
        await need_keys(conn, [key])
        rows = await (await conn.execute(_NEXT, (owner, *after, _ITEMS))).fetchall()
        following = (rows[-1]["prefix"], rows[-1]["key"]) if len(rows) == _ITEMS else None
        rows = [row for row in rows if not _is_current(key, row["value"])]
        ours = [row for row in rows if takes_plain or is_sealed(row["value"])]
        left, rows = len(rows) - len(ours), ours
        if not rows:
            return (0, 0, left), following
        places = columns([(row["prefix"], row["key"]) for row in rows], 2)
        texts = await (await conn.execute(_TEXTS, (*places, owner))).fetchall()
        items, new_texts = await asyncio.to_thread(_sealed_batch, key, rows, texts)
        left += len(rows) - len(items)
        if moved := [item for item in items if item[1] != item[2]]:
            prefixes, keys, stored, _ = columns(moved, 4)
            await conn.execute(_DROP_OLDER, (prefixes, stored, owner))
        await conn.execute(_MOVE, (*columns(items, 4), owner))
        await conn.execute(_MOVE_TEXTS, (*columns(new_texts, 6), owner))
        if moved:
            await conn.execute(_DROP, (prefixes, keys, owner))
    return (len(moved), len(items) - len(moved), left), following


def _is_current(key: OwnerKey, value: Any) -> bool:
    with suppress(ValueError):  # of what is no base64
        return is_sealed(value) and sealed_version(b64decode(value[SEALED][:8])) == key.version
    return False


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
            new = []
            try:
                stored, (own, opened) = item, opened_value(key, prefix, item, value)
            except SealError as error:
                log.error("a row of the store is not sealed anew: %s Its key is %r", error, item)
                continue
            for its_text in its_texts:
                # without it the row is found by no search; left under a key that goes, it would be lost
                with suppress(SealError):
                    new.append(resealed_row(key, its_text))
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


async def rotate(pool: Pool, ring: KeyRing, report: Callable[[int, int], None]) -> tuple[Resealed, datetime | None]:
    """Give every owner a new data key and seal everything with it; return also the start of a rotation that goes on.

    One that was stopped goes on: owners who have a new key since keep it.
    """
    before = await _begun(pool)
    goes_on = before is not None and await _found(pool, _ROTATION_LEFT, before)
    if not goes_on:
        # a stopped rotation may have been completed since, for example by `reseal`
        await _end(pool, ring)
        await ring.of(_BEGUN)
    done = await reseal(pool, ring, report, older_than=await _begun(pool))
    await _end(pool, ring)
    return done, before if goes_on else None


async def _end(pool: Pool, ring: KeyRing) -> None:
    async with pool.connection() as conn:
        await conn.execute(_END, (_BEGUN,))
    ring.forget(_BEGUN)


async def _begun(pool: Pool) -> datetime | None:
    async with pool.connection() as conn:
        row = await (await conn.execute(_NOTED, (_BEGUN,))).fetchone()
    return None if row is None else row["created_at"]


async def _found(pool: Pool, statement: LiteralString, *values: Any) -> bool:
    async with pool.connection() as conn:
        return await (await conn.execute(statement, values)).fetchone() is not None
