"""A recall where something is missing: vectors, words, the scale, or the version that a database was made with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.memory.model.interface import Arm
from react_mem.memory.store import StorageSettings, reembed, vectors
from react_mem.memory.store import owner_index as unread_texts
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.support.citus import one_server
from tests.support.databases import open_memory_store, word_model
from tests.support.recalling import (
    DIALOG,
    DIMS,
    SCALE,
    SenseEmbeddings,
    keys,
    message,
    open_recalling,
    put,
    recalled,
    sense_model,
    shared_database,
)


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
def embeddings() -> SenseEmbeddings:
    return SenseEmbeddings()


@pytest.fixture
async def store(shared_url: str, embeddings: SenseEmbeddings) -> AsyncIterator[MemoryStore]:
    async with open_recalling(shared_url, EmbeddingModel("test:senses", DIMS, embeddings)) as opened:
        await put(opened, {"zoo": "a zebra in a zoo", "dog": "my terrier", "cat": "a cat"})
        yield opened


class TestWithoutTheEmbedder:
    async def test_words_find_and_the_cause_is_named(self, store: MemoryStore, embeddings: SenseEmbeddings) -> None:
        embeddings.error = ConnectionError("no route to the provider")
        answer = await recalled(store, "zebra puppy")
        assert keys(answer) == ["zoo"]
        assert list(answer.missing) == [Arm.VECTOR]
        assert "ConnectionError: no route to the provider" in answer.missing[Arm.VECTOR]
        assert [one.similarity for one in answer.found] == [None]
        assert [answer.found[0].arms[arm] for arm in (Arm.VECTOR, Arm.WINDOW)] == [0, 0]
        embeddings.error = None
        again = await recalled(store, "zebra puppy")
        assert set(keys(again)) >= {"zoo", "dog"}
        assert again.missing == {}

    async def test_one_that_hangs_is_not_waited_for(
        self, store: MemoryStore, embeddings: SenseEmbeddings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(text: str) -> list[float]:
            return await asyncio.Future()

        monkeypatch.setattr(embeddings, "aembed_query", hang)
        with vectors.waiting_for_questions(0.01):
            answer = await recalled(store, "zebra puppy")
        assert keys(answer) == ["zoo"]
        assert "no answer" in answer.missing[Arm.VECTOR]

    @pytest.mark.parametrize("vector", [[float("nan")] * DIMS, [1.0] * (DIMS - 1), ["1"] * DIMS])
    async def test_what_is_no_vector_is_none(
        self, store: MemoryStore, embeddings: SenseEmbeddings, vector: Any
    ) -> None:
        embeddings.answer = vector
        answer = await recalled(store, "zebra puppy")
        assert (keys(answer), list(answer.missing)) == (["zoo"], [Arm.VECTOR])
        assert len(answer.missing[Arm.VECTOR]) < 300

    async def test_a_vector_without_direction_is_near_to_nothing(
        self, store: MemoryStore, embeddings: SenseEmbeddings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(SenseEmbeddings, "embed_documents", lambda self, texts: [[0.0] * DIMS for _ in texts])
            await put(store, {"nowhere": "a lion"})
        for query in ("zebra", "lion zebra"):
            answer = await recalled(store, query, similarity=0.7)
            assert keys(answer)[0] == "zoo"
            assert all(one.item.score == pytest.approx(sum(one.arms.values())) for one in answer.found)
        assert "nowhere" in keys(answer)
        embeddings.answer = [0.0] * DIMS
        assert keys(await recalled(store, "zebra", similarity=0.7)) == ["zoo"]


class TestWithoutTheWords:
    async def test_they_are_read_from_the_items(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unread_texts, "_READ_AT_ONCE", 1)
        only = frozenset({Arm.LEXICAL})
        before = await recalled(store, "zebra terrier")
        async with store.pool.connection() as conn:
            await conn.execute(
                "UPDATE store_vectors SET words = NULL, length = NULL, place = NULL, said_at = NULL WHERE key <> 'cat'"
            )
        assert await recalled(store, "zebra terrier") == before
        assert before.missing == {}
        assert keys(await recalled(store, "zebra", arms=only)) == ["zoo"]
        await put(store, {"cat": "a cat and a zebra"})
        assert set(keys(await recalled(store, "zebra", arms=only))) == {"zoo", "cat"}


class TestAnotherModel:
    async def test_a_process_that_still_has_the_old_one_finds_by_words_and_says_so(self, database_url: str) -> None:
        settings = StorageSettings.model_validate({"database_url": database_url})
        async with open_recalling(database_url) as store:
            await put(store, {"zoo": "a zebra in a zoo", "dog": "my terrier"})
            await reembed.reembed(settings, word_model(DIMS, "test:new"), lambda done, total: None)
            answer = await recalled(store, "zebra puppy")
            assert keys(answer) == ["zoo"]
            assert "re-embedded with another model" in answer.missing[Arm.VECTOR]


class TestScale:
    async def test_that_of_an_unknown_model_is_measured_once_behind_the_questions_and_kept(
        self, database_url: str
    ) -> None:
        second = SenseEmbeddings()
        embedded: list[int] = []

        class Slow(SenseEmbeddings):
            async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
                if len(texts) > 10:
                    embedded.append(len(texts))
                    await measured.wait()
                return self.embed_documents(texts)

        measured = asyncio.Event()
        first = Slow()
        async with open_memory_store(database_url, EmbeddingModel("test:a", DIMS, first)) as store, store:
            await put(store, {"zoo": "a zebra"})
            assert embedded == [], "not before somebody asks"
            for _ in range(3):
                assert keys(await recalled(store, "zebra")) == ["zoo"], "meanwhile questions are answered"
            measured.set()
            await store.scale.settle()
            known = store.scale.calibration
            assert len(embedded) == 1
        async with open_memory_store(database_url, EmbeddingModel("test:a", DIMS, second)) as store, store:
            assert keys(await recalled(store, "zebra")) == ["zoo"]
            await store.scale.settle()
            assert second.questions == ["zebra"], "nothing is measured again"
            assert store.scale.calibration == known

    async def test_where_it_separates_nothing_no_threshold_holds(self, shared_url: str) -> None:
        flat = SCALE.model_copy(update={"separation": {"en": 0.6}})
        for scale, found in [(SCALE, 0), (flat, 3)]:
            async with open_recalling(shared_url, scale=scale) as store:
                await put(store, {"1": "a zebra", "2": "a lion", "3": "a cat"})
                answer = await recalled(store, "quite another thing", similarity=1.0)
                assert len(answer.found) == found


SAID = {
    "said": message("My zebra is called Zed", 0),
    "answer": message("What a name for a zebra", 1, role="assistant"),
}
KNOWN = {
    "now": {"kind": "fact", "current": True, "text": "a zebra in Lisbon"},
    "then": {"kind": "fact", "current": False, "text": "a zebra in Paris"},
}
BEFORE_RECALLS = (
    "CREATE TABLE memory_migrations (v INTEGER PRIMARY KEY)",
    "INSERT INTO memory_migrations VALUES (0), (1)",
    "CREATE TABLE memory_embedding "
    "(only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row), name text NOT NULL, dims integer NOT NULL)",
    "CREATE INDEX store_vectors_prefix_idx ON store_vectors (prefix text_pattern_ops)",
    f"INSERT INTO memory_embedding (name, dims) VALUES ('test:senses', {DIMS})",
)
"""What the version before recalls added to the stock store's tables."""


