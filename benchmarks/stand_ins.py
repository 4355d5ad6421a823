"""Stand-ins for the slow parts of a benchmark: texts, memories, embedder and model.

Words are as frequent as in a natural language, because the cost of lexical search depends on that.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import accumulate, islice
from typing import Any, TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from psycopg.sql import SQL, Identifier
from pydantic import Field

from react_mem.agents.extractive import AnsweringModel
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.records import Episode, Fact, Message, Record, now, record_id
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.row_security import Pool
from react_mem.memory.store.vectors import DocumentVectors
from tests.support import labels

DIMS = 384
"""As many as the local embedder's."""

_COMMON = """
    the of and a to in is I that it was for on you with as have but not they at this from we or an my so what if can
    about all will one there when who more no out up some like time just
""".split()  # noqa: SIM905 - a list would take a line a word
_WORDS = 20_000
"""Vocabulary of one person in years of chat."""

BATCH = 500
"""Records written at once."""

_A_CONVERSATION = 20
"""Messages of one conversation."""

_A_MEMORY = timedelta(hours=1)
"""Time between two memories: ten thousand span a year."""

_Item = TypeVar("_Item")

_FLOOR = 0.75
"""Common component of all vectors: as with e5, no cosine is far below it."""


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Return the words, the most common first, and their cumulative weights, after Zipf."""
    chance = random.Random(7)
    made: dict[str, None] = dict.fromkeys(_COMMON)
    while len(made) < _WORDS:
        syllables = chance.choices("bdfghklmnprstvwz", k=chance.randint(2, 4))
        made["".join(consonant + chance.choice("aeiou") for consonant in syllables)] = None
    return list(made), list(accumulate(1 / (rank + 2.7) for rank in range(_WORDS)))


def words(seed: str, number: int) -> str:
    """Return a text of `number` words, always the same for a seed.

    >>> words("tea", 5) == words("tea", 5) != words("milk", 5)
    True
    """
    vocabulary, weights = _vocabulary()
    return " ".join(random.Random(seed).choices(vocabulary, cum_weights=weights, k=number))


def question(number: int, memory: str) -> str:
    """Return a user's message: a new fact, and a question about a memory."""
    rare = sorted(memory.split(), key=len)[-4:]
    return f"I keep {words(f'new {number}', 6)}. What did I say about {' '.join(rare)}?"


class InstantEmbeddings(Embeddings):
    """Base of instant embedders, which need no thread; texts are embedded like questions."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


class HashEmbeddings(InstantEmbeddings):
    """Instant unit vectors: each word adds a vector of its own, so that texts with common words are near."""

    def __init__(self) -> None:
        self._of_word: dict[str, Any] = {"": self._random("")}

    def embed_query(self, text: str) -> list[float]:
        total = np.zeros(DIMS, dtype=np.float32)
        for word in text.lower().split() or [""]:
            if word not in self._of_word:
                self._of_word[word] = self._random(word)
            total += self._of_word[word]
        vector = _FLOOR**0.5 * self._of_word[""] + (1 - _FLOOR) ** 0.5 * total / np.linalg.norm(total)
        unit: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return unit

    @staticmethod
    def _random(word: str) -> Any:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(DIMS, dtype=np.float32)
        return vector / np.linalg.norm(vector)


def embed_with(store: MemoryStore, embeddings: Embeddings) -> None:
    """Replace a store's embedder, keeping the name of its model."""
    store.embedding = replace(store.embedding, embeddings=embeddings)
    store.vectors = DocumentVectors(store.pool, store.embedding, store.codec)


class TimedEmbeddings(Embeddings):
    """Another embedder, with the time of its work; concurrent calls count once.

    Attributes:
        waits_ms: Waiting time of each question, including cancelled ones.
    """

    def __init__(self, inner: Embeddings) -> None:
        self.seconds = 0.0
        self.inner = inner
        self.waits_ms: list[float] = []
        self._at_work = 0
        self._since = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._timed():
            return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        with self._timed(self.waits_ms):
            return self.inner.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._timed():
            return await self.inner.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        with self._timed(self.waits_ms):
            return await self.inner.aembed_query(text)

    @contextmanager
    def _timed(self, waits_ms: list[float] | None = None) -> Iterator[None]:
        begun = time.perf_counter()
        if not self._at_work:
            self._since = begun
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1
            now = time.perf_counter()
            if not self._at_work:
                self.seconds += now - self._since
            if waits_ms is not None:
                waits_ms.append((now - begun) * 1000)


