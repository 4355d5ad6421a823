"""The worker: what it begins, what it gives back, and what does not stop it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from langgraph.store.base import Op, Result, SearchOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.maintenance import worker as module
from react_mem.memory.maintenance.runner import Outcome
from react_mem.memory.maintenance.worker import Worker
from react_mem.memory.model.namespaces import work_namespace
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.store.priority import Front
from react_mem.memory.work.items import Work, WorkQueue, announce, put_work


class Runner:
    """Does what the test says, and notes what was begun."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str]] = []
        self.at_work = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.doing: list[Exception | Outcome] = []

    async def run(self, store: Any, user_id: str, work: Work) -> Outcome:
        self.begun.append((user_id, work.session))
        self.at_work.set()
        await self.go_on.wait()
        done = self.doing.pop(0) if self.doing else Outcome()
        if isinstance(done, Exception):
            raise done
        return done

    def names(self) -> Sequence[str]:
        return ["tester"]

    async def retention(self, agent: str) -> RetentionSettings:
        return RetentionSettings()

    async def get(self, agent: str) -> Any:
        return self


class Flaky(InMemoryStore):
    """A store that cannot be used for a while, and says when it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self.searches = 0

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        self.searches += sum(isinstance(op, SearchOp) for op in ops)
        if self.failures:
            self.failures -= 1
            raise ValueError("select secret from users")
        return await super().abatch(ops)


def later(session: str = "1", seconds: float = 3600, kind: Any = "extract") -> Work:
    return Work(
        kind=kind, agent="tester", session=session, due_at=WorkQueue(InMemoryStore()).now() + int(seconds * 1000)
    )


async def enqueue(store: InMemoryStore, user: str, work: Work) -> None:
    await store.abatch([put_work(user, work)])
    announce(user, [work])


async def items(store: InMemoryStore, user: str) -> list[dict[str, Any]]:
    return [item.value for item in await store.asearch(work_namespace(user))]


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


async def test_work_of_this_process_is_begun_when_it_is_due_and_done_once(store: InMemoryStore) -> None:
    # it looks for the work of others once an hour: what it does, it was woken for
    runner = Runner()
    workers = [Worker(store, runner, poll_seconds=3600) for _ in range(2)]
    await enqueue(store, "ann", later(seconds=0))
    await runner.at_work.wait()
    assert all(await asyncio.gather(*(worker.drain(5) for worker in workers)))
    assert runner.begun == [("ann", "1")]
    assert await items(store, "ann") == []
    for worker in workers:
        await worker.close(5)


async def test_draining_does_not_wait_for_quiet_and_leaves_what_is_for_later(store: InMemoryStore) -> None:
    runner = Runner()
    worker = Worker(store, runner)
    await enqueue(store, "ann", later())
    await enqueue(store, "ann", later(kind="maintain"))
    assert len(worker) == 2
    assert await worker.drain(5)
    assert len(worker) == 1
    assert runner.begun == [("ann", "1")]
    assert [value["kind"] for value in await items(store, "ann")] == ["maintain"]
    await worker.close(5)


async def test_what_hangs_is_given_back_when_the_worker_is_closed(store: InMemoryStore) -> None:
    runner, queue = Runner(), WorkQueue(store)
    runner.go_on.clear()
    worker = Worker(store, runner)
    await enqueue(store, "ann", later())
    assert not await worker.drain(0.01)
    await runner.at_work.wait()
    await worker.close(0)
    [value] = await items(store, "ann")
    assert (value["lease_by"], value["attempts"]) == ("", 0)
    # the next one takes it over at once
    other = Runner()
    next_one = Worker(store, other, queue=queue)
    await other.at_work.wait()
    assert await next_one.drain(5)
    await next_one.close(5)
    assert await items(store, "ann") == []


async def test_the_work_of_a_run_is_not_part_of_it(store: InMemoryStore) -> None:
    # what the model says behind a turn would else be streamed into the next one, and traced as a part of it
    inherited: contextvars.ContextVar[str] = contextvars.ContextVar("inherited", default="")
    seen: list[str] = []

    class Looking(Runner):
        async def run(self, store: Any, user_id: str, work: Work) -> Outcome:
            seen.append(inherited.get())
            return await super().run(store, user_id, work)

    inherited.set("the run")
    runner = Looking()
    worker = Worker(store, runner)
    await enqueue(store, "ann", later(seconds=0))
    await runner.at_work.wait()
    await worker.close(5)
    assert seen == [""]


async def test_an_owners_work_is_done_one_by_one_and_keeps_nobody_else_waiting(store: InMemoryStore) -> None:
    runner = Runner()
    runner.go_on.clear()
    worker = Worker(store, runner, concurrency=2)
    for session in "123":
        await enqueue(store, "ann", later(session, 0))
    await enqueue(store, "bob", later(seconds=0))
    draining = asyncio.create_task(worker.drain(20))
    while len(runner.begun) < 2:
        runner.at_work.clear()
        await runner.at_work.wait()
    assert sorted(user for user, _ in runner.begun) == ["ann", "bob"]
    runner.go_on.set()
    assert await draining
    assert sorted(runner.begun) == [("ann", "1"), ("ann", "2"), ("ann", "3"), ("bob", "1")]
    await worker.close(5)


async def test_what_fails_is_due_again_and_its_words_are_nowhere(
    store: InMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    runner = Runner()
    runner.doing = [ValueError("I am allergic to peanuts")]
    worker = Worker(store, runner)
    await enqueue(store, "ann", later())
    await enqueue(store, "bob", later())
    with caplog.at_level(logging.INFO):
        assert await worker.drain(5)
    [value] = await items(store, "ann")
    assert (value["lease_by"], value["attempts"], value["last_error"]) == ("", 1, "ValueError")
    assert await items(store, "bob") == []
    assert "peanuts" not in caplog.text
    await worker.close(5)


async def test_a_store_that_fails_is_told_of_once_and_used_again_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, runner = Flaky(), Runner()
    await store.abatch([put_work("ann", later(seconds=-1))])
    store.failures = 10
    with caplog.at_level(logging.INFO):
        worker = Worker(store, runner, poll_seconds=0.001)
        await runner.at_work.wait()
        assert await worker.drain(5)
        await worker.close(5)
    assert runner.begun == [("ann", "1")]
    told = [record.getMessage() for record in caplog.records if "store cannot be used" in record.getMessage()]
    assert len(told) == 1
    assert "secret" not in caplog.text


async def test_a_worker_that_nobody_opened_ends_with_its_work(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0)
    runner = Runner()
    worker = Worker(store, runner, until_idle=True)
    await enqueue(store, "ann", later(seconds=0))
    async with asyncio.timeout(5):
        await asyncio.wait([worker._task])
    assert runner.begun == [("ann", "1")]
    assert not worker.is_running


async def test_nothing_is_begun_while_a_crowd_of_turns_is_served(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Runner()
    begun: list[int] = []

    class Crowded(Front):
        def room_for_work(self, items: int) -> int:
            begun.append(len(runner.begun))
            return 0 if len(begun) <= 3 else items

    monkeypatch.setattr(module, "FRONT", Crowded())
    worker = Worker(store, runner, poll_seconds=3600)
    await enqueue(store, "ann", later(seconds=0))
    await runner.at_work.wait()
    assert begun[:4] == [0, 0, 0, 0]
    assert runner.begun == [("ann", "1")]
    await worker.close(5)
