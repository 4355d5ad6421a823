"""Opening of the database: its server, its tables and the store on it, as a context."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Identifier

from react_mem.errors import EmbeddingMismatch, EmbeddingUnavailable, StorageError
from react_mem.memory.llm.causes import scrub
from react_mem.memory.store.audit_log import AuditLog
from react_mem.memory.store.distribution import Count, Report, distribute_tables, is_distributed
from react_mem.memory.store.embedded import DatabaseServer, embedded_server
from react_mem.memory.store.embeddings import EmbeddingModel, load_embedding_model
from react_mem.memory.store.key_ring import KeyRing, check_unencrypted
from react_mem.memory.store.migrations import StoredEmbedding, check_embedding, migrate, stored_embedding, upgrade
from react_mem.memory.store.pool import DatabasePool, not_available, place_of, translated
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.row_security import enable_row_security
from react_mem.memory.store.storage_settings import StorageSettings
from react_mem.memory.telemetry import watch_pool

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 5
"""Seconds for one address of the server; a reachable one answers in milliseconds."""
_CONNECT_DEADLINE = 10.0
"""Seconds for all its addresses together, and for a free connection of the pool."""


@asynccontextmanager
async def connected(settings: StorageSettings) -> AsyncIterator[AsyncConnection[DictRow]]:
    """Open one autocommit connection to the configured database, in its schema; start the embedded one if needed."""
    async with AsyncExitStack() as stack:
        server = await _server(settings, stack)
        conn = await _connect(server.url, settings.db_schema)
        async with conn:
            yield conn


@asynccontextmanager
async def open_database(
    settings: StorageSettings | None, *, checkpoints: bool, move_to: EmbeddingModel | None = None
) -> AsyncIterator[MemoryStore]:
    """Open the store on the configured database, with its tables up to date; the embedded one is started if necessary.

    The checkpointer's tables are created too if wanted; `move_to` is the new model of a re-embedding, whatever model
    made the vectors.
    """
    settings = settings or StorageSettings.from_env()

    async def check_row_security(conn: AsyncConnection[DictRow]) -> bool:
        return await enable_row_security(conn, settings.row_security, distributed=await is_distributed(conn))

    async with AsyncExitStack() as stack:
        server = await _server(settings, stack)
        with translated(place_of(server.url)):
            async with await _connect(server.url, settings.db_schema) as conn:
                stored = await stored_embedding(conn)
                model = move_to if move_to else await asyncio.to_thread(_choose_model, settings.embedding, stored)
                if move_to is not None and stored is not None:
                    await upgrade(conn, stored.dims)
                else:
                    await migrate(conn, model, checkpoints=checkpoints)
                master = await asyncio.to_thread(settings.master_key)
                if master is None:
                    await check_unencrypted(conn)
                signing = await asyncio.to_thread(settings.signing_key)
                has_row_security = await check_row_security(conn)
        pool = DatabasePool(
            server.url,
            revive=server.revive,
            has_row_security=has_row_security,
            check_row_security=check_row_security,
            kwargs=_connection_options(settings.db_schema),
            min_size=1,
            max_size=settings.pool_max,
            timeout=_CONNECT_DEADLINE,
        )
        await stack.enter_async_context(pool)
        watch_pool(pool)
        keys = None
        if master is not None:
            keys = KeyRing(pool, master)
            await keys.check()
        audit = None
        if settings.audit:
            audit = AuditLog(pool, await keys.derive("audit") if keys is not None else None)
        store = MemoryStore(
            pool,
            model,
            fields=settings.index_fields,
            index_bytes=settings.index_bytes,
            attachment_bytes=settings.attachment_bytes,
            keys=keys,
            audit=audit,
            receipt_key=signing,
        )
        await stack.enter_async_context(store)
        yield store


async def _server(settings: StorageSettings, stack: AsyncExitStack) -> DatabaseServer:
    if settings.database_url is not None:
        return DatabaseServer(settings.database_url.get_secret_value())
    folder = await asyncio.to_thread(settings.embedded_folder)
    log.info("memory is in the embedded database in %s", folder)
    return await stack.enter_async_context(embedded_server(folder))


def _connection_options(schema: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "autocommit": True,
        "row_factory": dict_row,
        "connect_timeout": CONNECT_TIMEOUT,
        # No prepared statements: a pooler such as PgBouncer hands the next statement to another session. Where there is
        # none, the pool has them prepared.
        "prepare_threshold": None,
    }
    if schema is not None:
        options["options"] = f"-c search_path={schema},public"
    return options


async def _connect(url: str, schema: str | None) -> AsyncConnection[DictRow]:
    place = place_of(url)
    try:
        async with asyncio.timeout(_CONNECT_DEADLINE):
            conn = await AsyncConnection[DictRow].connect(url, **_connection_options(schema))
            if schema is not None:
                await conn.execute(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(schema)))
    except (psycopg.OperationalError, TimeoutError) as error:
        cause = scrub(error) or f"no answer within {_CONNECT_DEADLINE:.0f} seconds"
        raise not_available(cause, place) from error
    return conn


def _choose_model(spec: str, stored: StoredEmbedding | None) -> EmbeddingModel:
    if spec == "auto" and stored is not None and stored.name is not None:
        try:
            return load_embedding_model(stored.name)
        except EmbeddingUnavailable as error:
            raise EmbeddingMismatch(
                f"The memories in this database were embedded with {stored.name} ({stored.dims} dimensions), which "
                f"cannot be loaded here: {error} To move on to another model instead, re-embed them: "
                "react-mem database reembed --to MODEL"
            ) from error
    model = load_embedding_model(spec)
    check_embedding(stored, model)
    return model


# Distribution of a database over a Citus cluster, on command.

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


async def _check_cluster(conn: AsyncConnection[DictRow]) -> None:
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
