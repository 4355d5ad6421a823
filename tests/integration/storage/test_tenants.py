"""One tenant among a hundred finds all that is theirs, however much there is."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, PutOp
from psycopg import AsyncConnection

from react_mem.memory.model.namespaces import owner_of_path
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.support.databases import open_memory_store

DIMS = 32
TENANTS = 100
ROWS = 4_000
LARGE_TENANT_ROWS = 400
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
        async with cursor.copy("COPY store (owner, prefix, key, value) FROM STDIN") as copy:
            for number, (prefix, key) in enumerate(rows):
                value = f'{{"text": "{key}", "even": {str(number % 2 == 0).lower()}}}'
                await copy.write_row((owner_of_path(prefix), prefix, key, value))
        columns = "owner, prefix, key, field_name, embedding, half"
        async with cursor.copy(f"COPY store_vectors ({columns}) FROM STDIN".encode()) as copy:
            for (prefix, key), vector in zip(rows, vectors, strict=True):
                numbers = f"[{','.join(map(str, vector))}]"
                await copy.write_row((owner_of_path(prefix), prefix, key, "text", numbers, numbers))
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


async def all_keys(store: BaseStore, count: int = WANTED) -> list[list[str]]:
    return [await keys(store, query, count) for query in range(QUERIES)]


def recall(found: list[list[str]], truth: list[list[str]]) -> float:
    return float(np.mean([len(set(hits) & set(true)) / WANTED for hits, true in zip(found, truth, strict=True)]))


async def indexes(store: MemoryStore) -> dict[str, str]:
    """Return what the indexes of the vectors are, by name."""
    async with store.pool.connection() as conn:
        cursor = await conn.execute("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'store_vectors'")
        return {row["indexname"]: row["indexdef"] for row in await cursor.fetchall() if "hnsw" in row["indexdef"]}


async def test_a_tenant_of_400_rows_among_4000(
    tenants: tuple[MemoryStore, np.ndarray, np.ndarray],
) -> None:
    store, vectors, queries = tenants
    truth = [nearest(vectors, query, WANTED) for query in queries]

    assert await all_keys(store) == truth
    # The next page, a filter, and more than there is.
    assert await keys(store, 0, offset=WANTED) == nearest(vectors, queries[0], 2 * WANTED)[WANTED:]
    assert await keys(store, 0, filter={"even": True}) == nearest(vectors, queries[0], WANTED, step=2)
    assert len(await keys(store, 0, 2 * LARGE_TENANT_ROWS)) == LARGE_TENANT_ROWS
    assert await indexes(store) == {}

    # As if the tenant were too large to compare every row: exact until there is an index, then by the index.
    outgrown = MemoryStore(store.pool, store.embedding, index_limit=LARGE_TENANT_ROWS // 2)
    assert await all_keys(outgrown) == truth
    await outgrown.indexes.settle()
    (definition,) = (await indexes(store)).values()
    assert "WHERE (prefix = 'memory.large.semantic'::text)" in definition
    by_index = await all_keys(outgrown)
    assert all(len(hits) == WANTED for hits in by_index)
    assert recall(by_index, truth) >= 0.98
    assert len(await keys(outgrown, 0, 100, filter={"even": True})) == 100
    assert len(await keys(outgrown, 0, 2 * LARGE_TENANT_ROWS)) == LARGE_TENANT_ROWS
    # Above the namespace there are others, which have no index.
    everybody = await outgrown.asearch(("memory",), query="q0", limit=WANTED)
    alone = np.argsort(-(vectors @ queries[0]), kind="stable")[:WANTED]
    assert len({hit.key for hit in everybody} & {f"r{row}" for row in alone}) >= WANTED - 1


class TestTheIndexOfALargeNamespace:
    LIMIT = 50

    @pytest.fixture
    async def store(self, database_url: str) -> AsyncIterator[MemoryStore]:
        queries = clustered(QUERIES)
        async with open_memory_store(
            database_url, EmbeddingModel("test:given", DIMS, GivenEmbeddings(queries))
        ) as exact:
            store = MemoryStore(exact.pool, exact.embedding, index_limit=self.LIMIT)
            await store.abatch([PutOp(LARGE, str(n), {"text": f"q{n % QUERIES}"}) for n in range(2 * self.LIMIT)])
            async with store:
                yield store

    async def test_is_dropped_when_it_is_forgotten(self, store: MemoryStore) -> None:
        await keys(store, 0)
        await store.indexes.settle()
        assert len(await indexes(store)) == 1
        # by another process, which has not searched
        other = MemoryStore(store.pool, store.embedding, index_limit=self.LIMIT)
        await other.abatch([PutOp(LARGE, str(n), None) for n in range(self.LIMIT - 1)])
        await other.indexes.settle()
        assert len(await indexes(store)) == 1, "there are still more than the limit"
        await other.adelete(LARGE, str(self.LIMIT))
        await other.indexes.settle()
        assert await indexes(store) == {}
        assert len(await keys(store, 0, 100)) == self.LIMIT, "who knew the index finds everything without it"

    async def test_is_built_anew_if_building_it_was_interrupted(self, store: MemoryStore) -> None:
        await keys(store, 0)
        await store.indexes.settle()
        async with store.pool.connection() as conn:
            await conn.execute("UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid::regclass::text LIKE '%half%'")
        other = MemoryStore(store.pool, store.embedding, index_limit=self.LIMIT)
        await keys(other, 0)
        await other.indexes.settle()
        async with store.pool.connection() as conn:
            row = await (await conn.execute("SELECT bool_and(indisvalid) AS valid FROM pg_index")).fetchone()
        assert row == {"valid": True}
        assert len(await indexes(store)) == 1
