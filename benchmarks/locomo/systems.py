"""The compared systems: ours through the public facade, as shipped, and peers on the same embeddings."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore, IndexConfig, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from langmem import create_search_memory_tool

from benchmarks.databases import disk_bytes, new_database, opened
from benchmarks.locomo.dataset import Conversation, Session, Turn
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.metrics import LIMIT, Prompt
from benchmarks.measures import unit
from react_mem.memory.context import Frame, Window, assemble, count_tokens, flat
from react_mem.memory.context.found_memory import MAX_PARTNER_CHARS, said_and_shown
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.language.terms import index_terms
from react_mem.memory.llm.budget import ASSUMED_WINDOW
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import Fragment, MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy

ASKED_IN = "another conversation"

_ENOUGH = 40
"""Characters by which a text is recognised in the prompt, which may cut its end."""


def prompt_of(question: str, results: Sequence[MemoryResultItem], turn_of: Callable[[str], str | None]) -> Prompt:
    """Assemble the prompt of a question and return the turns shown in it.

    A line shows each of its fragments of which it has the beginning.
    """
    assembled = assemble(frame_of(question), results, session_id=ASKED_IN, recalls=True)
    text = assembled.layout["retrieved"]
    items = assembled.memories.items
    shown = {item.id for item in items}
    shown |= {part.id for item in items for part in item.fragments if _stands_in(part, text)}
    return Prompt(frozenset(filter(None, map(turn_of, shown))), count_tokens(text), frozenset(index_terms(text)))


def _stands_in(part: Fragment, text: str) -> bool:
    said, quoted = said_and_shown({"role": part.role}, part.content)
    begin = flat(said or quoted, MAX_PARTNER_CHARS).removesuffix("…")[:_ENOUGH]
    return bool(begin) and begin in text


def frame_of(question: str) -> Frame:
    """Return the frame of a conversation's first turn, under the default policy, for an unknown model."""
    return Frame([HumanMessage(question, id="question")], MemoryPolicy(), Window(ASSUMED_WINDOW, known=False))


@dataclass(frozen=True)
class Hit:
    """One result: its turn, empty for none, and its item in a prompt."""

    turn_id: str
    item: MemoryResultItem


class System(ABC):
    """A memory under measurement, in a database if there is an address."""

    def __init__(self, database_url: str | None = None) -> None:
        self._database_url = database_url

    @abstractmethod
    async def write(self, conversation: Conversation) -> None:
        """Store a conversation, for its owner."""

    @abstractmethod
    async def search(self, conversation: Conversation, question: str) -> Sequence[Hit]:
        """Return the `LIMIT` best results for a question to this owner's memory, the best first."""

    @abstractmethod
    async def prompt(self, conversation: Conversation, question: str) -> Prompt:
        """Return the retrieved part of a question's prompt."""

    async def disk_bytes(self) -> int | None:
        """Return the size on disk; None without a database."""
        return await disk_bytes(self._database_url) if self._database_url else None


@dataclass(frozen=True)
class Setup:
    server_url: str
    embeddings: SharedEmbeddings
    dims: int


class Peer(System):
    """Base of peers, with the turns as items."""

    def __init__(self, database_url: str | None = None) -> None:
        super().__init__(database_url)
        self._items: dict[str, dict[str, MemoryResultItem]] = {}

    async def write(self, conversation: Conversation) -> None:
        self._items[conversation.owner] = {
            turn.id: MemoryResultItem(
                scope=MemoryScope.DIALOG,
                id=turn.id,
                payload={"text": spoken(turn), "created_at": session.said_at.isoformat(), "role": turn.role},
                source="message",
            )
            for session in conversation.sessions
            for turn in session.turns
        }
        await self._store(conversation)

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        items = self._items[conversation.owner]
        return [Hit(id_, items[id_]) for id_ in await self._find(conversation, question)]

    async def prompt(self, conversation: Conversation, question: str) -> Prompt:
        return prompt_of(question, [hit.item for hit in await self.search(conversation, question)], str)

    @abstractmethod
    async def _store(self, conversation: Conversation) -> None:
        """Store the turns."""

    @abstractmethod
    async def _find(self, conversation: Conversation, question: str) -> Iterable[str]:
        """Return the ids of the best turns."""


