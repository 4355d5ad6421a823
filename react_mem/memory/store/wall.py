"""Row-level security: statements about some owners run in a role that sees only their rows.

The database enforces the owner even if a statement forgets the condition. The role and the owners are set for
one transaction, so that it works behind a connection pooler too, and are sent along with the statements,
without an additional round trip.

Work across owners (migrations, maintenance, workers) keeps the login role.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, nullcontext
from typing import LiteralString, Protocol, cast

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.model.namespaces import owner_within
from react_mem.memory.store.stored_text import text_array

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

APPLICATION_ROLE = "react_mem_app"
"""Role of reads and writes for owners. Nobody logs in as it."""

REFUSALS = errors.InsufficientPrivilege, errors.UndefinedTable, errors.UndefinedFunction
"""Errors of a statement in that role without privileges; in a schema without access it finds no table."""

POLICIES = EVERYBODY, OWNED = "react_mem_everybody", "react_mem_owned"
"""Policies of a table: one that lets all roles pass, and one that limits the application role to the named owners."""

_CONFINE: LiteralString = "SELECT set_config('role', %s, TRUE), set_config('react_mem.owners', %s, TRUE)"
_UNCONFINE: LiteralString = "SELECT set_config('role', 'none', TRUE)"


class Confinable(Protocol):
    """A connection that knows whether it is within `walled`."""

    is_confined: bool


@asynccontextmanager
async def walled(conn: Connection, owners: Collection[str], *, together: bool = False) -> AsyncIterator[None]:
    """Run statements that see only the rows of some owners; their results are fetched afterwards.

    No other pipeline or transaction may begin within: its end would end the confinement. The connection is in
    autocommit, outside a transaction. `together` sends several statements in one round trip even without row-level
    security.
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
async def walled_within(conn: Connection, path: str) -> AsyncIterator[None]:
    """Run a statement about a namespace (labels joined by dots), confined to its owner if it has one."""
    owner = owner_within(path)
    async with walled(conn, [owner]) if owner is not None else nullcontext():
        yield


async def confine(conn: Connection, owners: Collection[str]) -> None:
    """Confine a transaction or pipeline to the rows of some owners, from here to its end."""
    if has_wall(conn):
        await conn.execute(_CONFINE, (APPLICATION_ROLE, text_array(owners)))


@asynccontextmanager
async def unwalled(conn: Connection, owners: Collection[str]) -> AsyncIterator[None]:
    """Run statements across owners, among others within `walled` for some owners."""
    if has_wall(conn):
        await conn.execute(_UNCONFINE)
    yield
    await confine(conn, owners)


def has_wall(conn: Connection) -> bool:
    """Return true if a connection uses row-level security."""
    return bool(getattr(conn, "has_wall", False))


# Removal: the tables of a cluster have no policies, and its nodes do not have the application role.

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
# The role's SECURITY DEFINER functions.
_FUNCTIONS: LiteralString = r"""
    SELECT p.oid::regprocedure::text AS name FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.proname ~ '^memory_\w+_within$' AND p.prosecdef
"""


async def drop_policies(conn: Connection) -> list[str]:
    """Drop our policies, in a transaction, and return their names; policies of others stay in force."""
    rows = await (await conn.execute(_POLICIES_OF_TABLES, {"names": list(POLICIES)})).fetchall()
    for row in rows:
        await conn.execute(SQL("DROP POLICY {} ON {}").format(Identifier(row["name"]), Identifier(row["on"])))
    for table in sorted({row["on"] for row in rows if not row["others"]}):
        await conn.execute(SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(Identifier(table)))
    return [f"{row['name']} of {row['on']}" for row in rows]


async def drop_privileges(conn: Connection) -> None:
    """Revoke the application role's privileges in this schema, in a transaction: Citus would copy them to each node."""
    for row in await (await conn.execute(_FUNCTIONS)).fetchall():
        name: LiteralString = row["name"]
        await conn.execute(SQL("DROP FUNCTION {}").format(SQL(name)))
    role = Identifier(APPLICATION_ROLE)
    # on the coordinator only: the nodes may not have the role
    await conn.execute(_PROPAGATE, ("off",))
    for row in await (await conn.execute(_GRANTED, (APPLICATION_ROLE,))).fetchall():
        await conn.execute(SQL("REVOKE ALL ON {} FROM {}").format(Identifier(row["name"]), role))
    for row in await (await conn.execute(_USED_SCHEMA, (APPLICATION_ROLE,))).fetchall():
        await conn.execute(SQL("REVOKE ALL ON SCHEMA {} FROM {}").format(Identifier(row["name"]), role))
    await conn.execute(_PROPAGATE, ("on",))
