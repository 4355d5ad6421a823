"""Preparations of this process, such as vectors of its tools: they start after a moment of quiet, one at a time a key.

They are lost with the process, which makes them anew. What must not be lost is `memory.work`.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from react_mem.memory import telemetry
from react_mem.memory.llm.causes import cause_of, trace_of

log = logging.getLogger(__name__)

Work = Callable[[], Awaitable[object]]


@dataclass
class _Job:
    work: Work
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    again: bool = False
    task: asyncio.Task[None] | None = None


class Background:
    """The background work of one event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}

    def schedule(self, key: str, delay: float, work: Work) -> None:
        """Do some work once `delay` seconds have passed without being asked again; what runs already is not cut short.

        Args:
            key: What the work is about; one piece of work a key at a time.
            delay: Seconds of quiet.
            work: The work; an error is logged, it has nobody to go to.
        """
        job = self._jobs.get(key)
        if job is not None and job.task is not None and not job.task.done():
            # still waiting: wait anew; at work already: once more afterwards, for what is new
            job.work, job.again = work, True
            return
        job = self._jobs[key] = _Job(work)
        job.task = asyncio.create_task(self._run(key, delay, job), name=f"memory:{key}")

    async def drain(self, within: float) -> bool:
        """Finish what is waiting, without waiting for quiet.

        Args:
            within: Seconds to wait at most.

        Returns:
            Whether everything was finished; what was not stays durable.
        """
        tasks = []
        for job in self._jobs.values():
            job.hurry.set()
            if job.task is not None:
                tasks.append(job.task)
        if not tasks:
            return True
        _, unfinished = await asyncio.wait(tasks, timeout=within)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        return not unfinished

    async def _run(self, key: str, delay: float, job: _Job) -> None:
        try:
            while True:
                job.again = False
                await _quiet(job.hurry, delay)
                if job.again and not job.hurry.is_set():
                    continue
                job.again = False
                try:
                    with telemetry.span("background"):
                        await job.work()
                except Exception as error:
                    log.error(
                        "background work on %s failed; it is picked up again later: %s\n%s",
                        key,
                        cause_of(error),
                        trace_of(error),
                    )
                if not job.again:
                    return
        finally:
            if self._jobs.get(key) is job:
                del self._jobs[key]


async def _quiet(hurry: asyncio.Event, delay: float) -> None:
    try:
        async with asyncio.timeout(delay):
            await hurry.wait()
    except TimeoutError:
        return


_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Background] = weakref.WeakKeyDictionary()


def background() -> Background:
    """Return the background work of the running event loop."""
    return _loops.setdefault(asyncio.get_running_loop(), Background())
