"""Distribution of the database's tables over the nodes of a Citus cluster.

Owned tables are distributed by owner and co-located, checkpoints by thread; small tables are on every node.
There are two resumable steps. The first drops features of a single server: LangGraph's own store cannot write
from then on. The second distributes all tables in one transaction, during which reads continue and writes
wait.

A distributed database stays distributed: each migration distributes its new tables too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, LiteralString, NamedTuple

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from react_mem.errors import StorageError
from react_mem.memory.store.checkpointer import check_distributable
from react_mem.memory.store.migration_steps import patiently
from react_mem.memory.store.row_security import APPLICATION_ROLE, POLICIES

# The planner's statistics must hold no content, on no node of a cluster.

Connection = AsyncConnection[DictRow]

# The coordinator's own table records the progress: it is changed after all shards.
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
# Before PostgreSQL 18 only a superuser can clear statistics; otherwise they stay until the rows are gone.
_CLEAR_BEFORE = """
    DELETE FROM pg_statistic s USING pg_attribute a
    WHERE s.starelid = '%s'::regclass AND a.attrelid = s.starelid AND a.attnum = s.staattnum AND a.attname = '{column}'
"""
_PROPAGATE: LiteralString = "SELECT set_config('citus.enable_ddl_propagation', %s, TRUE)"

log = logging.getLogger(__name__)


async def drop_samples(conn: Connection) -> list[str]:
    """Stop the planner's statistics of columns with content, on every node, and return the columns that had some."""
    done = []
    for row in await (await conn.execute(_SAMPLED)).fetchall():
        table, column = row["name"], row["column"]
        if not await _on_shards(conn, table, _STOP.format(column=column)):
            continue
        await _on_shards(conn, table, (_CLEAR if row["clears"] else _CLEAR_BEFORE).format(column=column))
        async with conn.transaction():
            await conn.execute(_PROPAGATE, ("off",))
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


Report = Callable[[str], None]
Count = Callable[[int, int], None]

_LOCK = 0x6D65_6D63_6974_7573
"""`memcitus`: advisory lock of a distribution."""

REFERENCE = "everywhere"
"""Marks a small table with a copy on each node."""

TABLES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "memory_embedding",
            "memory_migrations",
            "memory_migration_steps",
            "store_migrations",
            "vector_migrations",
            "checkpoint_migrations",
        ),
        REFERENCE,
    ),
    **dict.fromkeys(("memory_owners", "store", "store_vectors", "memory_keys"), "owner"),
    **dict.fromkeys(("checkpoints", "checkpoint_blobs", "checkpoint_writes"), "thread_id"),
}
"""Distribution column of each table; the first table of a column is the one that the others are co-located with."""

_IS_DISTRIBUTED = "SELECT to_regclass('pg_dist_partition') IS NOT NULL AS citus"
_STATE = """
    SELECT c.relname AS name, p.logicalrelid IS NOT NULL AS distributed, p.partmethod::text AS method,
        CASE WHEN p.partmethod = 'h' THEN column_to_column_name(p.logicalrelid, p.partkey) END AS "column",
        CASE WHEN p.logicalrelid IS NULL THEN 0 ELSE pg_relation_size(c.oid) END AS left_behind
    FROM pg_class c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%s::text[]) AND c.relkind = 'r'
"""
# A unique index without the column that rows are distributed by, triggers, and policies are of one server.
_TRIGGERS = """
    SELECT t.tgname AS name, c.relname AS on FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%s::text[])
"""
_UNIQUE = """
    SELECT i.indexrelid::regclass::text AS name, c.relname AS on, array_agg(a.attname::text) AS columns
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
    WHERE i.indisunique AND NOT i.indisprimary AND c.relnamespace = current_schema()::regnamespace
        AND c.relname = ANY(%s::text[])
    GROUP BY i.indexrelid, c.relname
"""
# Functions about one owner run on the owner's node; Citus cannot make a generic plan for any owner.
_FUNCTIONS = """
    SELECT p.oid::regprocedure::text AS name, p.proargnames[1] AS owner, p.proconfig::text[] AS config, EXISTS (
        SELECT FROM pg_dist_object o WHERE o.objid = p.oid AND o.distribution_argument_index IS NOT NULL
    ) AS sent
    FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.proname ~ '^memory_'
        AND p.proargnames[1] IN ('owner', 'whose')
"""


class _Table(NamedTuple):
    """State of a table; `left_behind` counts the bytes of the coordinator's old rows, which nobody reads any more."""

    name: str
    distributed: bool
    method: Literal["h", "n"] | None
    column: str | None
    left_behind: int

    @property
    def is_right(self) -> bool:
        """Return true if it is distributed as `TABLES` demands."""
        by = self.column if self.method == "h" else REFERENCE if self.method == "n" else None
        return by == TABLES[self.name]


async def is_distributed(conn: Connection) -> bool:
    """Return true if this database's memories are on the nodes of a cluster."""
    row = await (await conn.execute(_IS_DISTRIBUTED)).fetchone()
    if row is None or not row["citus"]:
        return False
    return any(table.name == "store" and table.distributed for table in await _tables(conn))


async def keep_distributed(conn: Connection) -> None:
    """Distribute the new tables of a distributed database; do nothing to any other."""
    if await is_distributed(conn):
        await distribute_tables(conn, lambda done: None)


