"""Rotation of the master key: every data key is wrapped anew, while others read and write.

What they seal stays as it is. It can be stopped and begun again: each key says what has wrapped it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.store.keys.key_ring import bound_to
from react_mem.memory.store.keys.master_key import MasterKey

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
