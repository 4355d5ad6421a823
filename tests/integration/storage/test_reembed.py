"""Moving a database to another embedding model."""

from __future__ import annotations

import re

import pytest
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore

from memory.storage import StorageSettings, reembed
from memory.storage.embeddings import LOCAL_MODEL, EmbeddingModel
from memory.storage.errors import EmbeddingMismatch
from tests.support.databases import WordEmbeddings, open_memory_store, word_model

ANN = ("memory", "ann", "semantic")
OLD, NEW = word_model(64, "test:old"), word_model(96, "test:new")


def settings(url: str) -> StorageSettings:
    return StorageSettings.model_validate({"database_url": url})


async def fill(url: str, count: int) -> None:
    async with open_memory_store(url, OLD) as store:
        await store.abatch([PutOp(ANN, str(n), {"text": f"tea number {n}"}) for n in range(count)])
        await store.aput(ANN, "tags", {"tags": ["green", "black"]}, index=["tags[*]"])
        await store.aput(ANN, "unindexed", {"text": "tea"}, index=False)


async def test_everything_is_found_by_the_new_model(database_url: str) -> None:
    await fill(database_url, 250)
    progress: list[int] = []
    assert await reembed.reembed(settings(database_url), NEW, progress.append) == 252
    assert progress == [100, 200, 252]
    async with open_memory_store(database_url, NEW) as store:
        hits = await store.asearch(ANN, query="tea number 42", limit=3)
        assert hits[0].key == "42"
        assert [hit.key for hit in await store.asearch(ANN, query="black", limit=1)] == ["tags"]
        assert len(await store.asearch(ANN, query="tea", limit=1000)) == 251
        # The store goes on as ever, and can be moved again.
        await store.aput(ANN, "1", {"text": "coffee"})
        await store.adelete(ANN, "2")
    assert await reembed.reembed(settings(database_url), OLD, progress.append) == 251
    async with open_memory_store(database_url, OLD) as store:
        assert (await store.asearch(ANN, query="coffee"))[0].key == "1"


async def test_until_it_ends_nothing_has_changed_and_it_goes_on_where_it_was(database_url: str) -> None:
    class FailsOnce(WordEmbeddings):
        texts = 0
        failed = False

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.texts and not self.failed:
                self.failed = True
                raise ConnectionError("the provider is away")
            self.texts += len(texts)
            return self.embed_documents(texts)

    await fill(database_url, 150)
    unreliable = FailsOnce(96, "test:new")
    model = EmbeddingModel("test:new", 96, unreliable)
    with pytest.raises(ConnectionError):
        await reembed.reembed(settings(database_url), model, lambda count: None)
    async with open_memory_store(database_url, OLD) as store:
        assert (await store.asearch(ANN, query="tea number 42"))[0].key == "42"
        # Written between the two runs: the first made a vector of what it said before.
        await store.aput(ANN, "1", {"text": "coffee"})
    await reembed.reembed(settings(database_url), model, lambda count: None)
    assert unreliable.texts in (152, 153), "nothing is embedded twice but what changed"
    async with open_memory_store(database_url, NEW) as store:
        assert (await store.asearch(ANN, query="coffee"))[0].key == "1"
    with pytest.raises(EmbeddingMismatch, match="test:new"):
        async with open_memory_store(database_url, OLD):
            pass


async def test_a_stock_database_moves_too_without_the_vectors_it_left_behind(database_url: str) -> None:
    index = {"dims": OLD.dims, "embed": OLD.embeddings, "fields": ["text"]}
    async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
        await stock.setup()
        await stock.aput(ANN, "1", {"text": "green tea"})
        await stock.aput(ANN, "2", {"text": "black tea"})
        await stock.aput(ANN, "2", {"other": "no text any more"})
    await reembed.reembed(settings(database_url), NEW, lambda count: None)
    async with open_memory_store(database_url, NEW) as store:
        assert [hit.key for hit in await store.asearch(ANN, query="tea")] == ["1"]


async def test_a_database_without_memories_or_of_that_model_already(database_url: str) -> None:
    assert await reembed.reembed(settings(database_url), NEW, lambda count: None) == 0
    async with open_memory_store(database_url, NEW):
        pass
    assert await reembed.reembed(settings(database_url), NEW, lambda count: None) == 0


def test_the_command(database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    reembed.main(["--to", "local"])
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert f"0 texts embedded. The memories are now of {LOCAL_MODEL}: set EMBEDDING_MODEL={LOCAL_MODEL}" in said
    with pytest.raises(SystemExit, match=r"'nobody:nothing' cannot be loaded"):
        reembed.main(["--to", "nobody:nothing"])
