"""Row-level security: statements about some owners run in a role that sees the rows of these alone.

Whatever a statement forgets to ask for, the database refuses. The role and the owners hold for one transaction, so that
it works behind a pooler too, and they are sent along with the statements, so that it takes no round trip.

Who works across owners, as migrations, maintenance and workers do, keeps the role that the process has logged in with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, nullcontext
from typing import LiteralString, Protocol, cast

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from react_mem.memory.model.namespaces import owner_within
from react_mem.memory.store.stored_text import text_array

APPLICATION_ROLE = "react_mem_app"
"""Role that reads and writes for owners. Nobody logs in as it."""

REFUSALS = errors.InsufficientPrivilege, errors.UndefinedTable, errors.UndefinedFunction
"""Errors of a statement in that role once it has been left nothing; of a schema it may not use, it finds no table."""

POLICIES = EVERYBODY, OWNED = "react_mem_everybody", "react_mem_owned"
"""Policies of a table: whom nothing is kept from, and from whom everything is that is not of the owners named."""

_CONFINE: LiteralString = "SELECT set_config('role', %s, TRUE), set_config('react_mem.owners', %s, TRUE)"
_UNCONFINE: LiteralString = "SELECT set_config('role', 'none', TRUE)"


class Confinable(Protocol):
    """A connection that knows whether it is within `walled`."""

    is_confined: bool


@asynccontextmanager
async def walled(
    conn: AsyncConnection[DictRow], owners: Collection[str], *, together: bool = False
) -> AsyncIterator[None]:
    """Run statements that see rows of some owners alone; what they find is fetched behind it.

    Within, there is no other pipeline and no other transaction: either would end this one, and the wall with it.

    Args:
        conn: An autocommit connection outside a transaction.
        owners: The owners.
        together: Whether there are several statements, which are sent in one round trip with or without a wall.
    """
    if not has_wall(conn):
        async with conn.pipeline() if together else nullcontext():
            yield
        return
    confined = cast("Confinable", conn)
    async with conn.pipeline():
        await confine(conn, owners)
        confined.is_confined = True
        try:
            yield
        finally:
            confined.is_confined = False


@asynccontextmanager
async def walled_within(conn: AsyncConnection[DictRow], path: str) -> AsyncIterator[None]:
    """Run a statement about a namespace and those below it, walled if all of them are one owner's.

    Args:
        conn: An autocommit connection outside a transaction.
        path: The namespace, its labels joined by dots.
    """
    owner = owner_within(path)
    async with walled(conn, [owner]) if owner is not None else nullcontext():
        yield


async def confine(conn: AsyncConnection[DictRow], owners: Collection[str]) -> None:
    """Have a transaction see rows of some owners alone, from here on until it ends.

    Args:
        conn: A connection in a transaction, or in a pipeline.
        owners: The owners.
    """
    if has_wall(conn):
        await conn.execute(_CONFINE, (APPLICATION_ROLE, text_array(owners)))


@asynccontextmanager
async def unwalled(conn: AsyncConnection[DictRow], owners: Collection[str]) -> AsyncIterator[None]:
    """Run statements that see the rows of everybody, among others that are walled.

    Args:
        conn: A connection within `walled`.
        owners: Whose rows the others see.
    """
    if has_wall(conn):
        await conn.execute(_UNCONFINE)
    yield
    await confine(conn, owners)


def has_wall(conn: AsyncConnection[DictRow]) -> bool:
    """Return whether the database of a connection has the role and its policies, and the pool uses them."""
    return bool(getattr(conn, "has_wall", False))


# Taking the wall down: the tables of a cluster have no policies, and its nodes know no role that nobody logs in as.

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
