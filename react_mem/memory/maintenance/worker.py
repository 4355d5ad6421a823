"""Worker: does the due work of a store, a bounded number of items at once, as long as it runs.

It hears of work from its own process and claims it without a search; every few seconds it searches for work of others.
While many turns are being served it waits, and the work stays in the store.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import random
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from react_mem.memory import telemetry
from react_mem.memory.llm.causes import cause_of, trace_of
from react_mem.memory.maintenance.runner import AgentRunner, Outcome, RetentionRounds, Runners
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.store.audit_log import AuditActor, AuditReason, acting
from react_mem.memory.store.priority import FRONT, behind_turns
from react_mem.memory.work.items import Held, KnownWork, Place, RenewedLease, Work, WorkQueue, listen, worker_name

POLL_SECONDS = 5.0
_LONGEST_POLL = 60.0  # seconds between two searches while the store fails
CLOSING_SECONDS = 5.0  # for what is still to be done when a worker is closed. What is not done by then stays due
CONCURRENCY = 4  # items at once: model calls that mostly wait. The local embedder does one text at a time anyway
_LOOKED_AT = 500
"""Due items read at a time: those of an owner are done one after the other, and there are to be other owners."""

_PAUSE = 0.05  # seconds between two checks whether a crowd of turns has passed
_IDLE_SECONDS = 60.0
"""Seconds until a worker started by a turn ends: longer than from the end of a turn to the writing of its work."""

_RELEASE_SECONDS = 2.0  # seconds for releasing the leases of cancelled work
_DRAINED = ("extract", "conclude")

log = logging.getLogger(__name__)


class Worker:
    """Worker on one store, in one event loop.

    Args:
        until_idle: Whether it ends when the work of its own process is done.
        poll_seconds: Seconds between two searches for work of other processes.
        checkpointer: Keeps the threads that retention deletes; without it ended ones stay.
    """

    def __init__(
        self,
        store: BaseStore,
        runners: Runners,
        *,
        queue: WorkQueue | None = None,
        until_idle: bool = False,
        concurrency: int = CONCURRENCY,
        poll_seconds: float = POLL_SECONDS,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        self.store = store
        self.runners = runners
        self._queue = queue or WorkQueue(store)
        self._until_idle = until_idle
        self._concurrency = concurrency
        self._poll_seconds = poll_seconds
        self._name = worker_name()
        self._bell = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self._known = KnownWork()
        self._urgent: dict[Place, str] = {}
        self._jobs: dict[Place, tuple[str, asyncio.Task[None]]] = {}
        self._failing = False
        self._closing = False
        self._more = False
        self._look_at = self.loop.time()
        self._wanted_at = self.loop.time()
        self._unusable: set[str] = set()
        self._end_listening = listen(self._hear)
        # not within the run that happened to start it: its callbacks, its stream and its trace are not ours
        self._task = self.loop.create_task(self._serve(), name="memory:worker", context=contextvars.Context())
        rounds = RetentionRounds(store, runners, checkpointer, self._name)
        # one that ends by itself is there for what its own process has written
        served = [] if until_idle else [rounds.serve()]
        self._rounds = [
            self.loop.create_task(one, name="memory:retention", context=contextvars.Context()) for one in served
        ]
        _running.add(self)

    def __len__(self) -> int:
        """Return the number of items in progress or known."""
        return len(self._jobs.keys() | self._known.keys())

    @property
    def is_running(self) -> bool:
        """True while the worker looks for work."""
        return not self._task.done()

    def want(self) -> None:
        """Announce that work is about to be written, so that an idle worker stays."""
        self._wanted_at = self.loop.time()

    async def drain(self, within: float) -> bool:
        """Do this process's extraction work within some seconds, not waiting for quiet; return true if all was done.

        Undone work stays durable and due.
        """
        try:
            async with asyncio.timeout(within):
                while self._urgent or self._jobs:
                    await self._hurry()
                    jobs = [job for _, job in self._jobs.values()]
                    if jobs:
                        await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            await self._cancel([job for _, job in self._jobs.values()])
            return False
        except Exception as error:
            self._store_failed(error)
            return False
        return True

    async def close(self, within: float = CLOSING_SECONDS) -> None:
        """Finish the work that time permits, and release the rest for the next worker."""
        await self.drain(max(0.0, within - _RELEASE_SECONDS))
        self._end_listening()
        self._closing = True
        self._bell.set()
        # what is being claimed at this moment is begun, so that it can be given back
        await asyncio.wait([self._task], timeout=_RELEASE_SECONDS / 2)
        jobs = (job for _, job in self._jobs.values())
        await self._cancel([self._task, *self._rounds, *jobs], _RELEASE_SECONDS / 2)
        _running.discard(self)

    # Being told of work

    def _hear(self, works: Sequence[tuple[str, Work]]) -> None:
        if _loop_here() is self.loop:
            self._heard(works)
            return
        try:
            self.loop.call_soon_threadsafe(self._heard, works)
        except RuntimeError:
            # its event loop was closed under it
            self._end_listening()

    def _heard(self, works: Sequence[tuple[str, Work]]) -> None:
        self.want()
        names = self.runners.names()
        for user_id, work in works:
            if work.agent in names:
                held = Held(work.place(user_id), user_id, work)
                self._known.add(held)
                if work.kind in _DRAINED:
                    self._urgent[held.place] = user_id
        self._bell.set()

    # The loop

    async def _serve(self) -> None:
        try:
            with behind_turns():
                while not self._closing:
                    self._bell.clear()
                    wait = await self._look()
                    lately = self.loop.time() - self._wanted_at < _IDLE_SECONDS
                    if self._until_idle and not (self._known or self._jobs or lately):
                        return
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(wait):
                            await self._bell.wait()
        finally:
            if self._until_idle:
                self._end_listening()

    async def _look(self) -> float:
        """Begin due items; return the seconds until the next call."""
        poll = self._poll_seconds * random.uniform(0.8, 1.2)  # noqa: S311 - no secret
        if len(self._jobs) >= (room := FRONT.room_for_work(self._concurrency)):
            return poll if room == self._concurrency else _PAUSE
        at = self._queue.now()
        try:
            all_begun = await self._begin_due(at)
            if self.loop.time() >= self._look_at or (self._more and all_begun):
                self._look_at = self.loop.time() + poll
                due = await self._queue.due(list(self.runners.names()), _LOOKED_AT)
                # what is left of those who are at hand has to wait for them, however often it is looked for
                at_hand = {owner for owner, _ in self._jobs.values()}
                self._more = len(due) >= _LOOKED_AT and any(held.user_id not in at_hand for held in due)
                for held in due:
                    if held.place not in self._jobs:
                        self._known.add(held)
                await self._begin_due(at)
            self._failing = False
        except Exception as error:
            self._store_failed(error)
            self._look_at, self._more = self.loop.time() + min(_LONGEST_POLL, poll * 4), False
            return self._look_at - self.loop.time()
        waits = self._look_at - self.loop.time()
        if FRONT.room_for_work(self._concurrency) < self._concurrency:
            waits = min(waits, _PAUSE)
        soonest = self._known.next_due()
        return max(0.0, waits if soonest is None else min(waits, (soonest - self._queue.now()) / 1000))

    async def _begin_due(self, at: int) -> bool:
        """Begin known due items while there is room; return true if all were begun."""
        while len(self._jobs) < FRONT.room_for_work(self._concurrency):
            held = self._known.next(at, {owner for owner, _ in self._jobs.values()})
            if held is None:
                return True
            await self._start(held)
        return False

    async def _hurry(self) -> None:
        """Begin urgent items, due or not."""
        for place, user_id in list(self._urgent.items()):
            if len(self._jobs) >= self._concurrency:
                return
            if place in self._jobs:
                continue
            held = self._known.get(place) or await self._queue.get(user_id, place)
            if held is None or self._queue.is_leased(held) or not await self._start(held, early=True):
                self._urgent.pop(place, None)

    async def _start(self, held: Held, *, early: bool = False) -> bool:
        """Begin an item if possible; return true if this worker does it now or later."""
        if held.place in self._jobs or any(owner == held.user_id for owner, _ in self._jobs.values()):
            # an owner's items one after the other: they would only wait for each other, and others are there too
            return True
        runner = await self._runner(held.work.agent)
        if runner is None:
            self._known.pop(held.place, None)
            return False
        claimed = await self._claim(held, early=early)
        if claimed is None or held.place in self._jobs:
            return False
        with behind_turns():
            job = asyncio.create_task(self._do(claimed, runner), name=f"memory:{held.work.kind}")
        self._jobs[held.place] = (held.user_id, job)

        def ended(_: object) -> None:
            self._jobs.pop(held.place, None)
            self._bell.set()

        job.add_done_callback(ended)
        return True

    async def _claim(self, held: Held, *, early: bool) -> Held | None:
        """Claim an item as known; if it has changed since, as it is now, if it is still due."""
        claimed = await self._queue.claim(held, self._name)
        if claimed is None:
            now = await self._queue.get(held.user_id, held.place)
            if now is not None and not self._queue.is_leased(now):
                if not early and now.work.due_at > self._queue.now():
                    self._known.add(now)
                    return None
                claimed = await self._queue.claim(now, self._name)
        if self._known.get(held.place) is held:
            # what has been heard meanwhile is to be done after this
            self._known.pop(held.place, None)
        return claimed

    async def _runner(self, agent: str) -> AgentRunner | None:
        if agent in self._unusable:
            return None
        try:
            return await self.runners.get(agent)
        except Exception as error:
            self._unusable.add(agent)
            log.warning("the agent %r cannot do its work behind the turns here: %s", agent, cause_of(error))
            return None

    # One item

    async def _do(self, held: Held, runner: AgentRunner) -> None:
        lease = RenewedLease(self._queue, held)
        self._urgent.pop(held.place, None)
        try:
            with telemetry.span("background"), acting(AuditActor.WORKER, AuditReason.WORK):
                outcome = await runner.run(self.store, held.user_id, held.work)
            await self._settle(await lease.end(), outcome)
        except asyncio.CancelledError:
            latest = await lease.end()
            await asyncio.shield(self._queue.release(latest))
            raise
        except Exception as error:
            log.warning(
                "work behind the turns failed and is tried again later: %s\n%s", cause_of(error), trace_of(error)
            )
            try:
                await self._queue.failed(await lease.end(), type(error).__name__)
            except Exception as again:
                self._store_failed(again)

    async def _settle(self, held: Held, outcome: Outcome) -> None:
        due_at = int(outcome.due_at.timestamp() * 1000) if outcome.due_at is not None else None
        if outcome.problem:
            after = await self._queue.failed(held, outcome.problem, due_at or 0)
        elif due_at is not None:
            after = await self._queue.again(held, due_at)
        else:
            after = None
            if await self._queue.finish(held):
                self._known.pop(held.place, None)
        if after is not None:
            self._known.add(after)

    def _store_failed(self, error: Exception) -> None:
        if not self._failing:
            self._failing = True
            log.warning("work behind the turns waits, its store cannot be used: %s", cause_of(error))

    @staticmethod
    async def _cancel(tasks: Sequence[asyncio.Task[Any]], within: float = _RELEASE_SECONDS) -> None:
        # one that has not begun could not give its lease back
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=within)


def _loop_here() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


_running: weakref.WeakSet[Worker] = weakref.WeakSet()


async def close_workers(store: BaseStore, within: float) -> None:
    """Close the workers of this event loop that are on a store, before the store is closed; undone work stays due."""
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(one.close(within) for one in list(_running) if one.loop is loop and one.store is store))


async def drain(within: float, stores: Sequence[BaseStore] | None = None) -> bool:
    """Do pending extraction within some seconds, with the workers of this event loop; return true if all was done.

    A worker hears of the work of other stores too: one with an unreachable database does not answer for those. Undone
    work stays durable and due.
    """
    loop = asyncio.get_running_loop()
    there = [one for one in list(_running) if one.loop is loop]
    if stores is not None:
        there = [one for one in there if any(one.store is store for store in stores)]
    return all(await asyncio.gather(*(worker.drain(within) for worker in there)))


telemetry.observe("background.jobs", lambda: [(sum(map(len, list(_running))), {})])


# Background work of one agent in this process: its runner and the workers started for it.


class AgentWork:
    """The runners of an agent, set when its graph is built, and its workers: one for each event loop and store."""

    def __init__(self) -> None:
        self.runners: dict[str, AgentRunner] = {}

    def names(self) -> Sequence[str]:
        """Return the agents with a runner."""
        return list(self.runners)

    async def retention(self, agent: str) -> RetentionSettings:
        """Return an agent's retention settings."""
        return self.runners[agent].retention

    async def get(self, agent: str) -> AgentRunner | None:
        """Return the runner of an agent, for a worker."""
        return self.runners.get(agent)

    def _here(self) -> list[Worker]:
        loop = asyncio.get_running_loop()
        return [one for one in list(_running) if one.loop is loop and one.runners is self and one.is_running]

    def ensure(self, store: BaseStore) -> None:
        """Start a worker in this event loop, unless there is one; it ends when the work of this process is done."""
        there = [worker for worker in self._here() if worker.store is store]
        for worker in there:
            worker.want()
        if not there:
            # kept by those who are told of work, until it ends
            Worker(store, self, until_idle=True)

    async def drain(self, within: float) -> bool:
        """Do pending extraction at once, in the stores used in this event loop; return true if all was done in time.

        Undone work stays durable and due.
        """
        return await drain(within, [worker.store for worker in self._here()])

    @asynccontextmanager
    async def running(
        self, store: BaseStore, checkpointer: BaseCheckpointSaver[Any] | None = None
    ) -> AsyncIterator[None]:
        """Run a worker for the length of a context; none if no agent has memory."""
        if not self.runners:
            yield
            return
        worker = Worker(store, self, checkpointer=checkpointer)
        try:
            yield
        finally:
            await worker.close()
