"""A read costs one embedding call and two round trips, whatever the number of scopes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.integration.memory.test_scopes import fill
from tests.support.databases import WordEmbeddings


class CountingEmbeddings(WordEmbeddings):
    """Counts the texts it is asked to embed as queries."""

    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self.counts = counts

    async def aembed_query(self, text: str) -> list[float]:
        self.counts["embed"] += 1
        return await super().aembed_query(text)


class CountingCursor(AsyncCursor[Any]):
    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        CountingConnection.counts["statements"] += 1
        if self._conn._pipeline is None:
            CountingConnection.counts["round trips"] += 1
        return await super().execute(*args, **kwargs)

    async def fetchall(self) -> Any:
        rows = await super().fetchall()
        CountingConnection.counts["rows"] += len(rows)
        return rows

    async def fetchmany(self, size: int = 0) -> Any:
        rows = await super().fetchmany(size)
        CountingConnection.counts["rows"] += len(rows)
        return rows


class CountingConnection(AsyncConnection[Any]):
    """Counts statements, and the round trips they take: those of a pipeline are sent and answered together."""

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cursor_factory = CountingCursor

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[Any]:
        self.counts["round trips"] += 1
        async with super().pipeline() as pipeline:
            yield pipeline


def counting(kind: type[BaseStore], counts: Counter[str]) -> type[BaseStore]:
    class CountingStore(kind):  # type: ignore[valid-type,misc]
        async def abatch(self, ops: Any) -> Any:
            counts["abatch"] += 1
            return await super().abatch(ops)

    return CountingStore


@asynccontextmanager
async def counted(name: str, url: str, counts: Counter[str]) -> AsyncIterator[BaseStore]:
    embeddings = CountingEmbeddings(counts)
    if name == "in memory":
        make: Any = counting(InMemoryStore, counts)
        yield make(index={"dims": embeddings.dims, "embed": embeddings, "fields": ["text"]})
        return
    options = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}
    CountingConnection.counts = counts
    pool: Any = AsyncConnectionPool(url, connection_class=CountingConnection, kwargs=options, open=False)
    async with pool:
        make = counting(MemoryStore, counts)
        store = make(pool, EmbeddingModel("test:words", embeddings.dims, embeddings))
        await store.setup()
        yield store


@pytest.mark.parametrize("name", ["in memory", "memory store"])
async def test_a_read_of_every_scope_is_one_batch_and_one_embedding(name: str, database_url: str) -> None:
    counts: Counter[str] = Counter()
    async with counted(name, database_url, counts) as store:
        memory = MemoryFacade(store)
        await fill(memory, "ann", "tea")
        everything = MemoryQuery(
            user_id="ann",
            session_id="monday",
            agent_id="assistant",
            flow_id="trip",
            task_type="shop",
            query="tea",
            scopes=list(MemoryScope),
        )
        # the first read of an owner learns who speaks; the first of an unknown embedder, behind it, its scale
        await memory.read(everything)
        if isinstance(store, MemoryStore):
            await store.scale.settle()
        else:
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
        counts.clear()
        # the vector of a question that was asked a moment ago is at hand
        found = await memory.read(everything.model_copy(update={"query": "green tea"}))
        assert {item.scope for item in found} == set(MemoryScope)
        assert counts["embed"] == 1
        if name == "in memory":
            assert counts["abatch"] == 1
        else:
            # the owner's revision, the look-ups and the other searches together; then the records that are best
            assert (counts["statements"], counts["round trips"]) == (4, 2)
        counts.clear()
        await memory.read(everything.model_copy(update={"scopes": []}))
        assert counts == Counter()
