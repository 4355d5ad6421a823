"""A real PostgreSQL for tests: one embedded server a session, one database a test."""

from __future__ import annotations

import hashlib
import math
import os
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from langchain_core.embeddings import Embeddings
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from react_mem.memory.store.distribution import distribute_tables, is_distributed
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.key_ring import KeyRing
from react_mem.memory.store.master_key import LocalMasterKey, MasterKey
from react_mem.memory.store.pool import DatabasePool
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.row_security import enable_row_security
from tests.support.citus import CITUS_URL, schema_on_all

SEALED = bool(os.environ.get("TEST_SEALED"))
"""Whether stores seal what they store, where a test does not say: any test of a store can be run so."""

MASTER_KEY = MasterKey(LocalMasterKey(bytes(range(32))))


class WordEmbeddings(Embeddings):
    """Texts are near when they share words: deterministic, instant, good enough to rank by.

    A query's vector differs from that of the same text as a document, as e5's does, so that mixing them up shows.
    """

    def __init__(self, dims: int = 64, seed: str = "") -> None:
        self.dims = dims
        self._seed = seed

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._embed(text, "passage") for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text, "query")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    def _embed(self, text: str, prefix: str) -> list[float]:
        vector = [0.0] * self.dims
        for word, weight in [(f"{prefix}:", 0.1), *Counter(text.lower().split()).items()]:
            digest = _digest(self._seed + word)
            for part in range(0, 8, 2):
                vector[digest[part] % self.dims] += weight if digest[part + 1] % 2 else -weight
        norm = math.hypot(*vector) or 1.0
        return [part / norm for part in vector]


@cache
def _digest(word: str) -> bytes:
    return hashlib.sha256(word.encode()).digest()


def word_model(dims: int = 64, name: str = "test:words") -> EmbeddingModel:
    """Return a fast, deterministic embedding model; another name gives other vectors."""
    return EmbeddingModel(name, dims, WordEmbeddings(dims, name))


@asynccontextmanager
async def fresh_database(server_url: str, template: str = "template1") -> AsyncIterator[str]:
    """Make a database on the server, and drop it afterwards, whoever is still connected."""
    if CITUS_URL:
        async with schema_on_all(server_url) as url:
            yield url
        return
    name = f"test_{uuid.uuid4().hex}"
    async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
        # Copying files is twice as fast as logging them for a database that nobody has to recover.
        create = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        await conn.execute(create.format(Identifier(name), Identifier(template)))
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
            await conn.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


_templates: dict[str, str] = {}
"""By server: a database with the tables of a store."""


@asynccontextmanager
async def fresh_memory_store(
    server_url: str, embeddings: Embeddings | None = None, *, sealed: bool = SEALED
) -> AsyncIterator[MemoryStore]:
    """Open a store on a database of its own, copied: running every migration takes longer."""
    model = word_model()
    if embeddings is not None:
        model = replace(model, embeddings=embeddings)
    if CITUS_URL:
        _templates[server_url] = ""  # of a distributed database there are no copies
    elif server_url not in _templates:
        template = f"template_{uuid.uuid4().hex}"
        async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
            await conn.execute(SQL("CREATE DATABASE {}").format(Identifier(template)))
        async with open_memory_store(urlunsplit(urlsplit(server_url)._replace(path=f"/{template}")), model):
            _templates[server_url] = template
    async with (
        fresh_database(server_url, _templates[server_url]) as url,
        open_memory_store(url, model, sealed=sealed) as store,
    ):
        yield store


_ENDS = "SELECT prefix, key, expires_at FROM store WHERE expires_at IS NOT NULL"


async def bring_ends_forward(conn: AsyncConnection[Any], by: timedelta) -> None:
    """Bring the end of every item forward: one by one, as a cluster does not compute with times where rows are."""
    for row in await (await conn.cursor(row_factory=dict_row).execute(_ENDS)).fetchall():
        place = (row["expires_at"] - by, row["prefix"], row["key"])
        await conn.execute("UPDATE store SET expires_at = %s WHERE prefix = %s AND key = %s", place)


async def forget_durability(server_url: str, settings: Sequence[str] = ("fsync", "synchronous_commit")) -> None:
    """Make a test server fast: what it stores need not survive a power cut."""
    async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
        for setting in settings:
            await conn.execute(SQL("ALTER SYSTEM SET {} = off").format(Identifier(setting)))
        await conn.execute("SELECT pg_reload_conf()")


@asynccontextmanager
async def open_pool(url: str) -> AsyncIterator[DatabasePool]:
    """Open connections as the product makes them."""
    connecting = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}
    pool = DatabasePool(url, revive=None, kwargs=connecting)
    async with pool:
        yield pool


@asynccontextmanager
async def open_memory_store(
    url: str, model: EmbeddingModel, *, sealed: bool = SEALED, **options: Any
) -> AsyncIterator[MemoryStore]:
    """Open a store with an embedding model that has no spec, and with options of its own."""
    async with open_pool(url) as pool:
        keys = KeyRing(pool, MASTER_KEY) if sealed else None
        store = MemoryStore(pool, model, keys=keys, **options)
        await store.setup()
        if keys is not None:
            await keys.check()
        async with pool.connection() as conn:
            pool.has_row_security = await enable_row_security(conn, "auto", distributed=await is_distributed(conn))
        if CITUS_URL:
            await distribute_for(pool)
        yield store


async def distribute_for(pool: Any) -> None:
    """Distribute a database's tables, of which a pool has connections, as if it was opened after that."""
    async with pool.connection() as conn:
        await distribute_tables(conn, lambda done: None)
        pool.has_row_security = await enable_row_security(conn, "auto", distributed=await is_distributed(conn))


@asynccontextmanager
async def held_writes(url: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Have every write of memories wait, in the middle of its transaction, for the length of a context.

    What it yields returns once a write waits.
    """
    async with await AsyncConnection.connect(url) as holding, await AsyncConnection.connect(url) as looking:
        await looking.set_autocommit(True)

        async def waited() -> None:
            asked = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'store'::regclass"
            while (await looking.execute(asked)).rowcount == 0:
                pass

        await holding.execute("LOCK TABLE store IN EXCLUSIVE MODE")
        yield waited
