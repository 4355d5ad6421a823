"""Background work of one agent in this process: its runner and the workers started for it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from react_mem.memory.maintenance.runner import AgentRunner
from react_mem.memory.maintenance.worker import Worker, drain
from react_mem.memory.model.retention_settings import RetentionSettings


class AgentWork:
    """The runners of an agent, and its workers: one for each event loop and store that it is used with."""

    def __init__(self) -> None:
        self._runners: dict[str, AgentRunner] = {}
        self._workers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Worker]] = weakref.WeakKeyDictionary()

    def register(self, agent: str, runner: AgentRunner) -> None:
        """Register the runner of an agent, when its graph is built."""
        self._runners[agent] = runner

    def names(self) -> Sequence[str]:
        """Return the agents with a runner."""
        return list(self._runners)

    def runner(self, agent: str) -> AgentRunner | None:
        """Return the runner of an agent; None where it has none."""
        return self._runners.get(agent)

    async def retention(self, agent: str) -> RetentionSettings:
        """Return an agent's retention settings."""
        return self._runners[agent].retention

    async def get(self, agent: str) -> AgentRunner | None:
        """Return the runner of an agent, for a worker."""
        return self.runner(agent)

    def ensure(self, store: BaseStore) -> None:
        """Start a worker in this event loop, unless there is one; it ends when the work of this process is done."""
        workers = self._workers.setdefault(asyncio.get_running_loop(), [])
        workers[:] = [worker for worker in workers if worker.is_running]
        there = [worker for worker in workers if worker.store is store]
        for worker in there:
            worker.want()
        if not there:
            workers.append(Worker(store, self, until_idle=True))

    async def drain(self, within: float) -> bool:
        """Do pending extraction at once, in the stores used in this event loop; return true if all was done in time.

        Undone work stays durable and due.
        """
        workers = self._workers.get(asyncio.get_running_loop(), [])
        return await drain(within, [worker.store for worker in workers])

    @asynccontextmanager
    async def running(
        self, store: BaseStore, checkpointer: BaseCheckpointSaver[Any] | None = None
    ) -> AsyncIterator[None]:
        """Run a worker for the length of a context; none if no agent has memory."""
        if not self._runners:
            yield
            return
        worker = Worker(store, self, checkpointer=checkpointer)
        self._workers.setdefault(asyncio.get_running_loop(), []).append(worker)
        try:
            yield
        finally:
            await worker.close()
