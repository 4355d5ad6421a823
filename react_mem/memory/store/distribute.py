"""The command that distributes a database over a Citus cluster, with its checks."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.errors import StorageError
from react_mem.memory.store.distribution import Count, Report, distribute_tables
from react_mem.memory.store.migrations import stored_embedding, upgrade
from react_mem.memory.store.postgres_server import connected
from react_mem.memory.store.storage_settings import StorageSettings

Connection = AsyncConnection[DictRow]

_OLDEST_CITUS = (13, 0)
"""The first version for PostgreSQL 17."""

_CLUSTER = """
    SELECT (SELECT groupid FROM pg_dist_local_group) AS own,
        (SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary') AS nodes
"""
_WITHOUT_VECTORS = """
    SELECT nodename || ':' || nodeport AS node, CASE WHEN success THEN 'has no pgvector' ELSE result END AS reason
    FROM run_command_on_workers('SELECT count(*) FROM pg_available_extensions WHERE name = ''vector''')
        JOIN pg_dist_node USING (nodename, nodeport)
    WHERE NOT success OR result <> '1'
"""


async def distribute(settings: StorageSettings, report: Report, count: Count = lambda done, total: None) -> None:
    """Distribute the memories and threads of a database over the nodes of its Citus cluster. Idempotent and resumable.

    `report` is called with each step that was necessary, `count` with the number of distributed tables and of all.
    A StorageError names the reason why it is not possible, and the cure.
    """
    if settings.database_url is None:
        raise StorageError(
            "The embedded database is one server. To distribute memories, set DATABASE_URL to the coordinator of a "
            "Citus cluster."
        )
    async with connected(settings) as conn:
        await _check_cluster(conn)
        if settings.row_security == "on":
            raise StorageError(
                "MEMORY_ROW_SECURITY=on is set, and the tables of a cluster have no policies. To distribute memories "
                "without, set it to auto, and start every process with that."
            )
        stored = await stored_embedding(conn)
        if stored is None:
            raise StorageError(
                "The database has no tables for memories yet. Start what remembers in it once, such as `react-mem "
                "chat`, and run this again."
            )
        await upgrade(conn, stored.dims)
        await distribute_tables(conn, report, count)


async def _check_cluster(conn: Connection) -> None:
    row = await (await conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'citus'")).fetchone()
    if row is None:
        raise StorageError(
            "The database has no Citus. Install it on every server (shared_preload_libraries = 'citus'), run in this "
            "database on each: CREATE EXTENSION citus; CREATE EXTENSION vector; and on the coordinator SELECT "
            "citus_add_node(host, port) for each worker."
        )
    version = row["extversion"].partition("-")[0]
    if tuple(map(int, version.split("."))) < _OLDEST_CITUS:
        raise StorageError(f"The database has Citus {version}, and {'.'.join(map(str, _OLDEST_CITUS))} is needed.")
    cluster = await (await conn.execute(_CLUSTER)).fetchone()
    assert cluster is not None  # noqa: S101 - a SELECT without FROM has one row
    if cluster["own"] != 0:
        raise StorageError(
            "This server is a worker of the cluster. Set DATABASE_URL to the coordinator for this command."
        )
    if not cluster["nodes"]:
        raise StorageError(
            "The cluster has no node that keeps data. On the coordinator, run for each worker: SELECT "
            "citus_add_node(host, port)"
        )
    lacking = await (await conn.execute(_WITHOUT_VECTORS)).fetchall()
    if lacking:
        named = "; ".join(f"{row['node']}: {row['reason']}" for row in lacking)
        raise StorageError(f"Not every node can keep vectors: {named}. pgvector has to be installed on each.")
