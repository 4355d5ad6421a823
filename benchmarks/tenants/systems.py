"""The systems that are compared, each with a database of its own on one server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import quote, urlsplit, urlunsplit

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from pgvector import Vector
from psycopg import AsyncConnection, errors
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool

from benchmarks.tenants.data import WANTED, Data, GivenEmbeddings, Question, key
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.pool import DatabasePool
from react_mem.memory.store.postgres import MemoryStore, Pool

_ITERATIVE = {"hnsw.iterative_scan": "strict_order", "hnsw.ef_search": "400", "hnsw.max_scan_tuples": "1000000"}
"""With these the stock store's index goes on until it has found ten of the tenant's, in whatever time that takes."""

_COPY_ATTEMPTS = 24
"""Each waits five seconds for others to leave the database that is copied."""
_POOL: dict[str, Any] = {
    "kwargs": {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None},
    "min_size": 1,
    "max_size": 4,
}
_LEAVE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


class System(Protocol):
    """Something that stores memories and finds them."""

    async def write(self, rows: Sequence[int]) -> None:
        """Store these memories."""

    async def search(self, question: Question) -> list[str]:
        """Return the keys of what is nearest to a question."""

    async def disk_bytes(self) -> int:
        """Return what the memories take on disk, indexes included."""

    async def settle(self) -> None:
        """Wait for what goes on in the background, and do what the database's own housekeeping would have done."""


class StoreSystem:
    """A LangGraph store.

    Args:
        store: The store.
        pool: Its database.
        data: What it stores.
    """

    def __init__(self, store: BaseStore, pool: Pool, data: Data) -> None:
        self._store = store
        self._pool = pool
        self._data = data

    async def write(self, rows: Sequence[int]) -> None:
        """Store these memories."""
        await self._store.abatch(
            [
                PutOp(_namespace(self._data, row), key(row), {"kind": "message", "text": self._data.text(row)})
                for row in rows
            ]
        )

    async def search(self, question: Question) -> list[str]:
        """Return the keys of what is nearest to a question."""
        namespace = ("memory", f"user{question.tenant}", "dialog")
        return [hit.key for hit in await self._store.asearch(namespace, query=question.text, limit=WANTED)]

    async def disk_bytes(self) -> int:
        """Return what the memories take on disk."""
        return await _disk_bytes(self._pool, ("store", "store_vectors"))

    async def settle(self) -> None:
        """Wait for indexes that are being built."""
        if isinstance(self._store, MemoryStore):
            await self._store.indexes.settle()
        await _vacuum(self._pool, ("store", "store_vectors"))


class RawSql:
    """A table, an index by tenant and the plainest query: what nothing can be faster than, and exact."""

    def __init__(self, pool: Pool, data: Data) -> None:
        self._pool = pool
        self._data = data

    async def setup(self) -> None:
        """Make the table."""
        async with self._pool.connection() as conn:
            await conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
            await conn.execute(
                f"CREATE TABLE memories (tenant int, key text, value text, embedding vector({int(self._data.dims)}))"
            )
            await conn.execute("CREATE INDEX ON memories (tenant)")

    async def write(self, rows: Sequence[int]) -> None:
        """Store these memories."""
        async with (
            self._pool.connection() as conn,
            conn.cursor() as cursor,
            cursor.copy("COPY memories (tenant, key, value, embedding) FROM STDIN") as copy,
        ):
            for row in rows:
                vector = Vector(self._data.vectors[row]).to_text()
                await copy.write_row((int(self._data.owners[row]), key(row), self._data.text(row), vector))

    async def search(self, question: Question) -> list[str]:
        """Return the keys of what is nearest to a question."""
        vector = Vector(self._data.vector_of(question.text)).to_text()
        async with self._pool.connection() as conn:
            cursor = await conn.execute(
                "SELECT key, value FROM memories WHERE tenant = %s ORDER BY embedding <=> %s::vector LIMIT %s",
                (question.tenant, vector, WANTED),
            )
            return [row["key"] for row in await cursor.fetchall()]

    async def disk_bytes(self) -> int:
        """Return what the memories take on disk."""
        return await _disk_bytes(self._pool, ("memories",))

    async def settle(self) -> None:
        """Do what the database's own housekeeping would have done."""
        await _vacuum(self._pool, ("memories",))


