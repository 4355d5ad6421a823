"""Vectors in half precision alone: found as ever, beside those that were stored whole as well."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection

from react_mem.memory.store.postgres import MemoryStore
from tests.support.citus import one_server
from tests.support.databases import open_memory_store, word_model

ANN = ("memory", "ann", "semantic")
MODEL = word_model(64, "test:words")


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[MemoryStore]:
    async with open_memory_store(database_url, MODEL) as store:
        await store.abatch([PutOp(ANN, str(n), {"text": f"tea number {n}"}) for n in range(30)])
        yield store


async def stored(url: str) -> tuple[int, int, int]:
    """Return how many rows there are, with how many whole vectors, and how many in half precision."""
    async with await AsyncConnection.connect(url) as conn:
        half = "count(*) FILTER (WHERE half IS NOT NULL OR sealed_vector IS NOT NULL)"
        row = await (
            await conn.execute(f"SELECT count(*), count(embedding), {half} FROM store_vectors".encode())
        ).fetchone()
    assert row is not None
    return row


@one_server
@pytest.mark.parametrize("limit", [5, 1_000], ids=["bounded", "every one"])
async def test_what_an_older_version_stored_whole_is_found_and_written_as_half(
    store: MemoryStore, database_url: str, limit: int
) -> None:
    async with await AsyncConnection.connect(database_url) as conn:
        whole = "UPDATE store_vectors SET embedding = half::vector WHERE key < '2'"
        assert (await conn.execute(whole)).rowcount == 12
    async with open_memory_store(database_url, MODEL) as again:
        for each in (store, again):
            found = await each.asearch(ANN, query="tea number 17", limit=limit)
            assert (found[0].key, len(found)) == ("17", min(limit, 30))
        await again.abatch([PutOp(ANN, str(n), {"text": f"coffee number {n}"}) for n in range(30)])
    assert await stored(database_url) == (30, 0, 30)
    assert (await store.asearch(ANN, query="coffee number 7", limit=1))[0].key == "7"


@one_server
async def test_the_stock_store_reads_and_writes_beside_it_and_finds_its_own(
    store: MemoryStore, database_url: str
) -> None:
    index = {"dims": MODEL.dims, "embed": MODEL.embeddings, "fields": ["text"]}
    async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
        await stock.aput(ANN, "theirs", {"text": "tea number 55"})
        assert [item.score for item in await stock.asearch(ANN, query="tea number 7", limit=50) if item.score] == [
            pytest.approx(0.8, abs=0.2)
        ]
        assert await stock.aget(ANN, "7") is not None
    assert (await store.asearch(ANN, query="tea number 55", limit=1))[0].key == "theirs"
