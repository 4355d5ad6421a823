"""Memory searched in a vector store: a store like any other, and one that believes only its records."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph_store_conformance import EVERYTHING, Capability

from react_mem.errors import StorageError
from react_mem.memory.adapters import VectorIndexedStore, VectorIndexSettings, open_vector_index, with_vector_index
from react_mem.memory.adapters.vector_index import DIALECTS, NOTES, VectorEntry, VectorIndex
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.runner import repair
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.postgres import MemoryStore
from tests.integration.storage.test_store import ANN, keys
from tests.support.conformance import IN_MEMORY_FAILURES, SharedStoreConformance
from tests.support.databases import WordEmbeddings
from tests.support.opensearch_server import OpenSearchServer
from tests.support.retiring import retire
from tests.support.services import service


def milvus(folder: Path) -> VectorStore:
    service("milvus_lite", "milvus")
    made: VectorStore = service("langchain_milvus", "milvus").Milvus(
        WordEmbeddings(),
        connection_args={"uri": str(folder / "milvus.db")},
        collection_name=f"c{uuid.uuid4().hex}",
        index_params={"index_type": "FLAT", "metric_type": "COSINE"},
        consistency_level="Strong",
    )
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("milvus")


@pytest.fixture
def opensearch() -> Iterator[OpenSearchServer]:
    with OpenSearchServer() as server:
        yield server


def of_opensearch(server: OpenSearchServer, **options: Any) -> VectorStore:
    service("opensearchpy", "opensearch")
    found = service("langchain_community.vectorstores.opensearch_vector_search", "opensearch")
    made: VectorStore = found.OpenSearchVectorSearch(server.url, f"i{uuid.uuid4().hex}", WordEmbeddings(), **options)
    return made


@pytest.fixture(params=["langchain", "milvus", "opensearch"])
def vectors(request: pytest.FixtureRequest, folder: Path, opensearch: OpenSearchServer) -> VectorStore:
    """An empty vector store of each kind."""
    if request.param == "opensearch":
        return of_opensearch(opensearch)
    return milvus(folder) if request.param == "milvus" else InMemoryVectorStore(WordEmbeddings())


class TestOverMilvus(SharedStoreConformance):
    """The conformance suite, of a store that is searched in Milvus."""

    capabilities = EVERYTHING - {Capability.TTL}
    expected_failures = IN_MEMORY_FAILURES

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls, folder: Path) -> BaseStore:
        return with_vector_index(InMemoryStore(), milvus(folder), scopes=None)


class TestOverOpenSearch(SharedStoreConformance):
    """The conformance suite, of a store that is searched in OpenSearch."""

    capabilities = EVERYTHING - {Capability.TTL}
    expected_failures = IN_MEMORY_FAILURES

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls) -> AsyncIterator[BaseStore]:
        with OpenSearchServer() as server:
            yield with_vector_index(InMemoryStore(), of_opensearch(server), scopes=None)


async def keep(store: BaseStore, user: str, *texts: str) -> None:
    for text in texts:
        await MemoryFacade(store).write(
            MemoryWriteEvent(
                user_id=user, session_id="s", agent_id="a", scope=MemoryScope.SEMANTIC, data={"text": text}
            )
        )


async def read(store: BaseStore, user: str, query: str) -> Any:
    asked = MemoryQuery(user_id=user, session_id="2", agent_id="a", scopes=[MemoryScope.SEMANTIC], query=query)
    return await MemoryFacade(store).read(asked)


async def texts_of(store: BaseStore, user: str, query: str) -> list[str]:
    return [item.payload["text"] for item in await read(store, user, query)]


async def waiting(store: VectorIndexedStore) -> int:
    return len(await store.inner.asearch((NOTES,), limit=1000))


async def test_memory_reads_from_the_vector_store_what_the_store_keeps_and_nothing_forgotten(
    vectors: VectorStore,
) -> None:
    store = with_vector_index(InMemoryStore(), vectors)
    await keep(store, "ann", "Ann lives in Hue", "Ann drinks green tea")
    await keep(store, "bob", "Bob lives in Hue")
    memory = MemoryFacade(store)
    [lives, *others] = await read(store, "ann", "who lives in Hue")
    assert lives.payload["text"] == "Ann lives in Hue"
    assert all("Bob" not in item.payload["text"] for item in others)
    assert lives.score > 0
    assert set(lives.arms) == {"vector"}
    assert await waiting(store) == 0
    await retire(memory, lives.id)
    assert await texts_of(store, "ann", "lives in Hue") == ["Ann drinks green tea"]
    await memory.forget_user("ann")
    assert await texts_of(store, "ann", "green tea") == []
    # nothing of hers is left behind in the vector store either
    everything = await vectors.asimilarity_search("tea", k=100)
    assert [document.page_content for document in everything] == ["Bob lives in Hue"]
    assert await waiting(store) == 0


async def test_a_few_among_many_that_do_not_count_are_all_found(vectors: VectorStore) -> None:
    store = with_vector_index(InMemoryStore(), vectors)
    space = scope_namespace("ann", MemoryScope.SEMANTIC)
    await store.abatch([PutOp(space, str(n), {"text": f"green tea {n}", "current": n % 30 == 0}) for n in range(60)])
    found = await store.asearch(space, query="green tea", filter={"current": True}, limit=2)
    assert sorted(keys(found)) == ["0", "30"]
    assert len(await store.asearch(space, query="green tea", limit=300)) == 60


async def test_a_long_text_is_found_by_its_end_and_leaves_nothing_when_it_shrinks(vectors: VectorStore) -> None:
    store = with_vector_index(InMemoryStore(), vectors)
    space = scope_namespace("ann", MemoryScope.SEMANTIC)
    lines = [f"Line {n} tells of the weather of day {n}." for n in range(80)]
    await store.aput(space, "long", {"text": "\n".join([*lines, *["zebra baobab"] * 70])})
    await store.aput(space, "short", {"text": "the zebra of the zoo"})
    assert keys(await store.asearch(space, query="zebra baobab", limit=2)) == ["long", "short"]
    await store.aput(space, "long", {"text": "nothing any more"})
    assert len(await vectors.asimilarity_search("zebra", k=100)) == 2


class Unreliable(InMemoryVectorStore):
    """A vector store that is down when it is told to be."""

    down = False

    def _check(self) -> None:
        if self.down:
            raise ConnectionError("no route to the vector store")

    async def aadd_documents(self, documents: list[Document], ids: Any = None, **kwargs: Any) -> list[str]:
        self._check()
        return await super().aadd_documents(documents, ids=ids, **kwargs)

    async def adelete(self, ids: Any = None, **kwargs: Any) -> None:
        self._check()
        await super().adelete(ids, **kwargs)

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        self._check()
        return await super().asimilarity_search_with_score(query, k=k, **kwargs)


async def test_what_is_written_while_the_vector_store_is_down_is_found_when_it_is_back() -> None:
    vectors = Unreliable(WordEmbeddings())
    store = with_vector_index(InMemoryStore(), vectors)
    await keep(store, "ann", "Ann drinks green tea")
    vectors.down = True
    await keep(store, "ann", "Ann lives in Hue")
    found = await read(store, "ann", "lives in Hue")
    assert list(found) == []
    assert "no route to the vector store" in found.missing["vector"]
    vectors.down = False
    assert await texts_of(store, "ann", "lives in Hue") == ["Ann lives in Hue", "Ann drinks green tea"]
    assert await waiting(store) == 0


async def test_what_a_crash_left_is_caught_up_with_at_the_next_start() -> None:
    inner, vectors = InMemoryStore(), Unreliable(WordEmbeddings())
    vectors.down = True
    await keep(with_vector_index(inner, vectors), "ann", "Ann lives in Hue")
    vectors.down = False
    assert await with_vector_index(inner, vectors).repair() == 0
    assert [d.page_content for d in await vectors.asimilarity_search("Hue", k=9)] == ["Ann lives in Hue"]


async def test_a_forgotten_text_goes_from_the_vector_store_though_it_was_down_when_it_was_forgotten() -> None:
    vectors = Unreliable(WordEmbeddings())
    store = with_vector_index(InMemoryStore(), vectors)
    await keep(store, "ann", "Ann lives in Hue")
    vectors.down = True
    await MemoryFacade(store).forget_user("ann")
    vectors.down = False
    assert len(vectors.store) == 1
    assert await store.repair() == 0
    assert vectors.store == {}


async def test_a_vector_store_that_ignores_the_bound_gives_nothing_away() -> None:
    class Careless(InMemoryVectorStore):
        async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            kwargs.pop("filter", None)
            return await super().asimilarity_search_with_score(query, k=k, **kwargs)

    store = with_vector_index(InMemoryStore(), Careless(WordEmbeddings()))
    await keep(store, "bob", *[f"Bob lives in Hue {n}" for n in range(60)])
    await keep(store, "ann", "Ann lives in Hue")
    assert await texts_of(store, "ann", "Bob lives in Hue") == ["Ann lives in Hue"]


async def test_what_the_vector_store_has_wrong_is_not_believed_and_put_right() -> None:
    vectors = InMemoryVectorStore(WordEmbeddings())
    store = with_vector_index(InMemoryStore(), vectors)
    space = scope_namespace("ann", MemoryScope.SEMANTIC)
    await store.aput(space, "1", {"text": "Ann lives in Hue"})
    # a race that was lost: the record changed, the vector did not
    await store.inner.aput(space, "1", {"text": "Ann drinks green tea"}, index=False)
    [hit] = await store.asearch(space, query="lives in Hue")
    assert hit.value == {"text": "Ann drinks green tea"}
    assert [document["text"] for document in vectors.store.values()] == ["Ann drinks green tea"]
    await store.inner.adelete(space, "1")
    assert await store.asearch(space, query="lives in Hue") == []
    assert vectors.store == {}


async def test_over_postgres_writes_stay_guarded_and_other_scopes_stay_hybrid(memory_store: MemoryStore) -> None:
    store = with_vector_index(memory_store, InMemoryVectorStore(WordEmbeddings()))
    assert store.guards
    await keep(store, "ann", "Ann lives in Hue", "Ann drinks green tea")
    memory = MemoryFacade(store)
    episode = {"goal": "Book a trip to Hue", "id": "e1", "text": "Book a trip to Hue", "outcome": "booked"}
    event = MemoryWriteEvent(user_id="ann", session_id="s", agent_id="a", scope=MemoryScope.EPISODIC, data=episode)
    await memory.write(event)
    scopes = [MemoryScope.SEMANTIC, MemoryScope.EPISODIC]
    asked = MemoryQuery(user_id="ann", session_id="2", agent_id="a", scopes=scopes, query="trip to Hue")
    found = await memory.read(asked)
    assert found.missing == {}
    by_scope = {item.scope: item for item in reversed(found)}
    assert by_scope[MemoryScope.SEMANTIC].payload["text"] == "Ann lives in Hue"
    assert set(by_scope[MemoryScope.SEMANTIC].arms) == {"vector"}
    assert "lexical" in by_scope[MemoryScope.EPISODIC].arms
    # the inner store embeds nothing of what the vector store has
    async with memory_store.pool.connection() as conn:
        cursor = await conn.execute("SELECT DISTINCT prefix FROM store_vectors")
        assert [row["prefix"] for row in await cursor.fetchall()] == ["memory.ann.episodic"]


async def rows(store: MemoryStore, condition: str = "TRUE") -> set[tuple[str, str]]:
    async with store.pool.connection() as conn:
        cursor = await conn.execute(f"SELECT prefix, key FROM store_vectors WHERE {condition}".encode())
        return {(row["prefix"], row["key"]) for row in await cursor.fetchall()}


async def test_maintenance_repairs_what_either_index_lacks(
    memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = Unreliable(WordEmbeddings())
    store = with_vector_index(memory_store, vectors)
    episodic = scope_namespace("ann", MemoryScope.EPISODIC)

    async def fails(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no route to the embedder")

    with monkeypatch.context() as patch:
        patch.setattr(memory_store.embedding.embeddings, "aembed_documents", fails)
        await store.aput(episodic, "e1", {"text": "Book a trip to Hue"})
    vectors.down = True
    await keep(store, "ann", "Ann lives in Hue")
    vectors.down = False
    assert await rows(memory_store, "half IS NULL") == {("memory.ann.episodic", "e1")}
    await repair(MemoryFacade(store), "ann")
    assert await waiting(store) == 0
    assert await rows(memory_store, "half IS NULL") == set()
    assert await rows(memory_store) == {("memory.ann.episodic", "e1")}


async def test_one_whose_async_methods_cannot_be_relied_on_is_asked_in_threads() -> None:
    class Blocking(InMemoryVectorStore):
        async def aadd_documents(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("not to be called")

        adelete = asimilarity_search_with_score = aadd_documents

    dialect = replace(DIALECTS["InMemoryVectorStore"], in_threads=True)
    store = with_vector_index(InMemoryStore(), Blocking(WordEmbeddings()), dialect=dialect)
    await keep(store, "ann", "Ann lives in Hue")
    assert await texts_of(store, "ann", "lives in Hue") == ["Ann lives in Hue"]
    await MemoryFacade(store).forget_user("ann")
    assert await texts_of(store, "ann", "lives in Hue") == []
    assert await waiting(store) == 0


async def test_of_more_entries_than_opensearch_returns_the_nearest_are_found(
    opensearch: OpenSearchServer, caplog: pytest.LogCaptureFixture
) -> None:
    index = VectorIndex(of_opensearch(opensearch))
    await index.replace([VectorEntry(ANN, "first", {"text": "zebra"}, ["text"])])
    [entries] = opensearch.indexes.values()
    [(_, first)] = entries.searched.items()
    far = {**first, "text": "tea", "vector_field": [-one for one in first["vector_field"]]}
    entries.searched |= {
        str(n): {**far, "metadata": {**first["metadata"], "key": str(n)}}
        for n in range(DIALECTS["OpenSearchVectorSearch"].most + 5)
    }
    # those of others do not count
    entries.searched |= {
        f"bob's {n}": {**first, "metadata": {**first["metadata"], "namespace": "bob"}} for n in range(100)
    }
    pages = [page async for page in index.search(ANN, "zebra", 6_000)]
    assert [len(page) for page in pages] == [6_000, 4_000]
    assert (pages[0][0].key, pages[0][0].text) == ("first", "zebra")
    assert "stops at the 10000 entries" in caplog.text


async def test_an_opensearch_that_refuses_is_said_and_what_it_lacks_is_not_lost(opensearch: OpenSearchServer) -> None:
    store = with_vector_index(InMemoryStore(), of_opensearch(opensearch, engine="unknown"))
    await keep(store, "ann", "Ann lives in Hue")
    assert await waiting(store) > 0
    found = await read(store, "ann", "lives in Hue")
    assert list(found) == []
    assert "wait for the vector store" in str(found.missing)


def careful_vectors(embedding: Any, *, name: str) -> VectorStore:
    """Make a vector store, as a user's own factory does."""
    return _made.setdefault(name, InMemoryVectorStore(embedding))


