"""Row-level security: statements about some owners run in a role that sees only their rows.

The database enforces the owner even if a statement forgets the condition. Nobody logs in as the application role:
the login role switches to it for one transaction, so that it works behind a connection pooler too. The role and the
owners are sent along with the statements, without an additional round trip.

The login role owns the tables and so bypasses the policies: migrations, maintenance and workers, whose work is across
owners, use it. Other roles with access to the tables keep it, by a policy that lets everybody pass.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Literal, LiteralString

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import StorageError
from react_mem.memory.model.namespaces import owner_within
from react_mem.memory.store.migration_steps import patiently
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


@asynccontextmanager
async def confined(
    conn: AsyncConnection[DictRow], owners: Collection[str], *, together: bool = False
) -> AsyncIterator[None]:
    """Run statements that see only the rows of some owners; their results are fetched afterwards.

    No other pipeline or transaction may begin within: its end would end the confinement. The connection is in
    autocommit, outside a transaction. `together` sends several statements in one round trip even without row-level
    security.
    """
    if not has_row_security(conn):
        async with conn.pipeline() if together else nullcontext():
            yield
        return
    async with conn.pipeline():
        await confine(conn, owners)
        conn.is_confined = True  # type: ignore[attr-defined]
        try:
            yield
        finally:
            conn.is_confined = False  # type: ignore[attr-defined]


@asynccontextmanager
async def confined_within(conn: AsyncConnection[DictRow], path: str) -> AsyncIterator[None]:
    """Run a statement about a namespace (labels joined by dots), confined to its owner if it has one."""
    owner = owner_within(path)
    async with confined(conn, [owner]) if owner is not None else nullcontext():
        yield


async def confine(conn: AsyncConnection[DictRow], owners: Collection[str]) -> None:
    """Confine a transaction or pipeline to the rows of some owners, from here to its end."""
    if has_row_security(conn):
        await conn.execute(_CONFINE, (APPLICATION_ROLE, text_array(owners)))


@asynccontextmanager
async def unconfined(conn: AsyncConnection[DictRow], owners: Collection[str]) -> AsyncIterator[None]:
    """Run statements across owners, among others within `confined` for some owners."""
    if has_row_security(conn):
        await conn.execute(_UNCONFINE)
    yield
    await confine(conn, owners)


def has_row_security(conn: AsyncConnection[DictRow]) -> bool:
    """Return true if a connection uses row-level security."""
    return bool(getattr(conn, "has_row_security", False))


# Setup of the role and its policies.

RowSecurity = Literal["auto", "on", "off"]
"""Use of row-level security: where possible, required, never."""

_ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")

OWNED_TABLES: Mapping[str, tuple[str, ...]] = dict.fromkeys(
    ("store", "store_vectors", "memory_owners", "memory_keys"), _ALL
)
"""Privileges of the role on each table with a column `owner`."""

_COMMON_TABLES: Mapping[str, tuple[str, ...]] = {"memory_embedding": ("SELECT",)}
"""Privileges of the role on tables without an owner."""

_TABLES = {**OWNED_TABLES, **_COMMON_TABLES}

_LOCK = 0x7265_6163_7477_616C
"""`reactwal`: advisory lock for processes that start at the same time."""

_CREATE_ROLE = SQL("CREATE ROLE {} NOLOGIN").format(Identifier(APPLICATION_ROLE))
_ROLE = """
    SELECT r.oid IS NOT NULL AS made, current_setting('server_version_num')::int >= 160000 AS tells_set
    FROM (SELECT) one LEFT JOIN pg_roles r ON r.rolname = %s
"""
_MAY_BECOME: Mapping[bool, LiteralString] = {
    True: "SELECT pg_has_role(current_user, %s, 'SET') AS may",
    False: "SELECT pg_has_role(current_user, %s, 'MEMBER') AS may",
}
_JOIN = {
    True: SQL("GRANT {} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE").format(Identifier(APPLICATION_ROLE)),
    False: SQL("GRANT {} TO CURRENT_USER").format(Identifier(APPLICATION_ROLE)),
}
_KNOWN_TABLES = """
    SELECT c.relname AS name, c.oid::bigint AS oid, (
        SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = ANY(%s::text[])
    ) = 2 AND c.relrowsecurity AS confined
    FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%s::text[]) AND c.relkind IN ('r', 'p')
