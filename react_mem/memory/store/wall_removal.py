"""Taking the wall down: the tables of a cluster have no policies, and its nodes know no role that nobody logs in as.

The policies go first, and what reads in the application role goes on by its own conditions. The role's privileges go
with the distribution itself, so that a process that has not heard of it is refused, and looks again (see `pool`).
"""

from __future__ import annotations

from typing import LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from react_mem.memory.store.wall import APPLICATION_ROLE, POLICIES

Connection = AsyncConnection[DictRow]

_POLICIES_OF_TABLES = """
    SELECT p.polname AS name, c.relname AS on, n.others
    FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid CROSS JOIN LATERAL (
        SELECT count(*) AS others FROM pg_policy o WHERE o.polrelid = c.oid AND NOT o.polname = ANY(%(names)s::text[])
    ) n
    WHERE c.relnamespace = current_schema()::regnamespace AND p.polname = ANY(%(names)s::text[])
    ORDER BY c.relname, p.polname
"""
_GRANTED = """
    SELECT DISTINCT c.relname AS name FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        JOIN pg_roles r ON r.oid = a.grantee
    WHERE r.rolname = %s AND c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
"""
_USED_SCHEMA = """
    SELECT n.nspname AS name FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a
        JOIN pg_roles r ON r.oid = a.grantee
    WHERE r.rolname = %s AND n.nspname = current_schema()
"""
_PROPAGATE: LiteralString = "SELECT set_config('citus.enable_ddl_propagation', %s, TRUE)"
# What the role reads through.
_FUNCTIONS: LiteralString = r"""
    SELECT p.oid::regprocedure::text AS name FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.proname ~ '^memory_\w+_within$' AND p.prosecdef
"""


async def drop_policies(conn: Connection) -> list[str]:
    """Drop the policies of the wall, and return which; those that somebody else has made stay in force.

    Args:
        conn: A connection in a transaction.
    """
    rows = await (await conn.execute(_POLICIES_OF_TABLES, {"names": list(POLICIES)})).fetchall()
    for row in rows:
        await conn.execute(SQL("DROP POLICY {} ON {}").format(Identifier(row["name"]), Identifier(row["on"])))
    for table in sorted({row["on"] for row in rows if not row["others"]}):
        await conn.execute(SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(Identifier(table)))
    return [f"{row['name']} of {row['on']}" for row in rows]


async def drop_privileges(conn: Connection) -> None:
    """Leave the application role nothing in this schema: what it has there, a cluster would give it on each node.

    Args:
        conn: A connection in a transaction.
    """
    for row in await (await conn.execute(_FUNCTIONS)).fetchall():
        name: LiteralString = row["name"]
        await conn.execute(SQL("DROP FUNCTION {}").format(SQL(name)))
    role = Identifier(APPLICATION_ROLE)
    # here alone: the nodes may not have the role, which one server made before it was a coordinator
    await conn.execute(_PROPAGATE, ("off",))
    for row in await (await conn.execute(_GRANTED, (APPLICATION_ROLE,))).fetchall():
        await conn.execute(SQL("REVOKE ALL ON {} FROM {}").format(Identifier(row["name"]), role))
    for row in await (await conn.execute(_USED_SCHEMA, (APPLICATION_ROLE,))).fetchall():
        await conn.execute(SQL("REVOKE ALL ON SCHEMA {} FROM {}").format(Identifier(row["name"]), role))
    await conn.execute(_PROPAGATE, ("on",))
