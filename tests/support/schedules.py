"""Coroutines run step by step in the order that a test chooses: an interleaving is data, not luck."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from langchain_core.embeddings import Embeddings
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.memory import InMemoryStore

from react_mem.memory.store.capabilities import StoreCapabilities
from react_mem.memory.store.transactions import Guard
from tests.support.databases import WordEmbeddings

Move = Literal["go", "cancel"]
Choice = tuple[int, Move]
"""Which of those who wait goes on, counted around, and whether it is cancelled instead."""

_actor: ContextVar[str] = ContextVar("actor")
_SETTLED = 12
"""Rounds of the event loop in which everybody gets to the next gate."""


class Schedule:
    """Gates at which everybody waits until the schedule lets them go on."""

    def __init__(self) -> None:
        self.passed: dict[str, int] = {}
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    async def gate(self) -> None:
        """Wait for this actor's turn; who is no actor of the schedule does not wait."""
        name = _actor.get("")
        if not name:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, []).append(future)
        try:
            await future
        finally:
            self._waiting[name].remove(future)
        self.passed[name] = self.passed.get(name, 0) + 1

    async def run(
        self,
        actors: Mapping[str, Callable[[], Awaitable[Any]]],
        choices: Iterable[Choice],
        *,
        may_be_cancelled: Iterable[str] = (),
        after_each: Callable[[], None] = lambda: None,
    ) -> None:
        """Run all actors to their end.

        Args:
            actors: What to run, by name.
            choices: Who goes on at each step; when they are used up, the first who waits.
            may_be_cancelled: The actors to which a choice may do so.
            after_each: Checks what holds at all times.
        """
        tasks = {name: _start(name, work) for name, work in actors.items()}
        chosen = iter(choices)
        while True:
            waiting = await self._settled(tasks)
            after_each()
            if not waiting:
                break
            place, move = next(chosen, (0, "go"))
            name = waiting[place % len(waiting)]
            if move == "cancel" and name in may_be_cancelled:
                tasks[name].cancel()
            else:
                self._waiting[name][0].set_result(None)
        for name, task in tasks.items():
            if not (task.cancelled() and name in may_be_cancelled):
                await task

    async def _settled(self, tasks: Mapping[str, asyncio.Task[Any]]) -> list[str]:
        for _ in range(20):
            for _ in range(_SETTLED):
                await asyncio.sleep(0)
            if waiting := [name for name in tasks if self._waiting.get(name)]:
                return waiting
            if all(task.done() for task in tasks.values()):
                return []
        raise AssertionError(f"nobody can go on: {[name for name, task in tasks.items() if not task.done()]}")


def _start(name: str, work: Callable[[], Awaitable[Any]]) -> asyncio.Task[Any]:
    async def act() -> Any:
        _actor.set(name)
        return await work()

    return asyncio.create_task(act())


class GatedEmbeddings(WordEmbeddings):
    """An embedder that takes as long as the schedule wants."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self._schedule = schedule

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        await self._schedule.gate()
        return await super().aembed_documents(texts)


class GatedStore(InMemoryStore):
    """A store of which every call takes as long as the schedule wants, before it is served and after.

    The second gate stands for an answer on its way: whoever is cancelled there does not know that it was written.
    """

    def __init__(self, schedule: Schedule) -> None:
        embed: Embeddings = GatedEmbeddings(schedule)
        super().__init__(index={"dims": 64, "embed": embed, "fields": ["text"]})
        self.schedule = schedule

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = list(ops)
        await self.schedule.gate()
        results = await super().abatch(batch)
        await self.schedule.gate()
        return results

    def indexed(self, namespace: tuple[str, ...]) -> set[str]:
        """Return the keys of the items that a search by meaning finds."""
        return {key for key, vectors in self._vectors[namespace].items() if vectors}

    def held(self, namespace: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        """Return what is stored, without passing a gate."""
        return {key: item.value for key, item in self._data[namespace].items()}


class GuardedGatedStore(GatedStore, StoreCapabilities):
    """One that can write a batch only if an item has not changed, as `MemoryStore` can."""

    guards = True

    async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
        _, puts, _ = self._prepare_ops([op for op in ops if isinstance(op, PutOp)])
        texts = self._extract_texts(puts)
        vectors = await self.embeddings.aembed_documents(list(texts)) if self.embeddings and texts else []
        await self.schedule.gate()
        item = self._data[guard.namespace].get(guard.key)
        holds = (item.value if item is not None else None) == guard.value
        if holds:
            for vector, places in zip(vectors, texts.values(), strict=True):
                for namespace, key, path in places:
                    self._vectors[namespace][key][path] = vector
            self._apply_put_ops(puts)
        await self.schedule.gate()
        return holds