"""
# Read once a statement and not once a row; a setting that was made in an earlier transaction is empty, not missing.
_POLICIES = (
    SQL("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"),
    SQL("DROP POLICY IF EXISTS {everybody} ON {table}"),
    SQL("DROP POLICY IF EXISTS {owned} ON {table}"),
    SQL("CREATE POLICY {everybody} ON {table} TO PUBLIC USING (TRUE)"),
    SQL(
        "CREATE POLICY {owned} ON {table} AS RESTRICTIVE TO {role} USING (owner = ANY ("
        "(SELECT NULLIF(current_setting('react_mem.owners', TRUE), '')::text[])::text[]))"
    ),
)
# Under a policy PostgreSQL uses only indexes with leakproof operators, and the index of links has none. So this runs as
# the owner of the tables, and admits only namespaces of the named owners: all rows that it finds are in one of these.
_LINKED_WITHIN = SQL("""
    CREATE OR REPLACE FUNCTION {within}(owner text, spaces text[], ids text[], most bigint) RETURNS json
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
    BEGIN
        RETURN {function}(owner, ARRAY(
            SELECT space FROM unnest(spaces) space
            WHERE memory_owner(space) = ANY (NULLIF(current_setting('react_mem.owners', TRUE), '')::text[])
        ), ids, most);
    END
    $$
""")
_LINKED = ("memory_linked", "memory_linked_sealed")
# The same for the index of conversations (see `schema/0025_listed_fields.sql`; the other index there is usable under a
# policy). It returns the addresses of rows (ctid), and a listing reads these rows under the policy.
_SESSIONS_WITHIN = SQL("""
    CREATE OR REPLACE FUNCTION memory_sessions_within(whose text, sessions text[]) RETURNS tid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
    BEGIN
        IF whose = ANY (NULLIF(current_setting('react_mem.owners', TRUE), '')::text[]) THEN
            RETURN ARRAY(
                SELECT s.ctid FROM store s WHERE s.owner = whose AND s.value ->> 'session_id' = ANY (sessions)
            );
        END IF;
        RETURN ARRAY[]::tid[];
    END
    $$
""")
_FUNCTIONS = {
    **dict.fromkeys((f"{name}_within" for name in _LINKED), SQL("(text, text[], text[], bigint)")),
    "memory_sessions_within": SQL("(text, text[])"),
}
"""SECURITY DEFINER functions for the role, with their argument types."""

# Run as the role: every table must be the one that the login role sees, with policies in force.
_BECOME: LiteralString = "SELECT set_config('role', %s, TRUE), set_config('react_mem.owners', '', TRUE)"
_OPEN = """
    SELECT t.name FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::boolean[]) AS t (name, oid, privilege, owned)
    WHERE to_regclass(t.name) IS DISTINCT FROM t.oid::oid OR NOT has_table_privilege(t.oid::oid, t.privilege)
        OR t.owned AND NOT row_security_active(t.oid::oid)
    UNION ALL
    SELECT name FROM unnest(%s::text[]) name WHERE NOT has_function_privilege(name, 'EXECUTE')
    UNION ALL
    SELECT 'vector' WHERE '[1]'::vector IS NULL
    LIMIT 1