async def distribute_tables(conn: Connection, report: Report, count: Count = lambda done, total: None) -> None:
    """Distribute all remaining tables, together or none, with their functions and statistics. Writes wait meanwhile.

    It runs on an autocommit connection to the coordinator of a suitable cluster: see `distribute`. A StorageError
    names the reason why a table cannot be distributed.
    """
    tables = await _tables(conn)
    for table in tables:
        if table.distributed and not table.is_right:
            by = table.column or "no column"
            raise StorageError(
                f"The table {table.name} is distributed by {by} already, and must be by {TABLES[table.name]}. Undo it "
                f"with SELECT undistribute_table('{table.name}'), and run this again."
            )
    if any(TABLES[table.name] == "thread_id" for table in tables):
        check_distributable()
    try:
        await _drop_what_one_server_has(conn, report)
        await _distribute(conn, report, count)
        await _send_functions(conn, report)
        for name in [table.name for table in await _tables(conn) if table.left_behind]:
            async with conn.transaction():
                await _queue(conn)
                await conn.execute("SELECT truncate_local_data_after_distributing_table(%s::regclass)", (name,))
            report(f"{name}: the coordinator's disk given back")
        if sampled := await drop_samples(conn):
            report(f"no samples are kept of {', '.join(sampled)}")
    except (errors.FeatureNotSupported, errors.InsufficientPrivilege, errors.LockNotAvailable) as error:
        raise StorageError(
            f"The tables cannot be distributed: {error.diag.message_primary}. What was done is kept; run this again "
            "when that is mended."
        ) from error


async def _tables(conn: Connection) -> list[_Table]:
    rows = await (await conn.execute(_STATE, (list(TABLES),))).fetchall()
    found = {row["name"]: _Table(**row) for row in rows}
    return [found[name] for name in TABLES if name in found]


async def _queue(conn: Connection) -> None:
    """Wait for concurrent distributions, as of processes that start at the same time; all of them run on this node."""
    await conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


async def _drop_what_one_server_has(conn: Connection, report: Report) -> None:
    async def drop() -> list[str]:
        triggers = await (await conn.execute(_TRIGGERS, (list(TABLES),))).fetchall()
        indexes = await (await conn.execute(_UNIQUE, (list(TABLES),))).fetchall()
        spare = [row for row in indexes if TABLES[row["on"]] not in (REFERENCE, *row["columns"])]
        for row in triggers:
            await conn.execute(SQL("DROP TRIGGER {} ON {}").format(Identifier(row["name"]), Identifier(row["on"])))
        for row in spare:
            await conn.execute(f"DROP INDEX {row['name']}".encode())
        return [*(row["name"] for row in [*triggers, *spare]), *await drop_policies(conn)]

    if dropped := await patiently(conn, lambda: _queue(conn), drop):
        report(f"dropped what only one server has: {', '.join(dropped)}")


async def _distribute(conn: Connection, report: Report, count: Count) -> None:
    done: list[str] = []
    async with conn.transaction():
        await _queue(conn)
        # each table through one connection a node, so that all can be in one transaction
        await conn.execute("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', TRUE)")
        await conn.execute("SELECT set_config('client_min_messages', 'warning', TRUE)")
        left = [table for table in await _tables(conn) if not table.distributed]
        if left:
            await drop_policies(conn)  # of a process that has started meanwhile
            await drop_privileges(conn)
        for table in left:
            count(len(done), len(left))
            done.append(await _distribute_one(conn, table.name))
        if left:
            count(len(done), len(left))
    for line in done:
        report(line)


async def _distribute_one(conn: Connection, name: str) -> str:
    column = TABLES[name]
    if column == REFERENCE:
        await conn.execute("SELECT create_reference_table(%s::regclass)", (name,))
        return f"{name}: on every node"
    beside = next(table for table in TABLES if TABLES[table] == column)
    statement: LiteralString = "SELECT create_distributed_table(%s::regclass, %s, colocate_with => %s)"
    await conn.execute(statement, (name, column, "none" if name == beside else beside))
    row: dict[str, Any] | None = await (
        await conn.execute(SQL("SELECT count(*) AS rows FROM {}").format(Identifier(name)))
    ).fetchone()
    return f"{name}: {row['rows'] if row else 0:,} rows by {column}"


async def _send_functions(conn: Connection, report: Report) -> None:
    sent = []
    async with conn.transaction():
        await _queue(conn)
        path = await (await conn.execute("SELECT current_schema() AS own")).fetchone()
        assert path is not None  # noqa: S101 - a SELECT without FROM has one row
        for row in await (await conn.execute(_FUNCTIONS)).fetchall():
            if row["sent"] and "plan_cache_mode=force_custom_plan" in (row["config"] or []):
                continue
            name: LiteralString = row["name"]
            await conn.execute(SQL("ALTER FUNCTION {} SET plan_cache_mode = force_custom_plan").format(SQL(name)))
            # a node looks for the tables on a path of its own
            await conn.execute(
                SQL("ALTER FUNCTION {} SET search_path = {}, public").format(SQL(name), Identifier(path["own"]))
            )
            if not row["sent"]:
                distributed: LiteralString = (
                    "SELECT create_distributed_function(%s::regprocedure, %s, colocate_with => 'store')"
                )
                await conn.execute(distributed, (name, row["owner"]))
            sent.append(name)
    for name in sent:
        report(f"{name}: run where the owner's rows are")


# Removal of row-level security: a cluster has no policies, and its nodes do not have the application role.

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
# SECURITY DEFINER functions.
_FUNCTIONS_OF_ROLE: LiteralString = r"""
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
    for row in await (await conn.execute(_FUNCTIONS_OF_ROLE)).fetchall():
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
