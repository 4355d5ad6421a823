"""Moving a database to another embedding model."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection

from react_mem.agents.cli import main
from react_mem.errors import EmbeddingMismatch, EmbeddingUnavailable
from react_mem.memory.model.interface import Arm
from react_mem.memory.store import StorageSettings, reembed
from react_mem.memory.store.embeddings import LOCAL_MODEL, EmbeddingModel
from tests.support.databases import WordEmbeddings, open_memory_store, word_model
from tests.support.recalling import keys, recalled

ANN = ("memory", "ann", "semantic")
OLD, NEW = word_model(64, "test:old"), word_model(96, "test:new")


def settings(url: str) -> StorageSettings:
    return StorageSettings.model_validate({"database_url": url})


async def fill(url: str, count: int) -> None:
    async with open_memory_store(url, OLD) as store:
        await store.abatch([PutOp(ANN, str(n), {"text": f"tea number {n}"}) for n in range(count)])
        await store.aput(ANN, "tags", {"tags": ["green", "black"]}, index=["tags[*]"])
        await store.aput(ANN, "unindexed", {"text": "tea"}, index=False)


async def items(url: str) -> list[tuple[Any, ...]]:
    """Return all that is stored, but for its index."""
    async with await AsyncConnection.connect(url) as conn:
        columns = "key, prefix, value, created_at, updated_at, expires_at"
        return await (await conn.execute(f"SELECT {columns} FROM store ORDER BY prefix, key".encode())).fetchall()


async def test_everything_is_found_by_the_new_model(database_url: str) -> None:
    await fill(database_url, 130)
    progress: list[tuple[int, int]] = []
    assert await reembed.reembed(settings(database_url), NEW, lambda *counts: progress.append(counts)) == 132
    assert progress == [(0, 132), (100, 132), (132, 132)]
    async with open_memory_store(database_url, NEW) as store:
        hits = await store.asearch(ANN, query="tea number 42", limit=3)
        assert hits[0].key == "42"
        assert [hit.key for hit in await store.asearch(ANN, query="black", limit=1)] == ["tags"]
        assert len(await store.asearch(ANN, query="tea", limit=1000)) == 131
        # The store goes on as ever, and can be moved again.
        await store.aput(ANN, "1", {"text": "coffee"})
        await store.adelete(ANN, "2")
    assert await reembed.reembed(settings(database_url), OLD, lambda done, total: None) == 131
    async with open_memory_store(database_url, OLD) as store:
        assert (await store.asearch(ANN, query="coffee"))[0].key == "1"


async def test_what_was_interrupted_is_found_by_its_words_and_goes_on_where_it_was(database_url: str) -> None:
    class Unreliable(WordEmbeddings):
        texts = 0
        away = False

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.away:
                raise ConnectionError("the provider is away")
            self.texts += len(texts)
            return self.embed_documents(texts)

    def once(done: int, total: int) -> None:
        unreliable.away = bool(done)

    await fill(database_url, 110)
    before = await items(database_url)
    unreliable = Unreliable(96, "test:new")
    model = EmbeddingModel("test:new", 96, unreliable)
    with pytest.raises(EmbeddingUnavailable, match="run this again"):
        await reembed.reembed(settings(database_url), model, once)
    assert unreliable.texts == 100
    async with open_memory_store(database_url, model) as store:
        said = await recalled(store, "109", namespace=ANN, arms=frozenset({Arm.LEXICAL}))
        assert keys(said)[0] == "109"
        unreliable.away = False
        # written between the two runs, of what is embedded already and of what is not
        await store.abatch([PutOp(ANN, key, {"text": "coffee"}) for key in ("1", "99")])
    unreliable.texts = 0
    await reembed.reembed(settings(database_url), model, lambda done, total: None)
    assert unreliable.texts < 13, "nothing is embedded twice"
    async with open_memory_store(database_url, NEW) as store:
        assert {hit.key for hit in await store.asearch(ANN, query="coffee", limit=2)} == {"1", "99"}
        assert len(await store.asearch(ANN, query="tea", limit=1000)) == 111
    changed = {"1", "99"}
    assert [row for row in await items(database_url) if row[0] not in changed] == [
        row for row in before if row[0] not in changed
    ]
    with pytest.raises(EmbeddingMismatch, match="test:new"):
        async with open_memory_store(database_url, OLD):
            pass


async def test_a_process_with_the_old_model_is_told_so_and_mixes_nothing_up(database_url: str) -> None:
    await fill(database_url, 3)
    new = word_model(64, "test:new")
    async with open_memory_store(database_url, OLD) as store:
        assert len(await store.asearch(ANN, query="tea")) == 4
        await reembed.reembed(settings(database_url), new, lambda done, total: None)
        for using in (lambda: store.asearch(ANN, query="tea"), lambda: store.aput(ANN, "4", {"text": "tea"})):
            with pytest.raises(EmbeddingMismatch, match=r"re-embedded with test:new.*EMBEDDING_MODEL=test:new"):
                await using()
        # What needs no vector goes on.
        assert len(await store.asearch(ANN, limit=10)) == 5


async def test_a_model_that_embeds_nothing_changes_nothing(database_url: str) -> None:
    class Away(WordEmbeddings):
        async def aembed_query(self, text: str) -> list[float]:
            raise ConnectionError("the provider is away")

    await fill(database_url, 3)
    with pytest.raises(EmbeddingUnavailable, match=r"the provider is away\. Nothing was changed"):
        await reembed.reembed(settings(database_url), EmbeddingModel("test:new", 96, Away(96)), lambda *counts: None)
    async with open_memory_store(database_url, OLD) as store:
        assert (await store.asearch(ANN, query="tea number 2"))[0].key == "2"


async def test_a_stock_database_moves_too_without_the_vectors_it_left_behind(database_url: str) -> None:
    index = {"dims": OLD.dims, "embed": OLD.embeddings, "fields": ["text"]}
    async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
        await stock.setup()
        await stock.aput(ANN, "1", {"text": "green tea"})
        await stock.aput(ANN, "2", {"text": "black tea"})
        await stock.aput(ANN, "2", {"other": "no text any more"})
    await reembed.reembed(settings(database_url), NEW, lambda done, total: None)
    async with open_memory_store(database_url, NEW) as store:
        assert [hit.key for hit in await store.asearch(ANN, query="tea")] == ["1"]


def test_the_command(database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert main(["database", "reembed", "--to", "local"]) == 0
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert f"0 texts embedded. The memories are now of {LOCAL_MODEL}: set EMBEDDING_MODEL={LOCAL_MODEL}" in said
    assert main(["database", "reembed", "--to", "nobody:nothing"]) == 2
    assert "'nobody:nothing' cannot be loaded" in capsys.readouterr().err


async def test_the_same_model_brings_an_older_index_up_to_date(database_url: str) -> None:
    long = "\n".join([f"Line {n} of a long text about tea." for n in range(60)] + ["The zebra is at its end."])
    index = {"dims": OLD.dims, "embed": OLD.embeddings, "fields": ["text"]}
    async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
        await stock.setup()
        await stock.aput(ANN, "long", {"text": long})
        await stock.aput(ANN, "short", {"text": "a zebra crossing in town"})
    async with open_memory_store(database_url, OLD):
        pass
    assert await reembed.reembed(settings(database_url), OLD, lambda done, total: None) > 2
    async with open_memory_store(database_url, OLD) as store:
        assert [hit.key for hit in await store.asearch(ANN, query="the zebra is at its end")] == ["long", "short"]
        async with store.pool.connection() as conn:
            cursor = await conn.execute("SELECT count(*) AS without FROM store_vectors WHERE words IS NULL")
            assert await cursor.fetchone() == {"without": 0}
    assert await reembed.reembed(settings(database_url), OLD, lambda done, total: None) == 0
