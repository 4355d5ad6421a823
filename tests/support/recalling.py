"""Recalls in tests: messages as the store keeps them, an embedder that knows what words mean, and its scale."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any

from langgraph.store.base import PutOp

from react_mem.memory.index.recall import Recall, RecallOp, read_question
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.support.databases import WordEmbeddings, fresh_database, open_memory_store

DIALOG = ("memory", "ann", "dialog")
NOW = datetime(2024, 5, 15, 12)
DIMS = 256

SCALE = Calibration(
    points=((-1, 0), (0.05, 0.5), (0.25, 0.7), (0.5, 0.8), (0.8, 0.9), (1, 1)),
    separation={"en": 0.95, "vi": 0.95},
    idle=0.6,
)
"""What the cosines of `SenseEmbeddings` mean: texts without a word in common lie around 0, those with half of their
words in common at 0.5."""

_SENSES = {
    "kayak": "boat",
    "canoe": "boat",
    "puppy": "dog",
    "terrier": "dog",
    "salary": "pay",
    "wage": "pay",
}


class SenseEmbeddings(WordEmbeddings):
    """Texts are near when they share words, or words of one meaning. It does what a test tells it to instead."""

    def __init__(self) -> None:
        super().__init__(DIMS)
        self.questions: list[str] = []
        self.error: Exception | None = None
        self.answer: Any = None

    async def aembed_query(self, text: str) -> list[float]:
        self.questions.append(text)
        if self.error:
            raise self.error
        return self.embed_query(text) if self.answer is None else self.answer

    def _embed(self, text: str, prefix: str) -> list[float]:
        words = (word.strip(".,?!'") for word in text.lower().split())
        return super()._embed(" ".join(_SENSES.get(word, word) for word in words), prefix)


def sense_model(name: str = "test:senses") -> EmbeddingModel:
    """Return a model that has `SenseEmbeddings`."""
    return EmbeddingModel(name, DIMS, SenseEmbeddings())


@contextmanager
def shared_database(server_url: str) -> Iterator[str]:
    """Make a database for many tests, each of which empties it (`open_recalling`): making one takes as long as five."""
    with asyncio.Runner() as runner:
        database = fresh_database(server_url)
        url = runner.run(database.__aenter__())
        try:
            yield url
        finally:
            runner.run(database.__aexit__(None, None, None))


@asynccontextmanager
async def open_recalling(
    url: str, model: EmbeddingModel | None = None, scale: Calibration = SCALE
) -> AsyncIterator[MemoryStore]:
    """Open an empty store that knows what the cosines of its model mean, as it does from the second opening on."""
    async with open_memory_store(url, model or sense_model()) as store, store:
        async with store.pool.connection() as conn:
            await conn.execute("TRUNCATE store, store_vectors")
            await conn.execute("UPDATE memory_embedding SET calibration = %s::jsonb", (scale.model_dump_json(),))
        assert store.scale.calibration  # the first question has it looked up
        await store.scale.settle()
        yield store


def message(text: str, turn: int, *, session: str = "monday", role: str = "user", **more: Any) -> dict[str, Any]:
    """Return a message as the store keeps it."""
    return {
        "kind": "message",
        "text": text[:2000],
        "content": text,
        "role": role,
        "turn": turn,
        "session_id": session,
        "created_at": "2024-01-01T12:00:00+00:00",
        **more,
    }


async def put(store: MemoryStore, values: Mapping[str, Any], space: tuple[str, ...] = DIALOG) -> None:
    """Store values by key; a text alone is a message of a conversation of its own."""
    made = {key: message(value, 0, session=key) if isinstance(value, str) else value for key, value in values.items()}
    await store.abatch([PutOp(space, key, value) for key, value in made.items()])


def asked(query: str, limit: int = 10, *, now: datetime = NOW, speakers: tuple[str, ...] = (), **more: Any) -> RecallOp:
    """Return a recall of what somebody said."""
    question = read_question(query, now, speakers)
    return RecallOp(more.pop("namespace", DIALOG), question, more.pop("conditions", {}), limit, **more)


async def recalled(store: MemoryStore, query: str, **more: Any) -> Recall:
    """Ask a store; return what it recalls."""
    [answer] = await store.arecall([asked(query, **more)])
    assert isinstance(answer, Recall)
    return answer


def keys(answer: Recall) -> list[str]:
    """Return what was recalled, by key."""
    return [found.item.key for found in answer.found]
