"""Rotation of the data keys: every owner gets a new one, and everything is sealed anew, while others read and write.

It can be stopped at any moment and begun again: when it was begun is noted in the database, and who has a key that is
younger has been given it. The note is a key of the database's own, which nothing is sealed with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.store.keys.key_ring import KeyRing
from react_mem.memory.store.sealing.resealing import renew

_OWNERS = 1_000

_BEGUN = ":rotation"
_NOTED = "SELECT created_at FROM memory_keys WHERE owner = %s"
# Two statements: of an owner and of all in one, a cluster makes no plan.
_LEFT = """
    SELECT owner FROM memory_keys WHERE owner NOT LIKE ':%%' AND (state = 'former' OR created_at < %s) LIMIT 1
"""
_END = "DELETE FROM memory_keys WHERE owner = %s"
_OLD = "owner NOT LIKE ':%%' AND state = 'live' AND created_at < %s"
_COUNT = f"SELECT count(*) AS owners FROM memory_keys WHERE {_OLD}"  # noqa: S608 - of literals
_NEXT = f"SELECT owner FROM memory_keys WHERE {_OLD} AND owner > %s ORDER BY owner LIMIT %s"  # noqa: S608 - of literals

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


async def begin_rotation(pool: Pool, ring: KeyRing) -> tuple[datetime, bool]:
    """Begin to give every owner a new data key, or go on with what was begun and not ended.

    Args:
        pool: The database.
        ring: The keys of its owners.

    Returns:
        When it was begun, and whether that was before.
    """
    before = await _begun(pool)
    if before is not None and await _is_open(pool, before):
        return before, True
    # all that it was about has been done since, as by sealing what a stopped rotation had left
    await end_rotation(pool, ring)
    await ring.of(_BEGUN)
    begun = await _begun(pool)
    assert begun is not None  # noqa: S101 - it was just made
    return begun, False


async def renew_all(pool: Pool, ring: KeyRing, begun: datetime, report: Callable[[int, int], None]) -> int:
    """Give every owner a new data key who has none that is younger than the rotation.

    Args:
        pool: The database.
        ring: The keys of its owners.
        begun: When the rotation was begun.
        report: Is told after each owner how many it were so far, and of how many.

    Returns:
        How many owners it were.
    """
    async with pool.connection() as conn:
        row = await (await conn.execute(_COUNT, (begun,))).fetchone()
    done, total = 0, row["owners"] if row is not None else 0
    report(done, total)
    async for owner in _with_old_keys(pool, begun):
        await renew(pool, ring, owner)
        done += 1
        report(done, max(done, total))
    return done


async def end_rotation(pool: Pool, ring: KeyRing) -> None:
    """Note that everything is sealed by the new data keys: the next rotation makes new ones."""
    async with pool.connection() as conn:
        await conn.execute(_END, (_BEGUN,))
    ring.forget(_BEGUN)


async def _begun(pool: Pool) -> datetime | None:
    async with pool.connection() as conn:
        row = await (await conn.execute(_NOTED, (_BEGUN,))).fetchone()
    return None if row is None else row["created_at"]


async def _is_open(pool: Pool, begun: datetime) -> bool:
    async with pool.connection() as conn:
        return await (await conn.execute(_LEFT, (begun,))).fetchone() is not None


async def _with_old_keys(pool: Pool, begun: datetime) -> AsyncIterator[str]:
    last = ""
    while True:
        async with pool.connection() as conn:
            rows = await (await conn.execute(_NEXT, (begun, last, _OWNERS))).fetchall()
        for row in rows:
            yield row["owner"]
        if len(rows) < _OWNERS:
            return
        last = rows[-1]["owner"]
