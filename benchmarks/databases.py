"""Databases of a benchmark on one embedded server, with their disk size and processor time."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from langchain_core.embeddings import Embeddings
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from benchmarks.stand_ins import embed_with
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embedded import embedded_server

_DISK = """
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND c.relname NOT LIKE 'checkpoint%'
"""
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


@asynccontextmanager
async def database_server() -> AsyncIterator[str]:
    """Run a temporary embedded server and yield its address."""
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_server(Path(folder) / "postgres") as server:
            yield server.url


async def new_database(server_url: str, name: str) -> str:
    async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
        await conn.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


@asynccontextmanager
async def opened(url: str, embeddings: Embeddings | None = None) -> AsyncIterator[Storage]:
    """Open our storage in a database, with the local embedder or a replacement."""
    settings = StorageSettings.model_validate({"database_url": url, "embedding": "local"})
    async with open_storage(settings) as storage:
        if embeddings is not None:
            embed_with(storage.store, embeddings)
        yield storage


async def disk_bytes(url: str) -> int:
    """Return the size of a database's tables and indexes, without checkpoints.

    The tables are analysed first, as autovacuum would do a minute later, so that no search uses a plan for empty
    tables.
    """
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("ANALYZE")
        row = await (await conn.execute(_DISK)).fetchone()
    assert row is not None
    return int(row[0])


class DatabaseCpu:
    """Processor time of a server's backends.

    The embedded server has no pg_stat_statements, which would count elapsed time anyway. Linux counts nanoseconds of
    each process, hardly affected by other load. Background processes, which work for earlier turns, are left out.

    Args:
        conn: A connection of its own, which is not counted.
    """

    def __init__(self, conn: AsyncConnection) -> None:
        self._conn = conn
        self._spent: dict[int, int] = {}

    async def milliseconds(self) -> float:
        """Return the total of all backends so far; of ended ones the last reading."""
        found = await self._conn.execute(_BACKENDS)
        for (pid,) in await found.fetchall():
            self._spent[pid] = _on_processor(pid) or self._spent.get(pid, 0)
        return sum(self._spent.values()) / 1e6


@asynccontextmanager
async def watch_database(url: str) -> AsyncIterator[DatabaseCpu | None]:
    """Watch a server on this machine; yield None if the kernel hides its processor time."""
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        yield DatabaseCpu(conn) if _on_processor(conn.info.backend_pid) is not None else None


def _on_processor(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
