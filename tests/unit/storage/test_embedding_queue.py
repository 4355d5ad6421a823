"""The local model's queue: questions before documents, text by text, whoever asks from wherever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.store import embedding_queue, embeddings
from react_mem.memory.store.embedding_queue import _QUESTIONS_IN_A_ROW, EmbeddingQueue
from react_mem.memory.store.embeddings import LocalEmbeddings

PATIENCE = 30
"""Seconds after which a test that hangs fails."""


class Engine:
    """A stand-in for the engine that computes a text only when the test lets it."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.loaded = 0
        self._permits = threading.Semaphore(0)
        self._begins = threading.Semaphore(0)

    def load(self) -> Any:
        self.loaded += 1
        return self.encode

    def encode(self, text: str, is_query: bool) -> list[float]:
        self.begun.append(("? " if is_query else "") + text)
        self._begins.release()
        assert self._permits.acquire(timeout=PATIENCE)
        if text == "bad":
            raise RuntimeError("the engine fails")
        return [float(is_query), float(len(text))]

    def await_begin(self) -> None:
        """Wait until one more text has been begun."""
        assert self._begins.acquire(timeout=PATIENCE)

    def let(self, texts: int = 1) -> None:
        """Let it finish as many texts."""
        self._permits.release(texts)

    def let_all(self) -> None:
        self.let(10_000)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """The engine of the local model in this test; the first document, `held`, is in its hands."""
    stand_in = Engine()
    monkeypatch.setattr(embeddings, "_ENGINE", EmbeddingQueue(stand_in.load))
    yield stand_in
    stand_in.let_all()


def hold(engine: Engine, *more: str) -> Future[list[list[float]]]:
    """Begin a call whose first text keeps the engine busy."""
    call = embeddings._ENGINE.submit(["held", *more], is_query=False)
    engine.await_begin()
    return call


async def test_a_question_waits_for_one_text_and_not_for_the_documents_before_it(engine: Engine) -> None:
    documents = hold(engine, "one", "two", "three")
    question = asyncio.ensure_future(LocalEmbeddings().aembed_query("which?"))
    await asyncio.sleep(0)
    engine.let(2)
    assert await asyncio.wait_for(question, PATIENCE) == [1.0, 6.0]
    assert not documents.done()
    assert engine.begun[:2] == ["held", "? which?"]
    engine.let_all()
    assert documents.result(PATIENCE) == [[0.0, 4.0], [0.0, 3.0], [0.0, 3.0], [0.0, 5.0]]


async def test_many_questions_during_an_ingest_are_answered_in_turn_before_the_rest_of_it(engine: Engine) -> None:
    documents = hold(engine, *(f"document {number}" for number in range(20)))
    asked = [f"question {number}" for number in range(50)]
    questions = asyncio.gather(*map(LocalEmbeddings().aembed_query, asked))
    await asyncio.sleep(0)
    engine.let(1 + len(asked))
    await asyncio.wait_for(questions, PATIENCE)
    assert engine.begun[: 1 + len(asked)] == ["held", *(f"? {text}" for text in asked)]
    engine.let_all()
    assert len(documents.result(PATIENCE)) == 21


def test_documents_do_not_starve_under_questions_without_end(engine: Engine) -> None:
    documents = hold(engine, "one", "two")
    asked = [embeddings._ENGINE.submit([str(number)], is_query=True) for number in range(2 * _QUESTIONS_IN_A_ROW + 9)]
    engine.let_all()
    documents.result(PATIENCE)
    asked[-1].result(PATIENCE)
    questions = [f"? {number}" for number in range(len(asked))]
    first, second = questions[:_QUESTIONS_IN_A_ROW], questions[_QUESTIONS_IN_A_ROW : 2 * _QUESTIONS_IN_A_ROW]
    assert engine.begun == ["held", *first, "one", *second, "two", *questions[2 * _QUESTIONS_IN_A_ROW :]]


def test_questions_before_a_document_came_do_not_let_it_through(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_queue, "_QUESTIONS_IN_A_ROW", 2)
    for text in "abcd":
        embeddings._ENGINE.submit([text], is_query=True)
    engine.let(3)
    for _ in "abcd":
        engine.await_begin()
    document = embeddings._ENGINE.submit(["document"], is_query=False)
    for text in "efg":
        embeddings._ENGINE.submit([text], is_query=True)
    engine.let_all()
    document.result(PATIENCE)
    assert engine.begun[4:7] == ["? e", "? f", "document"]


