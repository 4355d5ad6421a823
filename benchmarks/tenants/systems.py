"""The compared systems, each with a database of its own on one server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from pgvector import Vector
from psycopg import AsyncConnection, errors
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool

from benchmarks.databases import disk_bytes
from benchmarks.tenants.data import WANTED, Data, GivenEmbeddings, Question, key
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.pool import DatabasePool
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.row_security import Pool

_ITERATIVE = {"hnsw.iterative_scan": "strict_order", "hnsw.ef_search": "400", "hnsw.max_scan_tuples": "1000000"}
"""Settings for an index scan that continues until it has found ten of the tenant's rows, in whatever time."""

_COPY_ATTEMPTS = 24
"""Each attempt waits five seconds for other connections to leave the copied database."""

_POOL: dict[str, Any] = {
    "kwargs": {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None},
    "min_size": 1,
    "max_size": 4,
}
_LEAVE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


class StoreSystem:
    def __init__(self, url: str, store: BaseStore, data: Data) -> None:
        self.url = url
        self.store = store
        self._data = data

    async def write(self, rows: Sequence[int]) -> None:
        tenants, text = self._data.owners, self._data.text
        await self.store.abatch(
            [PutOp(_namespace(tenants[row]), key(row), {"kind": "message", "text": text(row)}) for row in rows]
        )

    async def search(self, question: Question) -> list[str]:
        found = await self.store.asearch(_namespace(question.tenant), query=question.text, limit=WANTED)
        return [hit.key for hit in found]


def _namespace(tenant: int) -> tuple[str, ...]:
    return ("memory", f"user{tenant}", "dialog")


class RawSql:
    """A table, an index by tenant and the plainest query: exact, and a lower bound of time."""

    def __init__(self, url: str, pool: Pool, data: Data) -> None:
        self.url = url
        self._pool = pool
        self._data = data

    async def setup(self) -> None:
        async with self._pool.connection() as conn:
            await conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
            await conn.execute(
                f"CREATE TABLE memories (tenant int, key text, value text, embedding vector({int(self._data.dims)}))"
            )
            await conn.execute("CREATE INDEX ON memories (tenant)")

    async def write(self, rows: Sequence[int]) -> None:
        async with (
            self._pool.connection() as conn,
            conn.cursor() as cursor,
            cursor.copy("COPY memories (tenant, key, value, embedding) FROM STDIN") as copy,
        ):
            for row in rows:
                vector = Vector(self._data.vectors[row]).to_text()
                await copy.write_row((int(self._data.owners[row]), key(row), self._data.text(row), vector))

    async def search(self, question: Question) -> list[str]:
        vector = Vector(self._data.vector_of(question.text)).to_text()
        async with self._pool.connection() as conn:
            cursor = await conn.execute(
                "SELECT key, value FROM memories WHERE tenant = %s ORDER BY embedding <=> %s::vector LIMIT %s",
                (question.tenant, vector, WANTED),
            )
            return [row["key"] for row in await cursor.fetchall()]


System = StoreSystem | RawSql


async def settle(system: System) -> int:
    """Do the database's housekeeping, and return the size on disk."""
    if isinstance(system, StoreSystem) and isinstance(system.store, MemoryStore):
        await system.store.indexes.settle()  # those that are being built
    async with await AsyncConnection.connect(system.url, autocommit=True) as conn:
        await conn.execute("VACUUM ANALYZE")
        await conn.execute("CHECKPOINT")
    return await disk_bytes(system.url)


class Server:
    def __init__(self, url: str, data: Data, stack: AsyncExitStack) -> None:
        self._url = url
        self._data = data
        self._stack = stack
        self._pools: list[Pool] = []
        self.open: dict[str, Callable[[], Any]] = {
            "react_mem": self._ours,
            "stock": lambda: self._stock("stock", {}),
            "raw SQL": self._raw,
            # an index scan that goes on until it has enough
            "stock, iterative": lambda: self._stock("stock", _ITERATIVE, made=True),
            "stock, no index": self._stock_without_index,
        }

    async def _ours(self) -> System:
        url = await self._database("ours")
        pool = await self._opened(DatabasePool(url, revive=None, **_POOL))
        store = MemoryStore(pool, EmbeddingModel("benchmark:given", self._data.dims, GivenEmbeddings(self._data)))
        await store.setup()
        await self._stack.enter_async_context(store)
        return StoreSystem(url, store, self._data)

    async def _raw(self) -> System:
        url = await self._database("raw")
        system = RawSql(url, await self._pool(url, {}), self._data)
        await system.setup()
        return system

    async def _stock_without_index(self) -> System:
        """Open a copy of the stock store's database without its index, for exact search."""
        url = await self._database("stock_exact", template="stock")
        system = await self._stock("stock_exact", {}, made=True)
        async with await AsyncConnection.connect(url, autocommit=True) as conn:
            await conn.execute("DROP INDEX store_vectors_embedding_idx")
        await settle(system)
        return system

    async def _stock(self, name: str, settings: Mapping[str, str], *, made: bool = False) -> System:
        """Open LangGraph's own store, under settings, in a new database or an existing one (`made`)."""
        url = self._at(name) if made else await self._database(name)
        index: Any = {"dims": self._data.dims, "embed": GivenEmbeddings(self._data), "fields": ["text"]}
        store = AsyncPostgresStore(await self._pool(url, settings), index=index)
        if not made:
            await store.setup()
        return StoreSystem(url, store, self._data)

    async def _database(self, name: str, template: str | None = None) -> str:
        async with await AsyncConnection.connect(self._url, autocommit=True) as conn:
            statement = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                Identifier(name), Identifier(template or "template1")
            )
            for attempt in range(_COPY_ATTEMPTS):
                if template:
                    await conn.execute(_LEAVE, (template,))
                try:
                    await conn.execute(statement)
                    break
                except errors.ObjectInUse:
                    # the database's own vacuum of a large index takes its time to leave
                    if attempt == _COPY_ATTEMPTS - 1:
                        raise
        for pool in self._pools:
            await pool.check()  # a database is copied while nobody uses it
        return self._at(name)

    def _at(self, name: str) -> str:
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))

    async def _pool(self, url: str, settings: Mapping[str, str]) -> Pool:
        options = quote(" ".join(f"-c {name}={value}" for name, value in settings.items()))
        pool = AsyncConnectionPool(f"{url}{'&' if '?' in url else '?'}options={options}", open=False, **_POOL)
        return await self._opened(pool)

    async def _opened(self, pool: Pool) -> Pool:
        await self._stack.enter_async_context(pool)
        self._pools.append(pool)
        return pool