def spoken(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text


class Bm25(Peer):
    def __init__(self) -> None:
        super().__init__()
        import bm25s  # type: ignore[import-untyped]  # both come with the extra `bench`
        import Stemmer

        self._package: Any = bm25s
        self._stemmer = Stemmer.Stemmer("english")
        self._indexes: dict[str, Any] = {}

    async def _store(self, conversation: Conversation) -> None:
        # all turns at once: such an index is not added to
        index = self._package.BM25()
        index.index(self._tokens([spoken(turn) for turn in conversation.turns]), show_progress=False)
        self._indexes[conversation.owner] = index

    async def _find(self, conversation: Conversation, question: str) -> Iterable[str]:
        ids = [turn.id for turn in conversation.turns]
        index = self._indexes[conversation.owner]
        found, _ = index.retrieve(self._tokens([question]), k=min(LIMIT, len(ids)), show_progress=False)
        return (ids[place] for place in found[0])

    def _tokens(self, texts: list[str]) -> Any:
        return self._package.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)


class Dense(Peer):
    def __init__(self, embeddings: SharedEmbeddings) -> None:
        super().__init__()
        self._embeddings = embeddings
        self._vectors: dict[str, np.ndarray[Any, Any]] = {}

    async def _store(self, conversation: Conversation) -> None:
        texts = [spoken(turn) for turn in conversation.turns]
        self._vectors[conversation.owner] = unit(await self._embeddings.aembed_documents(texts))

    async def _find(self, conversation: Conversation, question: str) -> Iterable[str]:
        query = unit(await self._embeddings.aembed_query(question))
        best = np.argsort(-(self._vectors[conversation.owner] @ query), kind="stable")[:LIMIT]
        ids = [turn.id for turn in conversation.turns]
        return (ids[place] for place in best)


class Store(Peer):
    def __init__(self, store: BaseStore, database_url: str | None = None) -> None:
        super().__init__(database_url)
        self.store = store

    async def _store(self, conversation: Conversation) -> None:
        for session in conversation.sessions:
            puts = [PutOp(_namespace(conversation), turn.id, {"text": spoken(turn)}) for turn in session.turns]
            await self.store.abatch(puts)

    async def _find(self, conversation: Conversation, question: str) -> Iterable[str]:
        found = await self.store.asearch(_namespace(conversation), query=question, limit=LIMIT)
        return (item.key for item in found)


class LangMemTool(Store):
    """LangMem's search tool, as an agent calls it, on LangGraph's store."""

    async def _find(self, conversation: Conversation, question: str) -> Iterable[str]:
        tool = create_search_memory_tool(
            _namespace(conversation), store=self.store, response_format="content_and_artifact"
        )
        call = {"type": "tool_call", "id": "search", "name": tool.name, "args": {"query": question, "limit": LIMIT}}
        return (item.key for item in (await tool.ainvoke(call)).artifact)


def _namespace(conversation: Conversation) -> tuple[str, ...]:
    return ("memories", conversation.owner)


class Mem0(Peer):
    """Mem0 with unchanged turns (`infer=False`) in its pgvector store, searched by vector and by words.

    Without spaCy (`mem0ai[nlp]`) it neither lemmatises words nor links entities.
    """

    def __init__(self, memory: Any, database_url: str) -> None:
        super().__init__(database_url)
        self._memory = memory
        self.turn_ids: dict[str, str] = {}

    async def _store(self, conversation: Conversation) -> None:
        for session in conversation.sessions:
            messages = [{"role": turn.role, "content": spoken(turn)} for turn in session.turns]
            added = await self._memory.add(messages, user_id=conversation.owner, infer=False)
            ids = [result["id"] for result in added["results"]]
            self.turn_ids |= dict(zip(ids, (turn.id for turn in session.turns), strict=True))

    async def _find(self, conversation: Conversation, question: str) -> Iterable[str]:
        found = await self._memory.search(question, top_k=LIMIT, filters={"user_id": conversation.owner})
        return (self.turn_ids[result["id"]] for result in found["results"])


def _in_memory(setup: Setup) -> InMemoryStore:
    return InMemoryStore(index=IndexConfig(dims=setup.dims, embed=setup.embeddings, fields=["text"]))


