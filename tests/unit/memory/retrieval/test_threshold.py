"""`recall.similarity` on stores that only compare vectors: what is too far and shares no word is not found."""

from __future__ import annotations

import asyncio
import math
from typing import Any, TypeVar

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.calibration import KNOWN, reference_questions
from react_mem.memory.store.embeddings import LOCAL_MODEL, MeasuredEmbeddings

SCALE = KNOWN[LOCAL_MODEL]
NEAR, LIKELY, FAR = "Purring pet at home", "Furry roommate", "Quarterly steel output"
ALSO = "Whiskered companion"
SIMILARITIES = {NEAR: 0.9, LIKELY: 0.75, FAR: 0.55}
QUESTION = "Which animal lives with whom?"


AnyStore = TypeVar("AnyStore", bound=BaseStore)


class Placed(Embeddings):
    """Puts each text at the angle to any question that has a given similarity on the scale of the local model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._at(SCALE.cosine({**SIMILARITIES, ALSO: 0.84}.get(text, 0.5))) for text in texts]

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


async def test_a_shared_word_finds_what_is_far_and_similarity_is_told_on_the_common_scale() -> None:
    store = await kept(store_of(MeasuredEmbeddings(LOCAL_MODEL, Placed())))
    assert await found(store, 0.99, "How much steel?") == {FAR}
    results = await MemoryFacade(store).read(MemoryQuery(**ASKED, query=QUESTION))
    assert {str(item.payload["text"]): round(item.similarity or 0, 2) for item in results} == {NEAR: 0.9, LIKELY: 0.75}


async def test_what_is_far_below_the_best_is_left_out_unless_all_is_asked_for_or_its_words_are_the_same() -> None:
    memory = MemoryFacade(await kept(store_of(MeasuredEmbeddings(LOCAL_MODEL, Placed()))))

    async def read(question: str = QUESTION, **extra: Any) -> set[str]:
        results = await memory.read(MemoryQuery(**{**ASKED, "extra": extra}, query=question))
        return {str(item.payload["text"]) for item in results}

    assert await read() == {NEAR}
    assert await read(cut=False) == {NEAR, LIKELY}
    assert await read("How much steel?") == {NEAR, FAR}
    # one that is nearly as similar stays
    await MemoryFacade(memory.store).semantic.add([ALSO], user_id="ann", session_id="s", agent_id="a")
    assert await read() == {NEAR, ALSO}


@pytest.mark.parametrize(
    "message",
    [
        *("Thanks!", "Write me a poem about the sea.", "Good morning"),
        *("Cảm ơn bạn nhiều!", "Danke dir!", "¡Muchas gracias!", "谢谢你！", "海についての詩を書いて。", "Merci !"),
        *("Translate 'I am hungry' into Thai.", "👍"),
    ],
)
async def test_a_message_that_needs_nothing_gets_nothing_unless_it_is_a_search(message: str) -> None:
    memory = MemoryFacade(store_of(MeasuredEmbeddings(LOCAL_MODEL, Placed())))
    await memory.semantic.add([LIKELY], user_id="ann", session_id="earlier", agent_id="a")
    await memory.dialog.append("ann", "earlier", "user", LIKELY)

    async def read(text: str, **extra: Any) -> int:
        scopes = [MemoryScope.SEMANTIC, MemoryScope.DIALOG]
        return len(await memory.read(MemoryQuery(**{**ASKED, "extra": extra, "scopes": scopes}, query=text)))

    assert (await read(message), await read(message, cut=False)) == (0, 2)
    questions = [
        "Who is my furry roommate?",
        "What must the vet know?",
        "Quel est mon animal ?",
        "내 고양이 이름",
        "Где я живу",
    ]
    assert [await read(question) for question in questions] == [2] * 5


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
