"""Databases of a benchmark on one embedded server: a new one for each system, what it weighs and what it computes."""

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
from react_mem.memory.store.embedded import embedded_database

_DISK = """
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND c.relname NOT LIKE 'checkpoint%'
"""
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


@asynccontextmanager
async def database_server() -> AsyncIterator[str]:
    """Run an embedded server that is gone afterwards, and yield its address."""
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_database(Path(folder) / "postgres") as url:
            yield url


async def new_database(server_url: str, name: str) -> str:
    """Make a database and return its address."""
    async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
        await conn.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


@asynccontextmanager
async def opened(url: str, embeddings: Embeddings | None = None) -> AsyncIterator[Storage]:
    """Open our storage in a database, with the local embedder or, where one is given, with another in its place."""
    settings = StorageSettings.model_validate({"database_url": url, "embedding": "local"})
    async with open_storage(settings) as storage:
        if embeddings is not None:
            embed_with(storage.store, embeddings)
        yield storage


async def disk_bytes(url: str) -> int:
    """Return the size of all tables of a database with their indexes, the threads' (checkpoints) left out.

    The tables are analysed first, as autovacuum would do a minute later, so that nobody is searched by a plan made for
    empty tables.
    """
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("ANALYZE")
        row = await (await conn.execute(_DISK)).fetchone()
    assert row is not None
    return int(row[0])


class DatabaseCpu:
    """Processor time of a server's backends since this began to look.

    The embedded server comes without pg_stat_statements, and that counts time that passes, waiting included. Linux says
    of each process how many nanoseconds it was on a processor: what else the machine does changes little of it.
    Background processes of the server (autovacuum, the writer) are left out: they work for whatever came before.

    Args:
        conn: A connection of its own, which is not counted.
    """

    def __init__(self, conn: AsyncConnection) -> None:
        self._conn = conn
        self._spent: dict[int, int] = {}

    async def milliseconds(self) -> float:
        """Return what all backends have taken up to now, those that have ended included as they were last seen."""
        found = await self._conn.execute(_BACKENDS)
        for (pid,) in await found.fetchall():
            self._spent[pid] = _on_processor(pid) or self._spent.get(pid, 0)
        return sum(self._spent.values()) / 1e6


@asynccontextmanager
async def watch_database(url: str) -> AsyncIterator[DatabaseCpu | None]:
    """Watch a server that runs on this machine; yield None where the kernel does not tell its processor time."""
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        yield DatabaseCpu(conn) if _on_processor(conn.info.backend_pid) is not None else None


def _on_processor(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