class TestOlderDatabases:
    @one_server
    @pytest.mark.parametrize("made_by", ["the stock store", "the version before recalls"])
    async def test_they_keep_their_data_and_find_it(self, database_url: str, made_by: str) -> None:
        model = sense_model()
        facts = ("memory", "ann", "semantic")
        index = {"dims": model.dims, "embed": model.embeddings, "fields": ["text"]}
        async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
            await stock.setup()
            for space, values in ((DIALOG, SAID), (facts, KNOWN)):
                await stock.abatch([PutOp(space, key, value) for key, value in values.items()])
            if made_by != "the stock store":
                async with stock._cursor() as cursor:
                    for statement in BEFORE_RECALLS:
                        await cursor.execute(statement.encode())
        async with open_memory_store(database_url, model) as store, store:
            said = await recalled(store, "zebra")
            assert set(keys(said)) == set(SAID)
            assert said.missing == {}
            for current in (True, False):
                conditions = {"kind": "fact", "current": current}
                known = await recalled(store, "zebra", namespace=facts, conditions=conditions)
                assert keys(known) == ["now" if current else "then"]
            # what is written from now on is found by all arms, and the rest goes on as it was
            await put(store, {"new": message("The zebra eats grass", 2)})
            assert keys(await recalled(store, "grass", arms=frozenset({Arm.LEXICAL}))) == ["new"]
            assert {item.key for item in await store.asearch(DIALOG, query="zebra")} == {*SAID, "new"}
        settings = StorageSettings.model_validate({"database_url": database_url})
        assert await reembed.reembed(settings, model, lambda done, total: None) == 4
        async with open_memory_store(database_url, model) as store, store:
            answer = await recalled(store, "grass")
            assert set(keys(answer)) == {*SAID, "new"}, "the words of what was said next to it"
            assert answer.missing == {}