class Server:
    """Makes databases on one server, one a system.

    Args:
        url: The server.
        data: What is stored in each.
    """

    def __init__(self, url: str, data: Data) -> None:
        self._url = url
        self._data = data
        self._stack = AsyncExitStack()
        self._names: list[str] = []
        self._pools: list[Pool] = []

    async def ours(self) -> System:
        """Open `MemoryStore`, empty."""
        pool = await self._opened(DatabasePool(await self._database("ours"), revive=None, **_POOL))
        store = MemoryStore(pool, EmbeddingModel("benchmark:given", self._data.dims, GivenEmbeddings(self._data)))
        await store.setup()
        await self._stack.enter_async_context(store)
        return StoreSystem(store, pool, self._data)

    async def stock(self) -> System:
        """Open LangGraph's own store as it is by default, empty."""
        return await self._stock(await self._database("stock"), {}, setup=True)

    async def stock_iterative(self) -> System:
        """Open the stock store's database with an index scan that goes on until it has enough."""
        return await self._stock(self._at("stock"), _ITERATIVE)

    async def stock_without_index(self) -> System:
        """Open a copy of the stock store's database without its index: exact, too."""
        url = await self._database("stock_exact", template="stock")
        system = await self._stock(url, {})
        async with await AsyncConnection.connect(url, autocommit=True) as conn:
            await conn.execute("DROP INDEX store_vectors_embedding_idx")
            await conn.execute("VACUUM ANALYZE store, store_vectors")
        return system

    async def raw_sql(self) -> System:
        """Open a plain table, empty."""
        system = RawSql(await self._pool(await self._database("raw")), self._data)
        await system.setup()
        return system

    async def close(self) -> None:
        """Close everything, and drop the databases."""
        await self._stack.aclose()
        async with await AsyncConnection.connect(self._url, autocommit=True) as conn:
            for name in self._names:
                await conn.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    async def _stock(self, url: str, settings: Mapping[str, str], *, setup: bool = False) -> System:
        pool = await self._pool(url, settings)
        store = AsyncPostgresStore(
            pool,
            index={"dims": self._data.dims, "embed": GivenEmbeddings(self._data), "fields": ["text"]},
        )
        if setup:
            await store.setup()
        return StoreSystem(store, pool, self._data)

    async def _database(self, name: str, template: str | None = None) -> str:
        full = f"bench_{name}"
        async with await AsyncConnection.connect(self._url, autocommit=True) as conn:
            await conn.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(full)))
            statement = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                Identifier(full), Identifier(f"bench_{template}" if template else "template1")
            )
            for attempt in range(_COPY_ATTEMPTS):
                if template:
                    await conn.execute(_LEAVE, (f"bench_{template}",))
                try:
                    await conn.execute(statement)
                    break
                except errors.ObjectInUse:
                    # The database's own vacuum of a large index takes its time to leave.
                    if attempt == _COPY_ATTEMPTS - 1:
                        raise
        self._names.append(full)
        for pool in self._pools:
            await pool.check()  # a database is copied while nobody uses it
        return self._at(name)

    def _at(self, name: str) -> str:
        return urlunsplit(urlsplit(self._url)._replace(path=f"/bench_{name}"))

    async def _pool(
        self,
        url: str,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> Pool:
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        separator = "&" if "?" in url else "?"
        pool = AsyncConnectionPool(f"{url}{separator}options={quote(options)}", open=False, **_POOL)
        return await self._opened(pool)

    async def _opened(self, pool: Pool) -> Pool:
        await self._stack.enter_async_context(pool)
        self._pools.append(pool)
        return pool


@asynccontextmanager
async def opened(url: str, data: Data) -> AsyncIterator[Server]:
    """Use a server, and leave nothing on it."""
    server = Server(url, data)
    try:
        yield server
    finally:
        await server.close()


def _namespace(data: Data, row: int) -> tuple[str, ...]:
    return ("memory", f"user{int(data.owners[row])}", "dialog")


async def _vacuum(pool: Pool, tables: Sequence[str]) -> None:
    async with pool.connection() as conn:
        for table in tables:
            await conn.execute(SQL("VACUUM ANALYZE {}").format(Identifier(table)))
        await conn.execute("CHECKPOINT")


async def _disk_bytes(pool: Pool, tables: Sequence[str]) -> int:
    async with pool.connection() as conn:
        row: dict[str, Any] | None = await (
            await conn.execute(
                "SELECT sum(pg_total_relation_size(name::regclass))::bigint AS size FROM unnest(%s::text[]) AS name",
                (list(tables),),
            )
        ).fetchone()
    assert row is not None
    return int(row["size"])
