"""Statistics of a database, of one owner or of all, without reading contents."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import KINDS
from react_mem.memory.model.namespaces import PENDING, ROOT, decode, owner_namespace
from react_mem.memory.model.states import MAX_FAILURES
from react_mem.memory.model.views import MemoryUsage, QueueHealth
from react_mem.memory.store.migrations import table_exists
from react_mem.memory.store.row_security import Connection

# The rows of one owner, or of all, are a range of prefixes in any collation.
_RECORDS = """
    SELECT value ->> 'kind' AS kind, count(*) AS count, sum(pg_column_size(value))::bigint AS bytes
    FROM store WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s AND split_part(prefix, '.', 3) = ANY(%(scopes)s)
    GROUP BY 1
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
_VECTORS = "SELECT count(*) AS count FROM store_vectors WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s"
_SERVER = """
    SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS limit,
           coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), '') AS pgvector,
           (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections
"""


@dataclass(frozen=True)
class Server:
    """The database server, the connections of all clients and their limit, and the duration of a round trip.

    The version of pgvector is empty if it is not installed.
    """

    version: str
    pgvector: str
    connections: int
    limit: int
    seconds: float


async def server_of(conn: Connection) -> Server:
    started = time.perf_counter()
    await conn.execute("SELECT 1")
    seconds = time.perf_counter() - started
    return Server(**await _row(conn, _SERVER, {}), seconds=seconds)


async def waiting_of(conn: Connection, user_id: str | None = None) -> QueueHealth:
    """Count the waiting turns of an owner, or of all owners for None."""
    if not await table_exists(conn, "store"):
        return QueueHealth(waiting=0, failed=0, parked=0, oldest=None)
    return QueueHealth(**await _row(conn, _WAITING, {**_owned(user_id), "parked": MAX_FAILURES, "pending": PENDING}))


async def usage_of(conn: Connection, user_id: str) -> MemoryUsage:
    """Count the records, bytes, vectors and pending turns of an owner, without reading contents."""
    asked = _owned(user_id)
    rows = await (await conn.execute(_RECORDS, {**asked, "scopes": [*MemoryScope]})).fetchall()
    has_vectors = await table_exists(conn, "store_vectors")
    turns = await waiting_of(conn, user_id)
    return MemoryUsage(
        kinds={row["kind"] or "": row["count"] for row in rows},
        texts=(await _row(conn, _VECTORS, asked))["count"] if has_vectors else 0,
        bytes=sum(row["bytes"] for row in rows),
        waiting=turns.waiting,
        parked=turns.parked,
    )


@dataclass(frozen=True)
class Holder:
    """A user with memories: the number that a list shows, and the time of the last write."""

    user: str
    count: int
    latest: datetime


async def holders(conn: Connection) -> list[Holder]:
    """Return the users with memories that a list shows, the latest first."""
    if not await table_exists(conn, "store"):
        return []
    kinds = [kind.name for kind in KINDS.values() if kind.listed]
    asked = {**_owned(), "scopes": [*MemoryScope], "kinds": kinds}
    rows = await (await conn.execute(_HOLDERS, asked)).fetchall()
    return [Holder(decode(row["owner"]), row["count"], row["latest"]) for row in rows]


def _owned(user_id: str | None = None) -> dict[str, object]:
    prefix = ".".join(owner_namespace(user_id) if user_id is not None else (ROOT,))
    # "/" follows "." in ASCII, and neither stands in a part
    return {"first": f"{prefix}.", "past": f"{prefix}/"}


async def _row(conn: Connection, statement: str, parameters: dict[str, object]) -> DictRow:
    row = await (await conn.execute(statement.encode(), parameters)).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    return row
