"""Rounds of retention: one process makes each, as often as the policies ask for, and a crash leaves it to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.maintenance import runner as runner
from react_mem.memory.maintenance.runner import RetentionRounds, every
from react_mem.memory.maintenance.worker import Worker
from react_mem.memory.model.operations import put, write
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.model.records import Message, now
from react_mem.memory.rights import retention
from react_mem.memory.store.capabilities import everything

KEPT = {"tester": RetentionSettings(dialog="1d")}


class Keeping:
    """Agents that keep what they are told to."""

    def __init__(self, kept: dict[str, RetentionSettings]) -> None:
        self.kept = kept

    def names(self) -> Sequence[str]:
        return list(self.kept)

    async def retention(self, agent: str) -> RetentionSettings:
        return self.kept[agent]

    async def get(self, agent: str) -> Any:
        return None


class Clock:
    def __init__(self) -> None:
        self.at = now().timestamp()

    def __call__(self) -> float:
        return self.at


async def say(store: InMemoryStore, user: str, id_: str = "m") -> None:
    said = Message(
        id=id_,
        text="Hi",
        content="Hi",
        role="user",
        turn=0,
        created_at=now() - timedelta(days=2),
        session_id="1",
        agent_id="tester",
    )
    await write(store, [put(user, said)])


def rounds(store: InMemoryStore, name: str = "one", clock: Any = None) -> RetentionRounds:
    return RetentionRounds(store, Keeping(KEPT), None, name, clock or Clock())


async def test_a_round_takes_everybody_and_is_made_once_an_interval() -> None:
    store, clock = InMemoryStore(), Clock()
    for user in ("ann", "bob"):
        await say(store, user)
    one, other = rounds(store, "one", clock), rounds(store, "other", clock)
    report = await one.make(KEPT)
    assert report is not None
    assert (report.users, report.removed) == (2, {"message": 2})
    await say(store, "ann")
    assert await other.make(KEPT) is None
    clock.at += 3599
    assert await other.make(KEPT) is None
    clock.at += 2
    again = await other.make(KEPT)
    assert again is not None
    assert again.total == 1


async def test_one_users_failure_keeps_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    for user in ("ann", "bob"):
        await say(store, user)
    looked = retention.holds_on

    async def fails(of: Any, user_id: str) -> Any:
        if user_id == "ann":
            raise ValueError("I have diabetes")
        return await looked(of, user_id)

    monkeypatch.setattr(retention, "holds_on", fails)
    report = await rounds(store).make(KEPT)
    assert report is not None
    assert report.total == 1
    assert report.problems == ("one user's memory could not be worked on: ValueError",)
    assert not await everything(store, "bob")


async def test_what_a_dead_process_has_begun_is_taken_over_when_its_lease_runs_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, clock, begun = InMemoryStore(), Clock(), asyncio.Event()
    await say(store, "ann")

    async def hangs(*_: Any, **__: Any) -> Any:
        begun.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(runner, "retain_all", hangs)
        dead = asyncio.create_task(rounds(store, "dead", clock).make(KEPT))
        await begun.wait()
    assert await rounds(store, "next", clock).make(KEPT) is None
    clock.at += 31
    assert await rounds(store, "next", clock).make(KEPT) is not None
    dead.cancel()
    await asyncio.wait([dead])
    assert await rounds(store, "next", clock).make(KEPT) is None


async def test_a_round_that_is_broken_off_is_due_again() -> None:
    store, clock = InMemoryStore(), Clock()
    await say(store, "ann")
    task = asyncio.create_task(rounds(store, "one", clock).make(KEPT))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert await rounds(store, "two", clock).make(KEPT) is not None


async def test_a_worker_makes_its_rounds_and_one_that_keeps_all_asks_for_nothing() -> None:
    store = InMemoryStore()
    await say(store, "ann")
    worker = Worker(store, Keeping({"tester": RetentionSettings()}), poll_seconds=3600)
    await asyncio.wait(worker._rounds, timeout=5)
    assert all(task.done() for task in worker._rounds)
    await worker.close(5)
    assert await everything(store, "ann")
    worker = Worker(store, Keeping(KEPT), poll_seconds=3600)
    async with asyncio.timeout(5):
        while await everything(store, "ann"):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
    await worker.close(5)
    assert all(task.done() for task in worker._rounds)


@pytest.mark.parametrize(
    ("kept", "hours"),
    [({"dialog": "1h"}, 1), ({"dialog": "4d", "semantic": "1y"}, 4), ({"dialog": "1y"}, 24), ({"max_memories": 5}, 24)],
)
def test_the_shortest_time_says_how_often(kept: dict[str, Any], hours: int) -> None:
    assert every(RetentionSettings.model_validate(kept)) == timedelta(hours=hours)