"""

_REFUSALS = (
    *(errors.ProgrammingError, errors.DataError, errors.InternalError, errors.NotSupportedError),
    errors.ReadOnlySqlTransaction,
)
"""Errors of a database that cannot provide the setup: missing privileges, roles, tables, or features of one server."""

_CURE = (
    f" As a user who may, run: CREATE ROLE {APPLICATION_ROLE} NOLOGIN; GRANT {APPLICATION_ROLE} TO the user of "
    "DATABASE_URL, who has to own the tables."
)

log = logging.getLogger(__name__)


async def enable_row_security(conn: Connection, wanted: RowSecurity, *, distributed: bool) -> bool:
    """Set up the application role and its policies if missing, and return true if they are to be used.

    It runs on an autocommit connection to a database with current tables, whenever one is opened, and not as a
    migration: the user may lack the right to create a role, and an administrator can do so later. Where row-level
    security is required (`on`) and impossible, it raises StorageError.
    """
    if wanted == "off":
        return False
    if distributed:
        problem, cure = "the tables are on the nodes of a cluster, which have no policies", ""
    else:
        problem = await _problem(conn)
        if problem:
            problem = await _built(conn) or await _problem(conn)
        cure = _CURE
    if not problem:
        return True
    said = f"Row-level security cannot be used: {problem}.{cure}"
    if wanted == "on":
        raise StorageError(f"{said} Set MEMORY_ROW_SECURITY=auto to do without where it cannot be had.")
    log.warning("%s Queries are kept to their owners by their own conditions alone", said)
    return False


async def _tables(conn: Connection) -> list[DictRow]:
    return await (await conn.execute(_KNOWN_TABLES, (list(POLICIES), list(_TABLES)))).fetchall()


async def _problem(conn: Connection) -> str:
    """Return why the role cannot be used; empty if it can."""
    tables = await _tables(conn)
    asked = [(t["name"], t["oid"], each, t["name"] in OWNED_TABLES) for t in tables for each in _TABLES[t["name"]]]
    try:
        async with conn.transaction(force_rollback=True):
            await conn.execute(_BECOME, (APPLICATION_ROLE,))
            functions = [name + arguments.as_string() for name, arguments in _FUNCTIONS.items()]
            found = await conn.execute(_OPEN, [*map(list, zip(*asked, strict=True)), functions])
            row = await found.fetchone()
    except _REFUSALS as error:
        return _cause(error)
    return f"{row['name']} is not behind its policy, or not within reach of the role" if row else ""


async def _built(conn: Connection) -> str:
    """Create the missing parts, and return why that failed; empty if it succeeded."""

    async def queue() -> None:
        await conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))

    async def build() -> None:
        found = await (await conn.execute(_ROLE, (APPLICATION_ROLE,))).fetchone()
        assert found is not None  # noqa: S101 - there is one row
        if not found["made"]:
            # another database of the server may make it at the same moment
            with suppress(errors.DuplicateObject, errors.UniqueViolation):
                async with conn.transaction():
                    await conn.execute(_CREATE_ROLE)
        may = await (await conn.execute(_MAY_BECOME[found["tells_set"]], (APPLICATION_ROLE,))).fetchone()
        if may is None or not may["may"]:
            await conn.execute(_JOIN[found["tells_set"]])
        path = await (await conn.execute("SELECT current_schema() AS own")).fetchone()
        assert path is not None  # noqa: S101 - a SELECT without FROM has one row
        schema = {"schema": Identifier(path["own"]), "role": Identifier(APPLICATION_ROLE)}
        await conn.execute(SQL("GRANT USAGE ON SCHEMA {schema} TO {role}").format(**schema))
        for table in await _tables(conn):
            named = {"table": Identifier(table["name"]), "role": schema["role"]}
            if table["name"] in OWNED_TABLES and not table["confined"]:
                policies = {"everybody": Identifier(EVERYBODY), "owned": Identifier(OWNED)}
                for statement in _POLICIES:
                    await conn.execute(statement.format(**named, **policies))
            granted = SQL(", ").join(map(SQL, _TABLES[table["name"]]))
            await conn.execute(SQL("GRANT {granted} ON {table} TO {role}").format(**named, granted=granted))
        for name in _LINKED:
            within = Identifier(f"{name}_within")
            await conn.execute(_LINKED_WITHIN.format(function=Identifier(name), within=within, **schema))
        await conn.execute(_SESSIONS_WITHIN.format(**schema))
        for name, arguments in _FUNCTIONS.items():
            made = {"function": Identifier(name) + arguments, "role": schema["role"]}
            await conn.execute(SQL("REVOKE ALL ON FUNCTION {function} FROM PUBLIC").format(**made))
            await conn.execute(SQL("GRANT EXECUTE ON FUNCTION {function} TO {role}").format(**made))

    try:
        await patiently(conn, queue, build)
    except _REFUSALS as error:
        return _cause(error)
    return ""


def _cause(error: errors.Error) -> str:
    return error.diag.message_primary or type(error).__name__