def test_a_short_document_does_not_wait_for_the_whole_of_a_long_one(engine: Engine) -> None:
    long = hold(engine, "long 1", "long 2", "long 3")
    short = embeddings._ENGINE.submit(["short"], is_query=False)
    engine.let_all()
    long.result(PATIENCE)
    short.result(PATIENCE)
    assert engine.begun == ["held", "short", "long 1", "long 2", "long 3"]


async def test_who_is_cancelled_takes_its_texts_along(engine: Engine) -> None:
    documents = asyncio.ensure_future(LocalEmbeddings().aembed_documents(["held", "one", "two"]))
    await asyncio.to_thread(engine.await_begin)
    stays, goes = (asyncio.ensure_future(LocalEmbeddings().aembed_query(text)) for text in ("stays", "goes"))
    await asyncio.sleep(0)
    documents.cancel()
    goes.cancel()
    await asyncio.sleep(0)
    engine.let_all()
    assert await asyncio.wait_for(stays, PATIENCE) == [1.0, 5.0]
    assert await LocalEmbeddings().aembed_documents(["last"]) == [[0.0, 4.0]]
    assert engine.begun == ["held", "? stays", "last"]


async def test_an_error_is_for_who_asked(engine: Engine) -> None:
    engine.let_all()
    model = LocalEmbeddings()
    bad, good = await asyncio.gather(
        model.aembed_documents(["good", "bad", "never"]), model.aembed_query("good"), return_exceptions=True
    )
    assert isinstance(bad, RuntimeError)
    assert good == [1.0, 4.0]
    assert "never" not in engine.begun


async def test_an_engine_that_does_not_load_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.let_all()
    outcomes = iter([OSError("no memory"), None])

    def load() -> Any:
        if (error := next(outcomes)) is not None:
            raise error
        return engine.encode

    monkeypatch.setattr(embeddings, "_ENGINE", EmbeddingQueue(load))
    with pytest.raises(OSError, match="no memory"):
        await LocalEmbeddings().aembed_query("tea")
    assert await LocalEmbeddings().aembed_query("tea") == [1.0, 3.0]


async def test_waiting_takes_no_thread_of_the_event_loop(engine: Engine) -> None:
    class Refusing(ThreadPoolExecutor):
        def submit(self, *args: Any, **options: Any) -> Any:
            raise AssertionError("a thread of the default executor is taken")

    executor: Executor = Refusing(1)
    asyncio.get_running_loop().set_default_executor(executor)  # type: ignore[arg-type]
    engine.let_all()
    assert await LocalEmbeddings().aembed_query("tea") == [1.0, 3.0]
    assert await LocalEmbeddings().aembed_documents(["tea"]) == [[0.0, 3.0]]


def test_event_loops_and_threads_share_the_queue(engine: Engine) -> None:
    documents = hold(engine, "one")

    def on_a_loop_of_its_own(text: str) -> list[float]:
        return asyncio.run(LocalEmbeddings().aembed_query(text))

    with ThreadPoolExecutor(4) as threads:
        answers = [
            threads.submit(ask, text)
            for ask in (on_a_loop_of_its_own, LocalEmbeddings().embed_query)
            for text in ("a", "bb")
        ]
        engine.let_all()
        assert [answer.result(PATIENCE) for answer in answers] == [[1.0, 1.0], [1.0, 2.0]] * 2
    documents.result(PATIENCE)
    assert engine.loaded == 1


@given(st.lists(st.tuples(st.booleans(), st.lists(st.text(max_size=5), max_size=4)), max_size=8))
def test_whatever_is_asked_everybody_gets_their_own(calls: list[tuple[bool, list[str]]]) -> None:
    given_to: list[str] = []

    def encode(text: str, is_query: bool) -> list[float]:
        given_to.append(text)
        return [float(is_query), *(float(ord(letter)) for letter in text)]

    queue = EmbeddingQueue(lambda: encode)
    results = [queue.submit(texts, is_query=is_query) for is_query, texts in calls]
    for (is_query, texts), result in zip(calls, results, strict=True):
        assert result.result(PATIENCE) == [[float(is_query), *map(float, map(ord, text))] for text in texts]
    assert sorted(given_to) == sorted(text for _, texts in calls for text in texts)