@asynccontextmanager
async def _open_postgres_store(setup: Setup) -> AsyncIterator[Store]:
    url = await new_database(setup.server_url, "postgres_store")
    index = PostgresIndexConfig(dims=setup.dims, embed=setup.embeddings, fields=["text"])
    async with AsyncPostgresStore.from_conn_string(url, index=index, pool_config={"min_size": 1}) as store:
        await store.setup()
        yield Store(store, url)


class _Mem0Embedder:
    """The shared model in Mem0's interface; Mem0's own adapter embeds stored texts as queries."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        if memory_action == "search":
            return self._embeddings.embed_query(text)
        return self._embeddings.embed_documents([text])[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return self._embeddings.embed_documents(texts)


@asynccontextmanager
async def _open_mem0(setup: Setup) -> AsyncIterator[Mem0]:
    url = await new_database(setup.server_url, "mem0")
    store = {"connection_string": url, "collection_name": "mem0", "embedding_model_dims": setup.dims}
    unused = {"provider": "openai", "config": {"api_key": "unused"}}
    with TemporaryDirectory() as folder:
        # read when the package is imported: otherwise it writes to the home folder and reports its use
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}
        from mem0 import AsyncMemory  # type: ignore[import-not-found,unused-ignore]

        memory = AsyncMemory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": store},
                "llm": unused,
                "embedder": unused,
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )
        memory.embedding_model = _Mem0Embedder(setup.embeddings)
        try:
            yield Mem0(memory, url)
        finally:
            memory.vector_store.connection_pool.close()
            memory.close()


PEERS: dict[str, Callable[[Setup], AbstractAsyncContextManager[System]]] = {
    "bm25": lambda setup: nullcontext(Bm25()),
    "dense": lambda setup: nullcontext(Dense(setup.embeddings)),
    "in_memory_store": lambda setup: nullcontext(Store(_in_memory(setup))),
    "postgres_store": _open_postgres_store,
    "langmem_tool": lambda setup: nullcontext(LangMemTool(_in_memory(setup))),
    "mem0": _open_mem0,
}


NAME = "react_mem"
AGENT = "benchmark"


class ReactMem(System):
    """Memory on any store; a search returns all considered results, without a cut."""

    def __init__(self, store: BaseStore, database_url: str | None = None) -> None:
        self._policy = MemoryPolicy.model_validate({"recall": {"max_memories": LIMIT}})
        super().__init__(database_url)
        self._store = store
        self.turn_ids: dict[str, str] = {}

    async def write(self, conversation: Conversation) -> None:
        for session in conversation.sessions:
            session_id = f"{conversation.owner}/{session.id}"
            messages = [_as_message(turn, session) for turn in session.turns]
            self.turn_ids |= {message_record_id(session_id, message): str(message.id) for message in messages}
            await MemoryFacade(self._store).dialog.append(conversation.owner, session_id, messages, agent_id=AGENT)

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        query = MemoryQuery(
            user_id=conversation.owner, session_id=ASKED_IN, agent_id=AGENT, scopes=[MemoryScope.DIALOG], query=question
        )
        found = await self._read(query, conversation, self._policy)
        return [Hit(self.turn_ids.get(item.id, ""), item) for item in found]

    async def prompt(self, conversation: Conversation, question: str) -> Prompt:
        query = frame_of(question).query(Identity(conversation.owner, ASKED_IN), AGENT)
        return prompt_of(question, await self._read(query, conversation, MemoryPolicy()), self.turn_ids.get)

    async def _read(self, query: MemoryQuery, conversation: Conversation, policy: MemoryPolicy) -> MemoryResults:
        extra = query.extra | {"now": conversation.asked_at.isoformat()}
        found = await MemoryFacade(self._store, policy).read(query.model_copy(update={"extra": extra}))
        if self._database_url and found.missing:
            # it makes up for what failed, and that is not what is measured
            raise RuntimeError(f"the search was not whole: {found.missing}")
        return found


def _as_message(turn: Turn, session: Session) -> BaseMessage:
    kind = AIMessage if turn.role == "assistant" else HumanMessage
    said_at = {"said_at": session.said_at.isoformat()}
    return kind(content=turn.text, id=turn.id, name=turn.speaker, additional_kwargs=said_at)


@asynccontextmanager
async def open_react_mem(setup: Setup) -> AsyncIterator[ReactMem]:
    url = await new_database(setup.server_url, NAME)
    async with opened(url, setup.embeddings) as storage:
        yield ReactMem(storage.store, database_url=url)
