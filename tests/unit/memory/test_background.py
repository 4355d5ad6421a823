"""Background work: after a moment of quiet, one at a time, finished before the end."""

from __future__ import annotations

import asyncio

from react_mem.memory.work.background import Background


async def test_work_asked_for_often_is_done_once_when_it_is_quiet() -> None:
    work, done = Background(), []

    async def job() -> None:
        done.append(1)

    for _ in range(5):
        work.schedule("a", 0.01, job)
    assert await work.drain(5)
    assert done == [1]


async def test_work_is_not_cut_short_and_runs_again_for_what_is_new() -> None:
    work, started, go, done = Background(), asyncio.Event(), asyncio.Event(), []

    async def job() -> None:
        started.set()
        await go.wait()
        done.append(1)

    work.schedule("a", 0, job)
    await started.wait()
    work.schedule("a", 0, job)
    go.set()
    assert await work.drain(5)
    assert done == [1, 1]


async def test_drain_does_not_wait_for_quiet() -> None:
    work, done = Background(), []

    async def job() -> None:
        done.append(1)

    work.schedule("a", 3600, job)
    assert await work.drain(5)
    assert done == [1]


async def test_drain_gives_up_on_what_takes_too_long() -> None:
    work = Background()

    async def job() -> None:
        await asyncio.Event().wait()

    work.schedule("a", 0, job)
    assert not await work.drain(0.05)


async def test_a_failure_stops_nothing_else() -> None:
    work, done = Background(), []

    async def bad() -> None:
        raise RuntimeError("no")

    async def good() -> None:
        done.append(1)

    work.schedule("a", 0, bad)
    work.schedule("b", 0, good)
    assert await work.drain(5)
    assert done == [1]
