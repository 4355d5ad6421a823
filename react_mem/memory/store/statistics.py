"""Statistics of a database, of one owner or of all, without reading contents."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import KINDS
from react_mem.memory.model.namespaces import PENDING, ROOT, decode, owner_namespace
from react_mem.memory.model.states import MAX_FAILURES
from react_mem.memory.store.distribution import is_distributed
from react_mem.memory.store.migrations import StoredEmbedding, stored_embedding, table_exists

_TABLES = {
    "memories": ("store",),
    "vectors": ("store_vectors",),
    "threads": ("checkpoints", "checkpoint_blobs", "checkpoint_writes"),
}

# An owner's rows are a range of prefixes, whatever the database's collation; those of all owners are one, too.
_RECORDS = """
    SELECT split_part(prefix, '.', 3) AS scope, coalesce(value ->> 'kind', '') AS kind, count(*) AS count,
           sum(pg_column_size(value))::bigint AS bytes, max(updated_at) AS latest
    FROM store WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s
    GROUP BY 1, 2 ORDER BY 1, 2
"""
_OWNERS = """
    SELECT count(DISTINCT split_part(prefix, '.', 2)) AS owners FROM store
    WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s
"""
_HOLDERS = """
    SELECT split_part(prefix, '.', 2) AS owner, count(*) AS count, max(updated_at) AS latest FROM store
    WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s
      AND split_part(prefix, '.', 3) = ANY(%(scopes)s) AND value ->> 'kind' = ANY(%(kinds)s)
    GROUP BY 1 ORDER BY latest DESC
"""
_WAITING = """
    SELECT count(*) AS waiting,
           count(*) FILTER (WHERE (value ->> 'attempts')::int > 0) AS failed,
           count(*) FILTER (WHERE (value ->> 'failures')::int >= %(parked)s) AS parked,
           min((value ->> 'created_at')::timestamptz) AS oldest
    FROM store WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s AND split_part(prefix, '.', 3) = %(pending)s
"""
_VECTORS = """
    SELECT count(*) AS count,
           coalesce(sum(
               coalesce(pg_column_size(embedding), 0) + coalesce(pg_column_size(half), 0)
               + coalesce(pg_column_size(sealed_vector), 0)
           ), 0)::bigint AS bytes
    FROM store_vectors
    WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s