_made: dict[str, VectorStore] = {}


class TestSetting:
    async def test_a_vector_store_that_is_new_is_given_what_is_there(self) -> None:
        inner = InMemoryStore()
        await keep(inner, "ann", "Ann lives in Hue")
        settings = {"factory": f"{__name__}:careful_vectors", "options": {"name": uuid.uuid4().hex}}
        for _ in range(2):
            store = await open_vector_index(inner, settings, WordEmbeddings())
            assert await texts_of(store, "ann", "lives in Hue") == ["Ann lives in Hue"]
        assert await store.alist_namespaces() == await with_vector_index(inner, store.index._vectors).alist_namespaces()

    async def test_opensearch_by_its_class(self, opensearch: OpenSearchServer) -> None:
        service("opensearchpy", "opensearch")
        service("langchain_community", "opensearch")
        settings = VectorIndexSettings(
            factory="langchain_community.vectorstores:OpenSearchVectorSearch",
            options={"opensearch_url": opensearch.url, "index_name": "memory"},
        )
        store = await open_vector_index(InMemoryStore(), settings, WordEmbeddings())
        assert await texts_of(store, "ann", "lives in Hue") == []
        await keep(store, "ann", "Ann lives in Hue")
        assert await texts_of(store, "ann", "lives in Hue") == ["Ann lives in Hue"]
        method = opensearch.indexes["memory"].mapping["mappings"]["properties"]["vector_field"]["method"]
        assert method["engine"] == "lucene"

    @pytest.mark.parametrize(
        ("factory", "message"),
        [
            ("no_such_package:Milvus", "cannot be imported.*install its package"),
            ("langchain_core.vectorstores:NoSuchStore", "does not exist"),
            ("json:dumps", "takes no embedding model"),
            (f"{__name__}:not_a_vector_store", "makes a str, which is not a LangChain VectorStore"),
        ],
    )
    async def test_a_setting_that_cannot_be_used_says_why(self, factory: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            await open_vector_index(InMemoryStore(), factory, WordEmbeddings())

    def test_what_options_hold_is_not_shown(self) -> None:
        settings = VectorIndexSettings(factory="a:b", options={"uri": "https://user:secret@host"})
        assert "secret" not in repr(settings)


def not_a_vector_store(embedding: Any) -> str:
    """Make something else."""
    return "no vectors"


async def test_storage_is_searched_in_the_vector_store_of_the_environment(database_url: str) -> None:
    environment = {
        "DATABASE_URL": database_url,
        "EMBEDDING_MODEL": "local",
        "VECTOR_STORE": '{"factory": "langchain_core.vectorstores:InMemoryVectorStore"}',
    }
    async with open_storage(StorageSettings.from_env(environment)) as storage:
        assert isinstance(storage.memory, VectorIndexedStore)
        await keep(storage.memory, "ann", "The user has a cat called Mimi")
        query = MemoryQuery(
            user_id="ann", session_id="s", agent_id="a", scopes=[MemoryScope.SEMANTIC], query="What is my cat called?"
        )
        [found] = await MemoryFacade(storage.memory).read(query)
        assert found.payload["text"] == "The user has a cat called Mimi"


async def test_a_vector_store_that_cannot_be_used_is_named(database_url: str) -> None:
    environment = {"DATABASE_URL": database_url, "EMBEDDING_MODEL": "local", "VECTOR_STORE": "no_such_package:Store"}
    with pytest.raises(StorageError, match=r"VECTOR_STORE.*cannot be imported"):
        async with open_storage(StorageSettings.from_env(environment)):
            pass
