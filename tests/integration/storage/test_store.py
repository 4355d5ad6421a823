"""`MemoryStore` beyond what any `BaseStore` promises, which `tests/integration/conformance` checks."""

from __future__ import annotations

import asyncio

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection

from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.support.citus import one_server
from tests.support.databases import WordEmbeddings, open_memory_store, word_model

ANN = ("memory", "ann", "semantic")
BOB = ("memory", "bob", "semantic")


def keys(items: list[object]) -> list[str]:
    return [item.key for item in items]  # type: ignore[attr-defined]


async def vectors(store: MemoryStore) -> list[tuple[str, str]]:
    async with store.pool.connection() as conn:
        cursor = await conn.execute("SELECT key, field_name FROM store_vectors ORDER BY key, field_name")
        return [(row["key"], row["field_name"]) for row in await cursor.fetchall()]


class TestBeyondTheStockStore:
    async def test_a_long_text_is_found_by_every_part_of_it(self, memory_store: MemoryStore) -> None:
        lines = [f"Line {n} says something about the weather of day {n}." for n in range(80)] + ["zebra baobab"] * 70
        await memory_store.aput(ANN, "long", {"text": lines[0], "content": "\n".join(lines), "kind": "message"})
        await memory_store.aput(ANN, "short", {"text": "the zebra of the zoo"})
        assert len(await vectors(memory_store)) > 3
        hits = await memory_store.asearch(ANN, query="zebra baobab", limit=2)
        assert keys(hits) == ["long", "short"]
        # What becomes short leaves no part of itself behind.
        await memory_store.aput(ANN, "long", {"text": "nothing any more"})
        assert await vectors(memory_store) == [("long", "text"), ("short", "text")]

    async def test_pages_of_equals_neither_repeat_nor_miss(self, memory_store: MemoryStore) -> None:
        await memory_store.abatch([PutOp(ANN, str(n), {"text": "tea"}) for n in range(100)])
        pages = [await memory_store.asearch(ANN, query="tea", limit=10, offset=start) for start in range(0, 100, 10)]
        assert sorted(key for page in pages for key in keys(page)) == sorted(str(n) for n in range(100))

    async def test_many_texts_are_embedded_a_bounded_number_at_once(self, database_url: str) -> None:
        class Counting(WordEmbeddings):
            most = 0

            async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
                self.most = max(self.most, len(texts))
                return self.embed_documents(texts)

        counting = Counting()
        async with open_memory_store(database_url, EmbeddingModel("test:counting", 64, counting)) as store:
            await store.abatch([PutOp(ANN, str(n), {"text": f"tea {n}"}) for n in range(210)])
            assert len(await store.asearch(ANN, query="tea", limit=500)) == 210
        assert 0 < counting.most <= 100

    async def test_an_update_removes_the_vectors_of_what_is_gone(self, memory_store: MemoryStore) -> None:
        await memory_store.aput(ANN, "1", {"text": "green tea"})
        await memory_store.aput(ANN, "2", {"tags": ["tea", "cup", "pot"]}, index=["tags[*]"])
        await memory_store.aput(ANN, "1", {"text": "green tea"}, index=False)
        await memory_store.aput(ANN, "2", {"tags": ["tea"]}, index=["tags[*]"])
        assert await vectors(memory_store) == [("2", "tags[*]")]
        assert keys(await memory_store.asearch(ANN, query="green tea")) == ["2"]
        await memory_store.adelete(ANN, "2")
        assert await vectors(memory_store) == []

    async def test_a_batch_is_written_whole_or_not_at_all(self, memory_store: MemoryStore) -> None:
        async with memory_store.pool.connection() as conn:
            await conn.execute("ALTER TABLE store ADD CHECK (key <> 'refused')")
        await memory_store.aput(ANN, "old", {"text": "tea"})
        writes = [PutOp(ANN, "new", {"text": "tea"}), PutOp(ANN, "old", None), PutOp(ANN, "refused", {"text": "x"})]
        with pytest.raises(Exception, match="check constraint"):
            await memory_store.abatch(writes)
        assert keys(await memory_store.asearch(ANN)) == ["old"]

    async def test_a_batch_larger_than_a_statement_takes_parameters(self, memory_store: MemoryStore) -> None:
        count = 17_000  # the stock store binds four parameters an item, and PostgreSQL takes 65,535
        await memory_store.abatch([PutOp(ANN, str(n), {"n": n}, index=False) for n in range(count)])
        async with memory_store.pool.connection() as conn:
            cursor = await conn.execute("SELECT count(*) AS items FROM store")
            assert await cursor.fetchone() == {"items": count}
        await memory_store.abatch([PutOp(ANN, str(n), None) for n in range(count)])
        assert await memory_store.asearch(ANN) == []

    async def test_nul_and_lone_surrogates_are_replaced_not_lost(self, memory_store: MemoryStore) -> None:
        await memory_store.aput(ANN, "1", {"text": "green\x00tea", "more": ["\ud83d\ude00 \udc00"], "k\x00": 1})
        item = await memory_store.aget(ANN, "1")
        assert item is not None
        assert item.value == {"text": "green\ufffdtea", "more": ["😀 \ufffd"], "k\ufffd": 1}
        assert keys(await memory_store.asearch(ANN, query="green\x00tea")) == ["1"]
        assert keys(await memory_store.asearch(ANN, filter={"text": "green\x00tea"})) == ["1"]

    async def test_a_bad_write_fails_alone(self, memory_store: MemoryStore) -> None:
        # Written in one tick, they are one batch.
        good, nan, thing, nul = await asyncio.gather(
            memory_store.aput(ANN, "good", {"text": "tea"}),
            memory_store.aput(ANN, "nan", {"text": "tea", "n": float("nan")}),
            memory_store.aput(ANN, "thing", {"text": "tea", "n": object()}),
            memory_store.aput(ANN, "nul\x00", {"text": "tea"}),
            return_exceptions=True,
        )
        assert good is None
        assert isinstance(nan, ValueError)
        assert isinstance(thing, TypeError)
        assert isinstance(nul, ValueError)
        assert "without NUL" in str(nul)
        assert keys(await memory_store.asearch(ANN)) == ["good"]

    async def test_no_connection_is_held_while_a_model_embeds(self, database_url: str) -> None:
        class Waiting(WordEmbeddings):
            def __init__(self, store_free: asyncio.Event) -> None:
                super().__init__()
                self._store_free = store_free

            async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
                await asyncio.wait_for(self._store_free.wait(), 20)
                return self.embed_documents(texts)

            async def aembed_query(self, text: str) -> list[float]:
                return (await self.aembed_documents([text]))[0]

        free = asyncio.Event()
        async with open_memory_store(database_url, EmbeddingModel("test:waiting", 64, Waiting(free))) as store:
            most = store.pool.max_size
            waiting = [
                asyncio.create_task(store.abatch([PutOp(ANN, str(n), {"text": "tea"}), SearchOp(ANN, query="tea")]))
                for n in range(most + 1)
            ]
            # With connections held by those that wait, this would not get one.
            await store.abatch([PutOp(BOB, "1", {"text": "tea"}, index=False), GetOp(BOB, "1")])
            free.set()
            await asyncio.gather(*waiting)

    async def test_concurrent_batches_over_the_same_items_in_any_order(self, memory_store: MemoryStore) -> None:
        names = [str(n) for n in range(30)]

        async def write(order: list[str], author: int) -> None:
            for _ in range(5):
                await memory_store.abatch([PutOp(ANN, name, {"text": "tea", "author": author}) for name in order])

        await asyncio.gather(*(write(names if author % 2 else names[::-1], author) for author in range(6)))
        items = await memory_store.asearch(ANN, limit=100)
        assert len(items) == 30
        assert len({item.value["author"] for item in items}) == 1, "each batch is whole"

    async def test_a_bad_filter_fails_alone(self, memory_store: MemoryStore) -> None:
        await memory_store.aput(ANN, "1", {"text": "tea"})
        good, unknown, thing = await asyncio.gather(
            memory_store.asearch(ANN, query="tea"),
            memory_store.asearch(ANN, filter={"text": {"$like": "x"}}),
            memory_store.asearch(ANN, filter={"text": object()}),
            return_exceptions=True,
        )
        assert keys(good) == ["1"]  # type: ignore[arg-type]
        assert isinstance(unknown, ValueError)
        assert "no operator '$like'; it has $eq, $ne, $gt" in str(unknown)
        assert isinstance(thing, TypeError)

    @one_server
    async def test_a_stock_database_is_adopted_and_stays_usable_by_the_stock_store(self, database_url: str) -> None:
        model = word_model()
        index = {"dims": model.dims, "embed": model.embeddings, "fields": ["text"]}
        async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
            await stock.setup()
            await stock.aput(ANN, "1", {"text": "green tea"})
            async with open_memory_store(database_url, model) as store:
                assert keys(await store.asearch(ANN, query="tea")) == ["1"]
                await store.aput(ANN, "2", {"text": "black coffee"})
            await stock.setup()
            assert keys(await stock.asearch(ANN, query="black coffee", limit=1)) == ["2"]

    async def test_starts_at_the_same_time(self, database_url: str) -> None:
        async def start() -> None:
            async with open_memory_store(database_url, word_model()) as store:
                await store.aput(ANN, "1", {"text": "tea"})

        await asyncio.gather(*(start() for _ in range(4)))
        async with await AsyncConnection.connect(database_url) as conn:
            row = await (await conn.execute("SELECT count(*) FROM memory_embedding")).fetchone()
            assert row == (1,)
