"""Questions that several ask at the same time are embedded once."""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop, Task
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any
from weakref import WeakKeyDictionary

Vector = list[float]


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
