"""Every store that memory must behave the same on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore

from tests.support.databases import WordEmbeddings, fresh_database, fresh_memory_store

STORES = ["in memory", "stock postgres", "memory store", "sealed memory store"]


@asynccontextmanager
async def open_any_store(name: str, server_url: str) -> AsyncIterator[BaseStore]:
    """Open one of the stores, empty, finding texts by their words; if need be on a database of its own."""
    if name == "in memory":
        yield InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
    elif name == "stock postgres":
        index = {"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]}
        pool = {"min_size": 1, "max_size": 5}
        async with (
            fresh_database(server_url) as url,
            AsyncPostgresStore.from_conn_string(url, index=index, pool_config=pool) as store,  # type: ignore[arg-type]
        ):
            await store.setup()
            yield store
    else:
        async with fresh_memory_store(server_url, sealed=name.startswith("sealed")) as store:
            yield store