"""
_SERVER = """
    SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS limit,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS pgvector,
           (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
           pg_database_size(current_database()) AS bytes
"""
_SIZE = "SELECT coalesce(pg_total_relation_size(to_regclass(%(table)s)), 0)::bigint AS size"
_SIZE_ON_ALL_NODES = "SELECT coalesce(citus_total_relation_size(to_regclass(%(table)s)), 0)::bigint AS size"


@dataclass(frozen=True)
class Holding:
    """The records of one kind in one scope.

    Args:
        scope: The scope.
        kind: Their kind.
        count: How many.
        bytes: What they take, without vectors and indexes.
        latest: When one was last written.
    """

    scope: str
    kind: str
    count: int
    bytes: int
    latest: datetime


@dataclass(frozen=True)
class Waiting:
    """The turns from which nothing has been drawn yet.

    Args:
        waiting: How many, all of them.
        failed: Those that were tried in vain at least once.
        parked: Those that are not tried any more.
        oldest: Since when the first one waits.
    """

    waiting: int = 0
    failed: int = 0
    parked: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True)
class Server:
    """The database server.

    Args:
        version: PostgreSQL's.
        pgvector: pgvector's; empty where it is not installed.
        connections: Those open now, of everybody.
        limit: Those it takes at most.
        bytes: The size of the database.
        seconds: What a round trip took.
    """

    version: str
    pgvector: str
    connections: int
    limit: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Statistics:
    """Counts of a database.

    Args:
        server: The server.
        embedding: The model whose vectors it holds; None where there are none.
        owners: How many users something is remembered about.
        holdings: The records, by scope and kind.
        waiting: The turns that wait.
        vectors: How many texts are indexed.
        vector_bytes: What their vectors take, without indexes.
        threads: How many conversations the checkpointer keeps; None for one owner, whom a thread does not name.
        disk: Bytes on disk, indexes included, by what; empty for one owner.
    """

    server: Server
    embedding: StoredEmbedding | None = None
    owners: int = 0
    holdings: list[Holding] = field(default_factory=list)
    waiting: Waiting = field(default_factory=Waiting)
    vectors: int = 0
    vector_bytes: int = 0
    threads: int | None = None
    disk: dict[str, int] = field(default_factory=dict)


async def statistics(conn: AsyncConnection[DictRow], user_id: str | None = None) -> Statistics:
    """Count what a database holds. A database without our tables holds nothing.

    Args:
        conn: A connection.
        user_id: The owner; None for all of them together.
    """
    server = await _server(conn)
    if not await table_exists(conn, "store"):
        return Statistics(server)
    prefix = ".".join(owner_namespace(user_id) if user_id is not None else (ROOT,))
    # "/" follows "." in ASCII, and neither stands in a part
    owned = {"first": f"{prefix}.", "past": f"{prefix}/", "parked": MAX_FAILURES, "pending": PENDING}
    holdings = [
        Holding(**row)
        for row in await (await conn.execute(_RECORDS, owned)).fetchall()
        if row["scope"] != PENDING  # told apart
    ]
    has_vectors = await table_exists(conn, "store_vectors")
    vectors = await _row(conn, _VECTORS, owned) if has_vectors else {"count": 0, "bytes": 0}
    disk: dict[str, int] = {}
    threads = None
    if user_id is None:
        # of a table on several nodes, this one holds nothing
        size = _SIZE_ON_ALL_NODES if await is_distributed(conn) else _SIZE
        for what, tables in _TABLES.items():
            disk[what] = sum([(await _row(conn, size, {"table": table}))["size"] for table in tables])
        if await table_exists(conn, "checkpoints"):
            threads = (await _row(conn, "SELECT count(DISTINCT thread_id) AS count FROM checkpoints", {}))["count"]
    return Statistics(
        server=server,
        embedding=await stored_embedding(conn),
        owners=(await _row(conn, _OWNERS, owned))["owners"],
        holdings=holdings,
        waiting=Waiting(**await _row(conn, _WAITING, owned)),
        vectors=vectors["count"],
        vector_bytes=vectors["bytes"],
        threads=threads,
        disk=disk,
    )


@dataclass(frozen=True)
class Holder:
    """A user of whom something is remembered.

    Args:
        user: The user.
        count: How many memories a list shows of them.
        latest: When one was last written.
    """

    user: str
    count: int
    latest: datetime


async def holders(conn: AsyncConnection[DictRow]) -> list[Holder]:
    """Return the users with memories that a list shows, the latest first.

    Args:
        conn: A connection.
    """
    if not await table_exists(conn, "store"):
        return []
    kinds = [kind.name for kind in KINDS.values() if kind.listed]
    asked = {"first": f"{ROOT}.", "past": f"{ROOT}/", "scopes": [*MemoryScope], "kinds": kinds}
    rows = await (await conn.execute(_HOLDERS, asked)).fetchall()
    return [Holder(decode(row["owner"]), row["count"], row["latest"]) for row in rows]


async def _server(conn: AsyncConnection[DictRow]) -> Server:
    started = time.perf_counter()
    await conn.execute("SELECT 1")
    seconds = time.perf_counter() - started
    row = await _row(conn, _SERVER, {})
    return Server(**{**row, "pgvector": row["pgvector"] or ""}, seconds=seconds)


async def _row(conn: AsyncConnection[DictRow], statement: str, parameters: dict[str, object]) -> DictRow:
    row = await (await conn.execute(statement.encode(), parameters)).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    return row
