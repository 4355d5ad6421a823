"""Every store that memory must behave the same on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore

from tests.support.databases import WordEmbeddings, open_memory_store, word_model

STORES = ["in memory", "stock postgres", "memory store"]


@asynccontextmanager
async def open_any_store(name: str, database_url: str) -> AsyncIterator[BaseStore]:
    """Open one of the stores, empty, finding texts by their words."""
    if name == "in memory":
        yield InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
    elif name == "stock postgres":
        index = {"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]}
        pool = {"min_size": 1, "max_size": 5}
        async with AsyncPostgresStore.from_conn_string(database_url, index=index, pool_config=pool) as store:  # type: ignore[arg-type]
            await store.setup()
            yield store
    else:
        async with open_memory_store(database_url, word_model()) as store:
            yield store
