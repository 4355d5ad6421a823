"""Texts whose vectors fail: found by their words at once, and by their meaning once the embedder works again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from langgraph.store.base import PutOp
from psycopg.types.json import Json

from react_mem.errors import InvalidVector
from react_mem.graphs.server import build_maintenance
from react_mem.memory.model.interface import Arm
from react_mem.memory.store import vectors
from react_mem.memory.store.embeddings import LOCAL_MODEL, EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.priority import is_behind
from react_mem.memory.store.row_codec import RowCodec
from tests.support.recalling import (
    DIALOG,
    DIMS,
    SenseEmbeddings,
    keys,
    message,
    open_recalling,
    put,
    recalled,
    shared_database,
)

WORDS_ONLY = frozenset({Arm.LEXICAL})
NONSENSE = {
    "nan": [float("nan")] * DIMS,
    "huge": [1.0] * (DIMS - 1) + [65_505.0],
    "zeros in half precision": [1e-9] * DIMS,
    "short": [1.0] * (DIMS - 1),
    "texts": ["1"] * DIMS,
}


class Faulty(SenseEmbeddings):
    """An embedder of documents that does what a test tells it to."""

    fault: Callable[[list[str]], Awaitable[Any]] | None = None

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts) if self.fault is None else await self.fault(texts)


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
def embeddings() -> Faulty:
    return Faulty()


@pytest.fixture
async def store(shared_url: str, embeddings: Faulty, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryStore]:
    monkeypatch.setattr(vectors, "_RETRY_SECONDS", 0.0)
    async with open_recalling(shared_url, EmbeddingModel("test:senses", DIMS, embeddings)) as opened:
        yield opened


async def raises(texts: list[str]) -> Any:
    raise ConnectionError("no route to the provider")


async def hangs(texts: list[str]) -> Any:
    await asyncio.Future()


async def returns_too_few(texts: list[str]) -> Any:
    return []


def returning(vector: Any) -> Callable[[list[str]], Awaitable[Any]]:
    async def answer(texts: list[str]) -> Any:
        return [vector for _ in texts]

    return answer


def returning_one(vector: Any) -> Callable[[str], Awaitable[Any]]:
    async def answer(text: str) -> Any:
        return vector

    return answer


async def without_vectors(store: MemoryStore) -> int:
    async with store.pool.connection() as conn:
        row = await (await conn.execute("SELECT count(*) AS n FROM store_vectors WHERE half IS NULL")).fetchone()
    assert row is not None
    return int(row["n"])


FAULTS = {
    "raises": raises,
    "hangs": hangs,
    "returns too few": returns_too_few,
    **{name: returning(NONSENSE[name]) for name in ("nan", "zeros in half precision", "texts")},
}


class TestATextThatIsWrittenAgain:
    async def test_is_not_embedded_again(self, store: MemoryStore, embeddings: Faulty) -> None:
        asked: list[str] = []

        async def counted(texts: list[str]) -> Any:
            asked.extend(texts)
            return embeddings.embed_documents(texts)

        embeddings.fault = counted
        await put(store, {"dog": "my terrier"})
        await store.aput(DIALOG, "dog", {"text": "my terrier", "status": "retired"})
        await put(store, {"dog": "my terrier", "again": "my terrier", "cat": "my cat"})
        assert asked == ["my terrier", "my cat"]
        assert await without_vectors(store) == 0
        assert keys(await recalled(store, "puppy"))[:2] in (["dog", "again"], ["again", "dog"])


class TestARecordOfLongAgo:
    """Written again by another process than the one that stored it."""

    @pytest.fixture
    async def opened_again(self, store: MemoryStore) -> tuple[MemoryStore, list[str]]:
        asked: list[str] = []

        class Counting(SenseEmbeddings):
            async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
                asked.extend(texts)
                return self.embed_documents(texts)

        await put(store, {"dog": "my terrier", "long": message("tea and rain. " * 300, 1)})
        again = MemoryStore(store.pool, EmbeddingModel("test:senses", DIMS, Counting()))
        return again, asked

    async def test_keeps_its_vectors_where_its_text_is_the_same(
        self, opened_again: tuple[MemoryStore, list[str]]
    ) -> None:
        store, asked = opened_again
        before = await halves(store)
        assert len(before) > 3, "a long text has several pieces"
        item = await store.aget(DIALOG, "dog")
        long = await store.aget(DIALOG, "long")
        assert item is not None
        assert long is not None
        await store.abatch([PutOp(DIALOG, each.key, {**each.value, "status": "retired"}) for each in (item, long)])
        assert asked == []
        assert await halves(store) == before

    async def test_is_embedded_where_its_text_is_another_or_somebody_wrote_the_value_alone(
        self, opened_again: tuple[MemoryStore, list[str]]
    ) -> None:
        store, asked = opened_again
        async with store.pool.connection() as conn:
            changed = Json(message("tea", 0, session="dog"))
            await conn.execute("UPDATE store SET value = %s, updated_at = now() WHERE key = 'dog'", (changed,))
        await put(store, {"dog": "tea", "long": "my kayak"})
        assert asked == ["tea", "my kayak"]


async def halves(store: MemoryStore) -> list[tuple[str, str, str]]:
    """Return the vectors that are compared."""
    async with store.pool.connection() as conn:
        rows = await (
            await conn.execute("SELECT key, field_name, half::text AS half FROM store_vectors ORDER BY key, field_name")
        ).fetchall()
    return [(row["key"], row["field_name"], row["half"]) for row in rows]


class TestAnEmbedderThatFails:
    @pytest.mark.parametrize("fault", FAULTS)
    async def test_the_words_are_indexed_at_once(
        self,
        store: MemoryStore,
        embeddings: Faulty,
        fault: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setattr(vectors, "_SECONDS", 0.01)
        monkeypatch.setattr(vectors, "_SECONDS_A_TEXT", 0.0)
        embeddings.fault = FAULTS[fault]
        await put(store, {"zoo": "a zebra in a zoo", "dog": "my terrier"})
        assert keys(await recalled(store, "zebra", arms=WORDS_ONLY)) == ["zoo"]
        assert keys(await recalled(store, "zebra"))[0] == "zoo"
        assert await without_vectors(store) == 2
        assert "found by their words only" in caplog.text
        assert "zebra" not in caplog.text

    async def test_one_bad_vector_costs_one_text(self, store: MemoryStore, embeddings: Faulty) -> None:
        async def one_bad(texts: list[str]) -> Any:
            return [[0.0] * DIMS if "zebra" in text else embeddings.embed_documents([text])[0] for text in texts]

        embeddings.fault = one_bad
        await put(store, {"zoo": "a zebra in a zoo", "dog": "my terrier"})
        assert await without_vectors(store) == 1
        assert keys(await recalled(store, "puppy", arms=frozenset({Arm.VECTOR}), similarity=0.7)) == ["dog"]

    async def test_what_hangs_is_not_waited_for_twice(
        self, store: MemoryStore, embeddings: Faulty, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vectors, "_SECONDS", 0.01)
        monkeypatch.setattr(vectors, "_SECONDS_A_TEXT", 0.0)
        asked: list[int] = []

        async def counts(texts: list[str]) -> Any:
            asked.append(len(texts))
            await asyncio.Future()

        embeddings.fault = counts
        monkeypatch.setattr(vectors, "_RETRY_SECONDS", 3600.0)
        await put(store, {f"m{number}": f"zebra number {number}" for number in range(101)})
        await put(store, {"dog": "my terrier"})
        assert asked == [100]
        assert await without_vectors(store) == 102

    @pytest.mark.parametrize(("name", "made"), [(LOCAL_MODEL, 1), ("test:service", 0)])
    async def test_what_computes_in_this_process_is_slow_but_does_not_hang(
        self, name: str, made: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vectors, "_SECONDS", 0.0)
        monkeypatch.setattr(vectors, "_SECONDS_A_TEXT", 0.0)
        embeddings = Faulty()

        async def slowly(texts: list[str]) -> Any:
            for _ in range(10):
                await asyncio.sleep(0)  # late already: the time is up at once
            return embeddings.embed_documents(texts)

        embeddings.fault = slowly
        model = EmbeddingModel(name, DIMS, embeddings)
        documents = vectors.DocumentVectors(None, model, RowCodec())  # type: ignore[arg-type]
        found = await documents.of(["a zebra"])
        assert sum(vector is not None for vector in found.values()) == made


class TestASearch:
    async def test_by_what_is_no_vector_says_so(self, store: MemoryStore, embeddings: Faulty) -> None:
        await put(store, {"zoo": "a zebra in a zoo", "dog": "my terrier"})
        for fault in ("nan", "huge", "short", "texts"):
            embeddings.aembed_query = returning_one(NONSENSE[fault])  # type: ignore[method-assign]
            with pytest.raises(InvalidVector, match="test:senses returned"):
                await store.asearch(DIALOG, query=f"zebra {fault}")
        embeddings.aembed_query = returning_one([0.0] * DIMS)  # type: ignore[method-assign]
        assert {item.key for item in await store.asearch(DIALOG, query="zebra")} == {"zoo", "dog"}


class TestMakingUp:
    async def test_behind_the_next_write_once_the_embedder_works(self, store: MemoryStore, embeddings: Faulty) -> None:
        embeddings.fault = raises
        await put(store, {"dog": "my terrier", **{f"m{number}": f"zebra number {number}" for number in range(100)}})
        await store.vectors.settle()
        assert await without_vectors(store) == 101
        embeddings.fault = None
        await put(store, {"cat": "a cat"})
        await store.vectors.settle()
        assert await without_vectors(store) == 0
        assert keys(await recalled(store, "puppy", arms=frozenset({Arm.VECTOR}), similarity=0.7)) == ["dog"]

    async def test_gives_way_to_turns_whoever_wrote(self, store: MemoryStore, embeddings: Faulty) -> None:
        behind: list[bool] = []

        async def notes(texts: list[str]) -> list[list[float]]:
            behind.append(is_behind())
            return embeddings.embed_documents(texts)

        embeddings.fault = raises
        await put(store, {"dog": "my terrier"})
        await store.vectors.settle()
        embeddings.fault = notes
        await put(store, {"cat": "a cat"})
        await store.vectors.settle()
        assert behind == [False, True]

    async def test_what_was_written_anew_meanwhile_keeps_its_own_vector(
        self, store: MemoryStore, embeddings: Faulty
    ) -> None:
        embeddings.fault = raises
        await put(store, {"dog": "my terrier"})
        await store.vectors.settle()
        reached, go_on = asyncio.Event(), asyncio.Event()

        async def slowly(texts: list[str]) -> Any:
            reached.set()
            await go_on.wait()
            return embeddings.embed_documents(texts)

        embeddings.fault = slowly
        making = asyncio.create_task(store.amake_up_vectors())
        await reached.wait()
        embeddings.fault = None
        await put(store, {"dog": "my kayak"})
        await store.vectors.settle()
        go_on.set()
        assert await making == 1
        vector_only = frozenset({Arm.VECTOR})
        assert keys(await recalled(store, "canoe", arms=vector_only, similarity=0.7)) == ["dog"]
        assert keys(await recalled(store, "puppy", arms=vector_only, similarity=0.7)) == []

    async def test_maintenance_makes_up_for_one_owner(
        self, store: MemoryStore, embeddings: Faulty, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vectors, "_RETRY_SECONDS", 3600.0)  # what maintenance writes is no occasion for all owners
        others = ("memory", "bob", "dialog")
        embeddings.fault = raises
        await put(store, {"dog": "my terrier"})
        await put(store, {"dog": "my terrier"}, others)
        embeddings.fault = None
        graph = build_maintenance()
        graph.store = store
        await graph.ainvoke({}, context={"user_id": "ann"})  # type: ignore[arg-type]
        assert await without_vectors(store) == 1
        assert await store.amake_up_vectors(others) == 1
