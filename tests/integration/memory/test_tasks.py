"""Tasks are kept in the state scope of any store, and leave with what they came from."""

from __future__ import annotations

from dataclasses import replace

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.reflect.task_store import Step, TaskGraph, TaskKeeper

TRIP = TaskGraph(
    "A trip to Hue", (Step("1", "Find a flight", tool="search"), Step("2", "Book it", ("1",), "failed", "no"))
)


def keeper(memory: MemoryFacade, session: str = "monday", user: str = "ann", agent: str = "helper") -> TaskKeeper:
    return TaskKeeper(memory.state, user, session, agent)


async def test_a_task_is_found_by_its_owner_until_it_is_over(memory: MemoryFacade) -> None:
    task = replace(TRIP, id="t1")
    records = await keeper(memory).save(task, "m1", new=True)
    assert await keeper(memory, "tuesday").find("continue where we stopped") == task
    assert await keeper(memory, "tuesday").find("what is new?") is None
    assert await keeper(memory, user="bob").find("continue") is None
    assert await keeper(memory, agent="other").find("continue") is None
    stored = await memory.state.task_steps("t1", user_id="ann", session_id="monday")
    assert {step.name: step.depends_on for step in stored} == {"1": (), "2": (records["1"],)}
    over = replace(TRIP.marked("1", "done").marked("2", "done"), id="t1")
    await keeper(memory, "tuesday").save(over, "m2")
    assert await keeper(memory, "tuesday").find("continue") is None
    assert await keeper(memory, "tuesday").load("t1") == over


async def test_what_another_conversation_added_leaves_with_it(memory: MemoryFacade) -> None:
    await keeper(memory).save(replace(TRIP, id="t1"), "m1", new=True)
    more = TaskGraph(TRIP.goal, (TRIP.steps[0], TRIP.steps[1], Step("3", "Pack", ("2",))))
    await keeper(memory, "tuesday").save(replace(more.marked("1", "done"), id="t1"), "m2")
    await memory.delete_session("ann", "tuesday")
    assert await keeper(memory).load("t1") == replace(TRIP.marked("1", "done"), id="t1")
    await keeper(memory, "tuesday").save(replace(more, id="t1"), "m2")
    await memory.delete_session("ann", "monday")
    assert await keeper(memory).load("t1") is None
    # once forgotten, it is not kept anew by who still has it in hand
    assert await keeper(memory).save(replace(TRIP, id="t1"), "m1") == {}
    assert await memory.store.asearch(memory.state.namespace("ann"), limit=10) == []


async def test_a_task_survives_export_and_import(memory: MemoryFacade) -> None:
    task = replace(TRIP, id="t1")
    await keeper(memory).save(task, "m1", new=True)
    lines = [line async for line in memory.export_user("ann")]
    await memory.forget_user("ann")
    assert await keeper(memory).load("t1") is None
    await memory.import_user("ann", lines)
    assert await keeper(memory).load("t1") == task
