"""Vectors in half precision alone: found as ever, filled in, moved, and switched on a database that is there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection

from react_mem.memory.model.arms import Arm
from react_mem.memory.store import StorageSettings, reembed, vectors
from react_mem.memory.store.postgres import MemoryStore
from tests.support.citus import one_server
from tests.support.databases import open_memory_store, word_model
from tests.support.recalling import keys, put, recalled, sense_model

ANN = ("memory", "ann", "semantic")
MODEL = word_model(64, "test:words")


@pytest.fixture
async def half(database_url: str) -> AsyncIterator[MemoryStore]:
    async with open_memory_store(database_url, MODEL, full_vectors=False) as store:
        await store.abatch([PutOp(ANN, str(n), {"text": f"tea number {n}"}) for n in range(30)])
        yield store


async def stored(url: str) -> tuple[int, int, int]:
    """Return how many rows there are, with how many whole vectors, and how many in half precision."""
    async with await AsyncConnection.connect(url) as conn:
        row = await (await conn.execute("SELECT count(*), count(embedding), count(half) FROM store_vectors")).fetchone()
    assert row is not None
    return row


async def test_what_is_stored_is_half_and_found_in_the_same_order(half: MemoryStore, database_url: str) -> None:
    assert await stored(database_url) == (30, 0, 30)
    found = await half.asearch(ANN, query="tea number 7", limit=30)
    await half.abatch([PutOp(ANN, item.key, None) for item in found])
    async with open_memory_store(database_url, MODEL) as whole:
        await whole.abatch([PutOp(ANN, str(n), {"text": f"tea number {n}"}) for n in range(30)])
        assert await stored(database_url) == (30, 30, 30)
        exact = await whole.asearch(ANN, query="tea number 7", limit=30)
    assert (found[0].key, len(found)) == ("7", 30)
    assert [item.score for item in found] == pytest.approx([item.score for item in exact], abs=1e-3)


@pytest.mark.parametrize("limit", [5, 1_000], ids=["bounded", "every one"])
async def test_rows_of_both_kinds_are_searched_together(half: MemoryStore, database_url: str, limit: int) -> None:
    async with open_memory_store(database_url, MODEL) as whole:
        await whole.aput(ANN, "whole", {"text": "tea number 99"})
        for store in (half, whole):
            for query, key in (("tea number 99", "whole"), ("tea number 7", "7")):
                assert (await store.asearch(ANN, query=query, limit=limit))[0].key == key
        # an update is stored as the store stores that makes it
        await half.aput(ANN, "whole", {"text": "tea number 100"})
    assert await stored(database_url) == (31, 0, 31)


async def test_vectors_that_failed_are_made_up_for_as_half(
    half: MemoryStore, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("away")

    with monkeypatch.context() as patched:
        patched.setattr(vectors, "_RETRY_SECONDS", 3_600.0)
        patched.setattr(half.embedding.embeddings, "aembed_documents", fails)
        await half.aput(ANN, "late", {"text": "coffee"})
    assert await stored(database_url) == (31, 0, 30)
    assert await half.amake_up_vectors() == 1
    assert await stored(database_url) == (31, 0, 31)
    assert (await half.asearch(ANN, query="coffee", limit=1))[0].key == "late"


@one_server
async def test_the_stock_store_reads_and_writes_beside_it_and_finds_its_own(
    half: MemoryStore, database_url: str
) -> None:
    index = {"dims": MODEL.dims, "embed": MODEL.embeddings, "fields": ["text"]}
    async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
        await stock.aput(ANN, "theirs", {"text": "tea number 55"})
        assert [item.score for item in await stock.asearch(ANN, query="tea number 7", limit=50) if item.score] == [
            pytest.approx(0.8, abs=0.2)
        ]
        assert await stock.aget(ANN, "7") is not None
    assert (await half.asearch(ANN, query="tea number 55", limit=1))[0].key == "theirs"


async def test_the_settings_are_brought_to_what_is_there_both_ways(half: MemoryStore, database_url: str) -> None:
    for full, rows in ((False, 0), (True, 30), (True, 0), (False, 30), (False, 0)):
        settings = StorageSettings.model_validate({"database_url": database_url, "full_vectors": full})
        assert await reembed.reembed(settings, MODEL, lambda done, total: None) == rows
        assert await stored(database_url) == (30, 30 if full else 0, 30)
    assert (await half.asearch(ANN, query="tea number 7", limit=1))[0].key == "7"


async def test_a_run_that_was_interrupted_goes_on_only_towards_the_same_kind(
    half: MemoryStore, database_url: str
) -> None:
    class InterruptedRunError(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if not done:
            return
        raise InterruptedRunError

    for full in (True, False):
        settings = StorageSettings.model_validate({"database_url": database_url, "full_vectors": full})
        other = word_model(96, "test:other")
        if full:
            with pytest.raises(InterruptedRunError):
                await reembed.reembed(settings, other, stop)
        else:
            await reembed.reembed(settings, other, lambda done, total: None)
    assert await stored(database_url) == (30, 0, 30)


async def test_a_recall_compares_them(database_url: str) -> None:
    async with open_memory_store(database_url, sense_model(), full_vectors=False) as store:
        await put(store, {"1": "my canoe", "2": "rain"})
        found = await recalled(store, "kayak", arms=frozenset({Arm.VECTOR}))
    assert keys(found)[0] == "1"