class InstantModel(AnsweringModel):
    """Answers at once, and extracts the facts that a message "keeps".

    `remembers` makes tool calls from the message, once a turn before the answer. Prompts are `asked` by reference, so
    that counting their tokens takes no time of the turn.
    """

    remembers: Callable[[str], list[tuple[str, dict[str, Any]]]] | None = None
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    offered: list[Any] = Field(default_factory=list)

    def prompt_tokens(self) -> list[int]:
        tools = len(json.dumps(self.offered)) // 4 if self.offered else 0
        return [count_tokens_approximately(prompt) + tools for prompt in self.asked]

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        self.offered = [convert_to_openai_tool(tool) for tool in tools]
        return self

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Runnable[Any, Any]:
        def fill(prompt: list[BaseMessage]) -> dict[str, Any]:
            self.asked.append(prompt)
            raw = AIMessage(json.dumps(proposal(prompt[-1].text)))
            return {"raw": raw, "parsed": None, "parsing_error": None}

        return RunnableLambda(fill)

    def _pieces(self, text: str) -> Sequence[str]:
        return [piece for piece in text.partition(" ") if piece]

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        self.asked.append(messages)
        number = len(self.asked)
        if self.remembers is None or isinstance(messages[-1], ToolMessage):
            return AIMessage(words(f"answer {number}", 40))
        made = self.remembers(messages[-1].text)
        calls = [tool_call(name=name, args=args, id=f"call-{number}-{n}") for n, (name, args) in enumerate(made)]
        return AIMessage("", tool_calls=calls)


def proposal(shown: str) -> dict[str, Any]:
    """Label every clause of the user in a conversation: as a fact, or as a question."""
    clauses = labels.clauses_in(shown.partition("<conversation>\n")[2].partition("\n</conversation>")[0])
    said = {number: f"User keeps {text.removeprefix('I keep ')}" for number, text in clauses.items()}
    facts = [labels.fact(number, text) for number, text in said.items() if not text.endswith("?")]
    asked = [labels.other(number, "question") for number, text in said.items() if text.endswith("?")]
    return labels.proposal(facts, asked)


def memories(user_id: str, number: int) -> Iterator[tuple[MemoryScope, Record]]:
    """Yield a user's memories: half of them messages, three in ten facts, the others episodes.

    >>> scopes = [str(scope) for scope, _ in memories("ann", 10)]
    >>> [scopes.count(scope) for scope in ("dialog", "semantic", "episodic")]
    [5, 3, 2]
    """
    start = now() - number * _A_MEMORY
    for place in range(number):
        seed = f"{user_id} {place}"
        common = {
            "created_at": start + place * _A_MEMORY,
            "session_id": f"{user_id}-{place // (2 * _A_CONVERSATION)}",
            "agent_id": "benchmark",
        }
        kind = place % 10
        if kind < 5:
            role = "assistant" if kind % 2 else "user"
            text = words(seed, 60 if kind % 2 else 20)
            turn = place // 2 % _A_CONVERSATION
            message = Message(id=record_id(seed), text=text, content=text, role=role, turn=turn, **common)
            yield MemoryScope.DIALOG, message
        elif kind < 8:
            yield MemoryScope.SEMANTIC, Fact(id=record_id(seed), text=words(seed, 10), **common)
        else:
            goal = words(seed, 25)
            yield MemoryScope.EPISODIC, Episode(id=record_id(seed), text=goal, goal=goal, **common)


async def fill(memory: MemoryFacade, user_id: str, number: int) -> None:
    await write(memory, (put(user_id, record) for _scope, record in memories(user_id, number)))


async def write(memory: MemoryFacade, changes: Iterator[Change]) -> None:
    for batch in in_batches(changes):
        await memory.apply(batch)


def in_batches(items: Iterator[_Item]) -> Iterator[Sequence[_Item]]:
    while batch := list(islice(items, BATCH)):
        yield batch


@asynccontextmanager
async def in_bulk(pool: Pool) -> AsyncIterator[None]:
    """Fill a store's tables without its vector index, which is rebuilt at the end: ten times as fast."""
    async with pool.connection() as conn:
        cursor = await conn.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND indexdef ~ 'USING hnsw'"
        )
        indexes = await cursor.fetchall()
        for index in indexes:
            await conn.execute(SQL("DROP INDEX {}").format(Identifier(index["indexname"])))
    yield
    async with pool.connection() as conn:
        for index in indexes:
            await conn.execute(index["indexdef"].encode())
        await conn.execute("ANALYZE")
