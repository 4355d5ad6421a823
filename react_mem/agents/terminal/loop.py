"""An event loop beside the main thread: what happens behind the turns goes on while the user types."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

_LOOK = 0.2
"""Seconds between two looks for Ctrl-C: pressed just before a wait begins it does not end that wait, nor on Windows."""


class LoopThread:
    """Runs coroutines for the main thread, one after the other; use as a context manager.

    The main thread waits for keys and is where Ctrl-C arrives. With the loop there too, extraction behind a turn would
    stand still between two turns, and find its time limits passed at the next.
    """

    def __init__(self) -> None:
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), name="terminal")

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop, self._stop = self._started.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end.

        Args:
            work: The coroutine.

        Returns:
            What it returns.

        Raises:
            KeyboardInterrupt: If Ctrl-C is pressed; the coroutine has been cancelled, and has ended.
        """
        started: Future[asyncio.Task[T]] = Future()
        ended: Future[asyncio.Task[T]] = Future()
        self._loop.call_soon_threadsafe(self._begin, work, started, ended)
        try:
            return _wait(ended).result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(started.result().cancel)
            _wait(ended)
            raise

    def _begin(self, work: Coroutine[Any, Any, T], started: Future[Any], ended: Future[Any]) -> None:
        task = self._loop.create_task(work)
        task.add_done_callback(ended.set_result)
        started.set_result(task)

    async def _serve(self) -> None:
        stop = asyncio.Event()
        self._started.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()


def _wait(future: Future[T]) -> T:
    while not future.done():
        with contextlib.suppress(TimeoutError):
            future.result(timeout=_LOOK)
    return future.result()
