"""The queue of work: debounced, leased, taken over, and never lost, whoever does it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.namespaces import work_namespace
from react_mem.memory.work.items import Held, Work, WorkQueue, put_work

NAMES = ("tester",)


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds


def work(at: float, session: str = "1", agent: str = "tester", **fields: Any) -> Work:
    return Work(kind="extract", agent=agent, session=session, due_at=int(at * 1000), **fields)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def queue(store: InMemoryStore, clock: Clock) -> WorkQueue:
    return WorkQueue(store, clock, lease_seconds=30)


async def put(store: InMemoryStore, user: str, one: Work) -> None:
    await store.abatch([put_work(user, one)])


async def due(queue: WorkQueue) -> list[tuple[str, str]]:
    return [(held.user_id, held.work.session) for held in await queue.due(NAMES, 10)]


async def test_owners_and_conversations_with_similar_names_are_not_mixed_up(
    queue: WorkQueue, store: InMemoryStore, clock: Clock
) -> None:
    await put(store, "ann/b", work(clock(), "c"))
    await put(store, "ann", work(clock(), "b/c"))
    await put(store, "ann.b", work(clock(), "c"))
    assert sorted(await due(queue)) == [("ann", "b/c"), ("ann.b", "c"), ("ann/b", "c")]


async def test_a_lease_that_is_not_renewed_runs_out_and_one_that_is_does_not(
    queue: WorkQueue, store: InMemoryStore, clock: Clock
) -> None:
    await put(store, "ann", work(clock()))
    [held] = await queue.due(NAMES, 10)
    first = await queue.claim(held, "one")
    assert first is not None
    clock.seconds += 20
    renewed = await queue.renew(first)
    assert renewed is not None
    clock.seconds += 20
    assert await due(queue) == []
    clock.seconds += 11
    [left] = await queue.due(NAMES, 10)
    assert await queue.claim(left, "two") is not None
    assert await queue.renew(renewed) is None
    assert not await queue.finish(renewed)
    assert [item.value["lease_by"] for item in await store.asearch(work_namespace("ann"))] == ["two"]


async def test_work_of_an_agent_that_is_not_known_here_is_left_and_hides_nothing(
    queue: WorkQueue, store: InMemoryStore, clock: Clock
) -> None:
    for number in range(50):
        await put(store, f"u{number}", work(clock(), agent="elsewhere"))
    await put(store, "ann", work(clock()))
    assert await due(queue) == [("ann", "1")]


async def test_what_fails_is_tried_again_later_and_later(queue: WorkQueue, store: InMemoryStore, clock: Clock) -> None:
    await put(store, "ann", work(clock()))
    waits = []
    for _ in range(12):
        [held] = await queue.due(NAMES, 10)
        claimed = await queue.claim(held, "one")
        assert claimed is not None
        after = await queue.failed(claimed, "ValueError")
        assert after is not None
        waits.append(after.work.due_at / 1000 - clock())
        clock.seconds = after.work.due_at / 1000
    assert waits == [15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]
    assert (await queue.due(NAMES, 10))[0].work.last_error == "ValueError"


STEPS = st.sampled_from(["put", "wait", "claim", "renew", "finish", "fail", "release", "crash"])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(STEPS, st.booleans()), max_size=40))
async def test_an_item_goes_only_when_it_was_begun_after_the_last_time_it_was_asked_for(
    steps: list[tuple[str, bool]],
) -> None:
    clock, store = Clock(), InMemoryStore()
    queue = WorkQueue(store, clock, lease_seconds=30)
    leases: dict[bool, Held] = {}
    begun: dict[bool, int] = {}
    last_asked = -1
    asked_for = False
    for number, (step, who) in enumerate(steps):
        lease = leases.get(who)
        if step == "put":
            await put(store, "ann", work(clock()))
            last_asked, asked_for = number, True
        elif step == "wait":
            clock.seconds += 16
        elif step == "claim":
            found = await queue.due(NAMES, 10)
            claimed = await queue.claim(found[0], f"worker {who}") if found else None
            if claimed is not None:
                leases[who], begun[who] = claimed, number
        elif lease is None:
            continue
        elif step == "renew":
            leases[who] = await queue.renew(lease) or lease
        elif step == "finish":
            if await queue.finish(leases.pop(who)):
                assert begun[who] > last_asked
                asked_for = False
        elif step == "fail":
            await queue.failed(leases.pop(who), "ValueError")
        elif step == "release":
            await queue.release(leases.pop(who))
        else:
            leases.pop(who)
    clock.seconds += 7200
    assert await due(queue) == ([("ann", "1")] if asked_for else [])
