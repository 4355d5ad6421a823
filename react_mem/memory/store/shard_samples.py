"""Samples that the planner keeps of what was said, on the nodes of a cluster: there are to be none.

A migration sees to the tables of one server (`schema/0031_no_content_in_statistics.sql`), and what is distributed after
it takes that along. Of tables that were distributed before, Citus takes no such change: each shard is told by itself.
"""

from __future__ import annotations

import logging
from typing import LiteralString

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

Connection = AsyncConnection[DictRow]

# The coordinator's table says what is done: where a column is still sampled there, some shard may be.
_SAMPLED = """
    SELECT c.relname AS name, a.attname AS column, current_setting('server_version_num')::int >= 180000 AS clears
    FROM pg_class c JOIN pg_dist_partition p ON p.logicalrelid = c.oid
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = current_schema()::regnamespace AND coalesce(a.attstattarget, -1) <> 0
        AND (c.relname::text, a.attname::text) IN (
            ('store', 'value'), ('checkpoints', 'checkpoint'), ('checkpoints', 'metadata'),
            ('checkpoint_blobs', 'blob'), ('checkpoint_writes', 'blob')
        )
    ORDER BY 1, 2
"""
_ON_SHARDS: LiteralString = "SELECT success, result FROM run_command_on_shards(%s::regclass, %s)"
_STOP = "ALTER TABLE %s ALTER COLUMN {column} SET STATISTICS 0"
_CLEAR = """
    SELECT pg_clear_attribute_stats(n.nspname, c.relname, '{column}', FALSE)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = '%s'::regclass
"""
# Before PostgreSQL 18 only a superuser clears what there is; who is none waits until the rows are gone.
_CLEAR_BEFORE = """
    DELETE FROM pg_statistic s USING pg_attribute a
    WHERE s.starelid = '%s'::regclass AND a.attrelid = s.starelid AND a.attnum = s.staattnum AND a.attname = '{column}'
"""
_HERE_ALONE: LiteralString = "SELECT set_config('citus.enable_ddl_propagation', 'off', TRUE)"

log = logging.getLogger(__name__)


async def drop_samples(conn: Connection) -> list[str]:
    """Have no samples kept of what was said, and return of which columns there were some.

    Args:
        conn: An autocommit connection to the coordinator, in a database that is distributed.
    """
    done = []
    for row in await (await conn.execute(_SAMPLED)).fetchall():
        table, column = row["name"], row["column"]
        if not await _on_shards(conn, table, _STOP.format(column=column)):
            continue
        await _on_shards(conn, table, (_CLEAR if row["clears"] else _CLEAR_BEFORE).format(column=column))
        async with conn.transaction():
            await conn.execute(_HERE_ALONE)
            await conn.execute(
                SQL("ALTER TABLE {} ALTER COLUMN {} SET STATISTICS 0").format(Identifier(table), Identifier(column))
            )
        done.append(f"{table}.{column}")
    return done


async def _on_shards(conn: Connection, table: str, command: str) -> bool:
    try:
        found = await (await conn.execute(_ON_SHARDS, (table, command))).fetchall()
    except errors.InsufficientPrivilege:
        found = []
    if found and all(row["success"] for row in found):
        return True
    log.warning("the planner's samples of %s could not be dropped on every node; the next start tries again", table)
    return False
