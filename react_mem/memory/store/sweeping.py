"""Deleting what has expired, of one owner after the other."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.store.writes import leave, revise

_EXPIRED = "SELECT DISTINCT s.owner FROM store s WHERE s.expires_at < now() ORDER BY s.owner"
_SWEEP = "DELETE FROM store s WHERE s.owner = %s AND s.expires_at < now()"


async def sweep(conn: AsyncConnection[DictRow]) -> int:
    """Delete what has expired; return how many items.

    Args:
        conn: An autocommit connection.
    """
    swept = 0
    for row in await (await conn.execute(_EXPIRED)).fetchall():
        async with conn.transaction():
            await revise(conn, [row["owner"]], removes=True)
            swept += (await conn.execute(_SWEEP, (row["owner"],))).rowcount
            await leave(conn, [row["owner"]])
    return swept
