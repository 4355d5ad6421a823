"""One tenant among a thousand finds all that is theirs, which the stock store does not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection

from memory.storage.embeddings import EmbeddingModel
from memory.storage.postgres import MemoryStore
from tests.support.databases import open_memory_store

DIMS = 32
TENANTS = 1_000
ROWS = 100_000
LARGE_TENANT_ROWS = 2_000
QUERIES = 20
WANTED = 10
LARGE = ("memory", "large", "semantic")
RANDOM = np.random.default_rng(7)


class GivenEmbeddings(Embeddings):
    """`q<i>` is the i-th query."""

    def __init__(self, queries: np.ndarray) -> None:
        self._queries = queries

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(part) for part in self._queries[int(text[1:])]]


def clustered(rows: int) -> np.ndarray:
    """Return unit vectors around topics that all tenants share."""
    topics = np.random.default_rng(1).normal(size=(200, DIMS))
    vectors = topics[RANDOM.integers(len(topics), size=rows)] + 0.5 * RANDOM.normal(size=(rows, DIMS))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


async def load(url: str, vectors: np.ndarray) -> None:
    """Store the vectors, the first of them as the large tenant's."""
    others = TENANTS - 1
    rows = [
        ("memory.large.semantic" if row < LARGE_TENANT_ROWS else f"memory.u{row % others}.semantic", f"r{row}")
        for row in range(len(vectors))
    ]
    async with await AsyncConnection.connect(url) as conn, conn.cursor() as cursor:
        # An index is built in a fraction of the time that it takes to grow.
        await cursor.execute("DROP INDEX store_vectors_embedding_idx")
        async with cursor.copy("COPY store (prefix, key, value) FROM STDIN") as copy:
            for number, (prefix, key) in enumerate(rows):
                await copy.write_row((prefix, key, f'{{"text": "{key}", "even": {str(number % 2 == 0).lower()}}}'))
        async with cursor.copy("COPY store_vectors (prefix, key, field_name, embedding) FROM STDIN") as copy:
            for (prefix, key), vector in zip(rows, vectors, strict=True):
                await copy.write_row((prefix, key, "text", f"[{','.join(map(str, vector))}]"))
        await cursor.execute(
            "CREATE INDEX store_vectors_embedding_idx ON store_vectors USING hnsw (embedding vector_cosine_ops)"
        )
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("ANALYZE store, store_vectors")


def nearest(vectors: np.ndarray, query: np.ndarray, count: int, step: int = 1) -> list[str]:
    """Return the keys of the large tenant's nearest rows, by comparing every one."""
    rows = np.arange(0, LARGE_TENANT_ROWS, step)
    order = np.argsort(-(vectors[rows] @ query), kind="stable")
    return [f"r{rows[place]}" for place in order[:count]]


@pytest.fixture
async def tenants(database_url: str) -> AsyncIterator[tuple[MemoryStore, np.ndarray, np.ndarray]]:
    vectors, queries = clustered(ROWS), clustered(QUERIES)
    model = EmbeddingModel("test:given", DIMS, GivenEmbeddings(queries))
    async with open_memory_store(database_url, model) as store:
        await load(database_url, vectors)
        yield store, vectors, queries


async def keys(store: BaseStore, query: int, count: int = WANTED, **options: object) -> list[str]:
    hits = await store.asearch(LARGE, query=f"q{query}", limit=count, **options)  # type: ignore[arg-type]
    return [hit.key for hit in hits]


async def test_a_tenant_of_2000_rows_among_100000(
    tenants: tuple[MemoryStore, np.ndarray, np.ndarray],
) -> None:
    store, vectors, queries = tenants
    truth = [nearest(vectors, query, WANTED) for query in queries]

    assert [await keys(store, number) for number in range(QUERIES)] == truth

    # The same rows, the same index, the same queries: the stock store misses most.
    stock = AsyncPostgresStore(
        store.pool, index={"dims": DIMS, "embed": store.embedding.embeddings, "fields": ["text"]}
    )
    found = [await keys(stock, number) for number in range(QUERIES)]
    recall = np.mean([len(set(hits) & set(true)) / WANTED for hits, true in zip(found, truth, strict=True)])
    assert recall < 0.5
    assert min(map(len, found)) < WANTED

    # The next page, a filter, and more than there is.
    assert await keys(store, 0, offset=WANTED) == nearest(vectors, queries[0], 2 * WANTED)[WANTED:]
    assert await keys(store, 0, filter={"even": True}) == nearest(vectors, queries[0], WANTED, step=2)
    assert len(await keys(store, 0, 2 * LARGE_TENANT_ROWS)) == LARGE_TENANT_ROWS

    # As if the tenant were too large to compare every row: by the index, and never fewer than there are.
    indexed = MemoryStore(store.pool, store.embedding, exact_scan_limit=LARGE_TENANT_ROWS // 2)
    by_index = [await keys(indexed, number) for number in range(QUERIES)]
    assert all(len(hits) == WANTED for hits in by_index)
    assert np.mean([len(set(a) & set(b)) / WANTED for a, b in zip(by_index, truth, strict=True)]) > 0.9
    assert len(await keys(indexed, 0, 500, filter={"even": True})) == 500
    assert len(await keys(indexed, 0, 2 * LARGE_TENANT_ROWS)) == LARGE_TENANT_ROWS
