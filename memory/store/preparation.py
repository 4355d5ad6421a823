"""Preparation of a turn: from its question to its request to the model, when whatever it writes is in its way.

What a run writes to its thread need not be there before the model is asked: a crash in between loses no more than one a
few milliseconds earlier, and while a model thinks, writing costs the user nothing. So it waits until the request is on
its way. Where nobody prepares a turn, nothing waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.runnables import RunnableConfig

from react_mem.memory.store.process_state import share, shared

_LONGEST = 0.1
"""Seconds that writes wait at most: longer than a preparation takes, unless the web is searched or the machine is busy;
and short against what a model takes, so that a crash loses next to nothing more."""

_SENDING = 0.02
"""Seconds in which a request to a model leaves this process: its prompt is put together and sent in a few of them."""

_DURABILITY = "__pregel_durability"
"""Key under which LangGraph keeps, in a run's config, the durability that the caller asked for."""


class Preparation:
    """One preparation, in the event loop of its turn."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        # the timer holds on to it, so that nobody else has to
        self._timer = self._loop.call_later(_LONGEST, self.end)

    @property
    def is_over(self) -> bool:
        """True once writes go on."""
        return self._over.is_set()

    def end(self) -> None:
        """Let writes go on."""
        self._timer.cancel()
        self._over.set()

    def end_soon(self) -> None:
        """Let writes go on when a request that is made now has left."""
        at = self._loop.time() + _SENDING
        if not self.is_over and at < self._timer.when():
            self._timer.cancel()
            self._timer = self._loop.call_at(at, self.end)

    async def wait(self) -> None:
        """Wait until it is over."""
        await self._over.wait()


def prepare(config: RunnableConfig) -> None:
    """Begin to prepare a turn, unless the run would wait for what is kept waiting.

    Args:
        config: The run's config.
    """
    # LangGraph counts what is being written as one of the tasks that may run at once
    if config.get("max_concurrency") or config.get("configurable", {}).get(_DURABILITY) == "sync":
        return
    thread = _thread_of(config)
    before = preparation_of(thread)
    if thread and (before is None or before.is_over):
        share(thread, Preparation())


def preparation_of(thread: str) -> Preparation | None:
    """Return the preparation of a thread's turn in this event loop; None where nobody prepares one.

    Args:
        thread: The id of the thread.
    """
    return shared(Preparation, thread)


def prepared(config: RunnableConfig) -> None:
    """Say that no request to a model follows on what was prepared, as where it failed.

    Args:
        config: The run's config.
    """
    if (preparation := preparation_of(_thread_of(config))) is not None:
        preparation.end()


@contextmanager
def asking(config: RunnableConfig) -> Iterator[None]:
    """Ask the model: what the turn writes goes on while it thinks, at the latest when it has answered.

    Args:
        config: The run's config.
    """
    preparation = preparation_of(_thread_of(config))
    if preparation is None:
        yield
        return
    preparation.end_soon()
    try:
        yield
    finally:
        preparation.end()


def _thread_of(config: RunnableConfig) -> str:
    return str(config.get("configurable", {}).get("thread_id") or "")
