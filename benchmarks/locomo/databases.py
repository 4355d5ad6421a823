"""A database for each system that needs one, on one server, and what it weighs."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

_DISK = """
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND c.relname NOT LIKE 'checkpoint%'
"""


async def new_database(server_url: str, name: str) -> str:
    """Make a database and return its address."""
    async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
        await conn.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


async def disk_bytes(url: str) -> int:
    """Return the size of all tables of a database with their indexes, the threads' (checkpoints) left out.

    The tables are analysed first, as autovacuum would do a minute later, so that nobody is searched by a plan made for
    empty tables.
    """
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("ANALYZE")
        row = await (await conn.execute(_DISK)).fetchone()
    assert row is not None
    return int(row[0])
