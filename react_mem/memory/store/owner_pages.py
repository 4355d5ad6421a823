"""Pages of all that an owner has, by the places of its rows: see `memory.store.owned.PagedStore`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import owner_of_path
from react_mem.memory.store.wall import walled

_PAGE: LiteralString = """
    SELECT s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at FROM store s
    WHERE s.owner = %s AND (s.prefix = %s OR starts_with(s.prefix, %s)) AND (s.prefix, s.key) > (%s, %s)
        AND (NOT %s OR s.expires_at IS NULL OR s.expires_at > now())
    ORDER BY s.prefix, s.key LIMIT %s
"""


async def read_page(
    conn: AsyncConnection[DictRow],
    namespace: Sequence[str],
    behind: tuple[str, str],
    limit: int,
    *,
    omit_expired: bool,
) -> list[DictRow]:
    """Return the next rows of an owner's namespace and those below it, their values as text.

    Args:
        conn: A connection.
        namespace: The namespace.
        behind: The namespace and the key of the row behind which to begin.
        limit: Rows at most.
        omit_expired: Whether what has expired is left out.
    """
    path = ".".join(namespace)
    asked = (owner_of_path(path), path, f"{path}.", *behind, omit_expired, limit)
    async with walled(conn, asked[:1]):
        page = await conn.execute(_PAGE, asked)
    return await page.fetchall()


def place_behind(rows: Sequence[DictRow], before: tuple[str, str]) -> tuple[str, str]:
    """Return the place of the last of some rows; of none, the one before."""
    return (rows[-1]["prefix"], rows[-1]["key"]) if rows else before
