"""A question that several ask at the same time is embedded once, whatever the model."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langchain_core.embeddings import Embeddings

from react_mem.memory.store.embeddings import EmbeddingModel

PATIENCE = 30


class Held(Embeddings):
    """A model that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.cancelled: list[str] = []
        self.error: Exception | None = None
        self.answer = asyncio.Event()
        self.answer_threads = threading.Event()

    async def aembed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        try:
            await self.answer.wait()
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        return self._vector(text)

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        assert self.answer_threads.wait(PATIENCE)
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        if self.error is not None:
            raise self.error
        return [float(len(text))]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def model(held: Held) -> Embeddings:
    return EmbeddingModel("test:held", 1, held).embeddings


async def ask(model: Embeddings, times: int, text: str = "tea") -> list[asyncio.Task[list[float]]]:
    """Ask as many times at once; all wait when this returns."""
    tasks = [asyncio.create_task(model.aembed_query(text)) for _ in range(times)]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_five_that_ask_the_same_make_one_embedding(model: Embeddings, held: Held) -> None:
    waiting = [*await ask(model, 5), *await ask(model, 1, "coffee")]
    held.answer.set()
    assert await asyncio.gather(*waiting) == [[3.0]] * 5 + [[6.0]]
    assert held.asked == ["tea", "coffee"]


async def test_each_gets_a_vector_of_its_own(model: Embeddings, held: Held) -> None:
    waiting = await ask(model, 2)
    held.answer.set()
    one, other = await asyncio.gather(*waiting)
    one.clear()
    assert other == [3.0]


@pytest.mark.parametrize("leaves", [0, 1, 2])
async def test_one_that_is_cancelled_does_not_cancel_the_others(model: Embeddings, held: Held, leaves: int) -> None:
    waiting = await ask(model, 3)
    waiting.pop(leaves).cancel()
    await asyncio.sleep(0)
    held.answer.set()
    assert await asyncio.gather(*waiting) == [[3.0]] * 2
    assert held.asked == ["tea"]
    assert not held.cancelled


async def test_what_nobody_waits_for_any_more_is_cancelled_and_the_next_begins_anew(
    model: Embeddings, held: Held
) -> None:
    gone = await ask(model, 2)
    for task in gone:
        task.cancel()
    # the next one asks before the cancelled embedding has come to its end
    comes = asyncio.create_task(model.aembed_query("tea"))
    await asyncio.gather(*gone, return_exceptions=True)
    held.answer.set()
    assert await asyncio.wait_for(comes, PATIENCE) == [3.0]
    assert held.cancelled == ["tea"]
    assert held.asked == ["tea", "tea"]


async def test_an_error_reaches_all_and_is_not_kept(model: Embeddings, held: Held) -> None:
    held.error = ValueError("overloaded")
    waiting = await ask(model, 3)
    held.answer.set()
    assert [str(error) for error in await asyncio.gather(*waiting, return_exceptions=True)] == ["overloaded"] * 3
    held.error = None
    assert await model.aembed_query("tea") == [3.0]
    assert held.asked == ["tea", "tea"]


def test_an_event_loop_does_not_wait_for_another(held: Held) -> None:
    """One that ends while others would wait for it takes nobody along, and a sync call on a loop's thread does not
    wait for the loop."""
    embedding = EmbeddingModel("test:held", 1, held)
    embedding.recent.resize(0)
    model = embedding.embeddings

    async def leave_while_it_is_under_way() -> None:
        await ask(model, 1)
        held.answer_threads.set()
        assert model.embed_query("tea") == [3.0]

    asyncio.run(leave_while_it_is_under_way())

    async def ask_on_another_loop() -> list[float]:
        held.answer = asyncio.Event()
        held.answer.set()
        return await model.aembed_query("tea")

    assert asyncio.run(ask_on_another_loop()) == [3.0]
    assert held.asked == ["tea", "tea", "tea"]
