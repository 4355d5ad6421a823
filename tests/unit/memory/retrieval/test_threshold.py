"""`recall.similarity` on stores that only compare vectors: what is too far and shares no word is not found."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.ranked_hits import KnownCosines
from react_mem.memory.index.recall import RecallOp, read_question
from react_mem.memory.index.scorer import score_compared
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.calibration import KNOWN, reference_questions
from react_mem.memory.store.embeddings import LOCAL_MODEL, MeasuredEmbeddings
from tests.support.sql_recall import IndexedRow, columns

SCALE = KNOWN[LOCAL_MODEL]
NEAR, LIKELY, FAR = "Purring pet at home", "Furry roommate", "Quarterly steel output"
SIMILARITIES = {NEAR: 0.9, LIKELY: 0.75, FAR: 0.55}
QUESTION = "Which animal lives with whom?"


AnyStore = TypeVar("AnyStore", bound=BaseStore)


class Placed(Embeddings):
    """Puts each text at the angle to any question that has a given similarity on the scale of the local model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._at(SCALE.cosine(SIMILARITIES.get(text, 0.5))) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    @staticmethod
    def _at(cosine: float) -> list[float]:
        return [cosine, math.sqrt(1 - cosine**2)]


ASKED: dict[str, Any] = {
    "user_id": "ann",
    "session_id": "s",
    "agent_id": "a",
    "scopes": [MemoryScope.SEMANTIC],
    "extra": {"cut": False},
}


def store_of(embeddings: Embeddings, dims: int = 2) -> InMemoryStore:
    return InMemoryStore(index={"dims": dims, "embed": embeddings, "fields": ["text"]})


async def found(store: BaseStore, threshold: float, question: str = QUESTION) -> set[str]:
    memory = MemoryFacade(store, MemoryPolicy(recall={"similarity": threshold}))
    query = MemoryQuery(**ASKED, query=question)
    return {str(item.payload["text"]) for item in await memory.read(query)}


async def kept(store: AnyStore) -> AnyStore:
    for text in SIMILARITIES:
        event = MemoryWriteEvent(
            user_id="ann", session_id="s", agent_id="a", scope=MemoryScope.SEMANTIC, data={"text": text}
        )
        await MemoryFacade(store).write(event)
    return store


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.0, {NEAR, LIKELY, FAR}), (0.7, {NEAR, LIKELY}), (0.8, {NEAR}), (0.99, set())],
)
async def test_a_stock_store_finds_what_is_similar_enough(threshold: float, expected: set[str]) -> None:
    store = await kept(store_of(MeasuredEmbeddings(LOCAL_MODEL, Placed())))
    assert await found(store, threshold) == expected


async def test_a_shared_word_finds_what_is_far() -> None:
    store = await kept(store_of(MeasuredEmbeddings(LOCAL_MODEL, Placed())))
    assert await found(store, 0.99, "How much steel?") == {FAR}


async def test_the_similarity_of_a_stock_store_is_told_on_the_common_scale() -> None:
    store = await kept(store_of(MeasuredEmbeddings(LOCAL_MODEL, Placed())))
    results = await MemoryFacade(store).read(MemoryQuery(**ASKED, query=QUESTION))
    assert {str(item.payload["text"]): round(item.similarity or 0, 2) for item in results} == {NEAR: 0.9, LIKELY: 0.75}


class Telling(Embeddings):
    """Tells the answers of the reference pairs from everything else, and has no name."""

    def __init__(self) -> None:
        self._questions = reference_questions()
        self._texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if len(texts) == len(self._questions):
            return [self._axis(place) for place in range(len(texts))]
        return [self._axis(len(self._questions)) for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        if text in self._questions:
            return self._axis(self._questions.index(text), lean=0.3)
        return self._axis(0)

    def _axis(self, place: int, lean: float = 0.0) -> list[float]:
        vector = [lean / (len(self._questions) + 1)] * (len(self._questions) + 1)
        vector[place] = 1.0
        return vector


async def test_the_scale_of_an_embedder_that_nobody_knows_is_measured_behind_the_first_question() -> None:
    embeddings = Telling()
    store = await kept(store_of(embeddings, dims=len(reference_questions()) + 1))
    assert await found(store, 0.7) == set(SIMILARITIES), "nothing is filtered by a scale that is not known"
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert await found(store, 0.7) == set()


@given(cosines=st.lists(st.floats(-1, 1), min_size=1, max_size=10), least=st.floats(0, 1), more=st.floats(0, 1))
def test_a_higher_threshold_never_finds_more(cosines: list[float], least: float, more: float) -> None:
    rows = [IndexedRow(str(n), "text", {}, frozenset({"steel"}), None, 1, None, None) for n in range(len(cosines))]
    known = KnownCosines(IndexedTexts.of(columns(rows, 0)), np.array(cosines))
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def keys(question: str, similarity: float) -> set[str]:
        op = RecallOp(("n",), read_question(question, at), {}, 10, similarity=similarity)
        return {hit.key for hit in score_compared(known, op, SCALE)}

    low, high = sorted((least, more))
    assert keys("cat", high) <= keys("cat", low)
    assert len(keys("steel", 1.0)) == len(cosines)


class Compared(Placed):
    """Compared by its fields, as the models of LangChain's integrations are: it has no hash."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compared)

    __hash__ = None  # type: ignore[assignment]


async def test_an_embedder_without_a_hash_can_be_asked() -> None:
    store = await kept(store_of(Compared()))
    assert await found(store, 0.7) == {NEAR, LIKELY, FAR}
