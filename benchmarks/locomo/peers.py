"""Peers on the same embedding model and the same texts: each turn is one text, with its speaker's name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore, IndexConfig, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from langmem import create_search_memory_tool

from benchmarks.locomo.databases import disk_bytes, new_database
from benchmarks.locomo.dataset import Conversation
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.metrics import LIMIT, Prompt
from benchmarks.locomo.prompt import prompt_of
from benchmarks.locomo.system import Hit, Setup, as_item, spoken
from react_mem.memory.model.interface import MemoryResultItem


class Peer(ABC):
    """Base of peers: it has the turns. Nothing is on disk unless a peer says so."""

    def __init__(self) -> None:
        self._items: dict[str, dict[str, MemoryResultItem]] = {}

    def note(self, conversation: Conversation) -> None:
        """Remember a conversation's turns, to return them as results."""
        self._items[conversation.owner] = {
            turn.id: as_item(turn, session) for session in conversation.sessions for turn in session.turns
        }

    def hits(self, conversation: Conversation, turn_ids: Iterable[str]) -> list[Hit]:
        """Return turns as results."""
        items = self._items[conversation.owner]
        return [Hit(id_, items[id_]) for id_ in turn_ids]

    @abstractmethod
    async def search(self, conversation: Conversation, question: str) -> Sequence[Hit]:
        """Return the best results for a question."""

    async def prompt(self, conversation: Conversation, question: str) -> Prompt:
        """Return what of all results comes into a prompt like ours."""
        return prompt_of(question, [hit.item for hit in await self.search(conversation, question)], str)

    async def disk_bytes(self) -> int | None:
        """Return what is on disk."""
        return None


class Bm25(Peer):
    """BM25 by bm25s, English stemming and stop words, one index an owner."""

    def __init__(self) -> None:
        super().__init__()
        import bm25s  # type: ignore[import-untyped]  # both come with the extra `bench`
        import Stemmer

        self._package: Any = bm25s
        self._stemmer = Stemmer.Stemmer("english")
        self._indexes: dict[str, Any] = {}

    async def write(self, conversation: Conversation) -> None:
        """Index all turns at once: such an index is not added to."""
        self.note(conversation)
        index = self._package.BM25()
        index.index(self._tokens([spoken(turn) for turn in conversation.turns]), show_progress=False)
        self._indexes[conversation.owner] = index

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        """Score every turn."""
        ids = [turn.id for turn in conversation.turns]
        found, _ = self._indexes[conversation.owner].retrieve(
            self._tokens([question]), k=min(LIMIT, len(ids)), show_progress=False
        )
        return self.hits(conversation, (ids[place] for place in found[0]))

    def _tokens(self, texts: list[str]) -> Any:
        return self._package.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)


class Dense(Peer):
    """Cosine similarity with every turn, by numpy.

    Args:
        embeddings: The model.
    """

    def __init__(self, embeddings: SharedEmbeddings) -> None:
        super().__init__()
        self._embeddings = embeddings
        self._vectors: dict[str, np.ndarray[Any, Any]] = {}

    async def write(self, conversation: Conversation) -> None:
        """Embed every turn."""
        self.note(conversation)
        texts = [spoken(turn) for turn in conversation.turns]
        self._vectors[conversation.owner] = _unit(await self._embeddings.aembed_documents(texts))

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        """Compare with every turn."""
        query = _unit(await self._embeddings.aembed_query(question))
        best = np.argsort(-(self._vectors[conversation.owner] @ query), kind="stable")[:LIMIT]
        ids = [turn.id for turn in conversation.turns]
        return self.hits(conversation, (ids[place] for place in best))


class Store(Peer):
    """LangGraph's store interface: one item a turn, a namespace an owner.

    Args:
        store: The store.
        database_url: Where its tables are, if it is a database.
    """

    def __init__(self, store: BaseStore, database_url: str | None = None) -> None:
        super().__init__()
        self.store = store
        self._database_url = database_url

    async def write(self, conversation: Conversation) -> None:
        """Put the turns of a session in one batch."""
        self.note(conversation)
        namespace = _namespace(conversation)
        for session in conversation.sessions:
            await self.store.abatch([PutOp(namespace, turn.id, {"text": spoken(turn)}) for turn in session.turns])

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        """Search the namespace."""
        found = await self.store.asearch(_namespace(conversation), query=question, limit=LIMIT)
        return self.hits(conversation, (item.key for item in found))

    async def disk_bytes(self) -> int | None:
        """Return the size of the store's tables and indexes."""
        return await disk_bytes(self._database_url) if self._database_url else None


class LangMemTool(Store):
    """LangMem's search tool, as an agent calls it, on LangGraph's store."""

    def __init__(self, store: BaseStore) -> None:
        super().__init__(store)
        self._tools: dict[str, BaseTool] = {}

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        """Call the tool."""
        tool = self._tools.get(conversation.owner)
        if tool is None:
            tool = create_search_memory_tool(
                _namespace(conversation), store=self.store, response_format="content_and_artifact"
            )
            self._tools[conversation.owner] = tool
        call = {"type": "tool_call", "id": "search", "name": tool.name, "args": {"query": question, "limit": LIMIT}}
        answer = await tool.ainvoke(call)
        return self.hits(conversation, (item.key for item in answer.artifact))


@asynccontextmanager
async def open_bm25(setup: Setup) -> AsyncIterator[Bm25]:
    """Open BM25."""
    yield Bm25()


@asynccontextmanager
async def open_dense(setup: Setup) -> AsyncIterator[Dense]:
    """Open dense search."""
    yield Dense(setup.embeddings)


@asynccontextmanager
async def open_in_memory_store(setup: Setup) -> AsyncIterator[Store]:
    """Open LangGraph's InMemoryStore."""
    yield Store(InMemoryStore(index=_index(setup)))


@asynccontextmanager
async def open_postgres_store(setup: Setup) -> AsyncIterator[Store]:
    """Open LangGraph's AsyncPostgresStore as it comes, on a database of its own."""
    url = await new_database(setup.server_url, "postgres_store")
    index = PostgresIndexConfig(dims=setup.dims, embed=setup.embeddings, fields=["text"])
    async with AsyncPostgresStore.from_conn_string(url, index=index, pool_config={"min_size": 1}) as store:
        await store.setup()
        yield Store(store, url)


@asynccontextmanager
async def open_langmem_tool(setup: Setup) -> AsyncIterator[LangMemTool]:
    """Open LangMem's search tool on an InMemoryStore."""
    yield LangMemTool(InMemoryStore(index=_index(setup)))


def _index(setup: Setup) -> IndexConfig:
    return IndexConfig(dims=setup.dims, embed=setup.embeddings, fields=["text"])


def _namespace(conversation: Conversation) -> tuple[str, ...]:
    return ("memories", conversation.owner)


def _unit(vectors: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(vectors, dtype=np.float32)
    array /= np.linalg.norm(array, axis=-1, keepdims=True)
    return array
