"""A request of several steps: planned, worked on, interrupted, and gone on with in another conversation."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.reflect.task_planning import proven
from tests.contract.conftest import Graph, memory_store
from tests.contract.test_loop import ANN, thread
from tests.support.labels import episode, proposal
from tests.support.scripted_model import ScriptedModel, calls
from tests.unit.graphs.test_memory_nodes import build, events

TRIP: dict[str, Any] = {
    "goes_on": False,
    "goal": "A trip to Hue",
    "steps": [
        {"id": "1", "description": "Find a flight to Hue", "tool": "search", "depends_on": [], "status": "done"},
        {"id": "2", "description": "Book the flight", "tool": "book", "depends_on": ["1"], "status": "pending"},
        {"id": "3", "description": "Tell the user", "tool": "", "depends_on": ["2"], "status": "pending"},
    ],
}
NOTHING = {"goes_on": False, "goal": "", "steps": []}


@tool
def search(query: str) -> str:
    """Search for flights."""
    return "VN123 at 9:00"


@tool
def book(flight: str) -> str:
    """Book a flight."""
    return "booked"


def planner(*plans: Any) -> ScriptedModel:
    return ScriptedModel(script=[plan if isinstance(plan, str | Exception) else json.dumps(plan) for plan in plans])


def agent(model: ScriptedModel, small: ScriptedModel, store: InMemoryStore | None, **policy: Any) -> Graph:
    policy = {"tasks": {"enabled": True}, "extraction": {"mode": "off"}, **policy}
    return build(model, store, small=small, tools=(search, book), **policy)


def tasks(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in seen if event["type"] == "task"]


def statuses(event: dict[str, Any]) -> list[str]:
    return [step["status"] for step in event["steps"]]


async def kept(store: InMemoryStore, kind: str = "task_step") -> list[dict[str, Any]]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.STATE), filter={"kind": kind}, limit=100)
    return sorted((item.value for item in found), key=lambda value: str(value.get("name", "")))


async def begun(store: InMemoryStore) -> None:
    """Have a conversation `1` in which a flight was found, and nothing booked."""
    model = ScriptedModel(script=[calls(("search", {"query": "flight Hue"})), "There is VN123. Shall I book it?"])
    await events(agent(model, planner(TRIP), store), "Plan a trip to Hue: find a flight and book it")


async def test_the_task_is_in_the_prompt_and_moves_on_with_the_tools() -> None:
    store, model = (
        memory_store(),
        ScriptedModel(script=[calls(("search", {"query": "Hue"})), calls(("book", {"flight": "VN123"})), "All done."]),
    )
    small = planner(TRIP)
    seen = await events(agent(model, small, store), "Plan a trip to Hue: find a flight and book it")
    asked = model.prompts[0][-1].text
    assert "Goal: A trip to Hue\n1. [now] Find a flight to Hue\n(2 more" in asked
    # the prompt grows at its end only
    assert [prompt[1].text for prompt in model.prompts] == [asked] * 3
    assert [statuses(event) for event in tasks(seen)] == [
        ["pending", "pending", "pending"],
        ["done", "pending", "pending"],
        ["done", "done", "pending"],
    ]
    # that an answer came says nothing of a step that no tool takes
    assert [step["status"] for step in await kept(store)] == ["done", "done", "pending"]
    assert [task["open"] for task in await kept(store, "task")] == [True]
    assert len(small.prompts) == 1


@pytest.mark.parametrize("request_", ["Let's continue where we stopped", "Tiếp tục việc đang dở nhé"])
async def test_another_conversation_goes_on_with_it_and_asks_no_model(request_: str) -> None:
    store = memory_store()
    await begun(store)
    small = planner(AssertionError("asked"))
    model = ScriptedModel(script=[calls(("book", {"flight": "VN123"})), "Booked."])
    seen = await events(agent(model, small, store), request_, name="2")
    assert "1. [done] Find a flight to Hue\n2. [now] Book the flight (after 1)" in model.prompts[0][-1].text
    assert (small.prompts, [task["open"] for task in await kept(store, "task")]) == ([], [True])
    assert statuses(tasks(seen)[-1]) == ["done", "done", "pending"]


async def test_what_may_prove_a_step_is_read_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noting(*args: Any) -> Any:
        threads.append(threading.get_ident())
        return proven(*args)

    monkeypatch.setattr("react_mem.memory.reflect.task_planning.proven", noting)
    await begun(memory_store())
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


@pytest.mark.parametrize("goes_on", [True, False])
async def test_another_task_does_not_become_part_of_an_unfinished_one(goes_on: bool) -> None:
    store = memory_store()
    await begun(store)
    steps = [{"id": "1", "description": description, "status": "pending"} for description in ("Buy flour", "Bake")]
    small = planner({"goes_on": goes_on, "goal": "A cake", "steps": steps})
    await events(agent(ScriptedModel(script=["Flour first."]), small, store), "Help me bake a cake", name="2")
    assert sorted(task["text"] for task in await kept(store, "task")) == ["A cake", "A trip to Hue"]


async def test_it_is_nobody_elses_and_not_gone_on_with_unasked() -> None:
    store = memory_store()
    await begun(store)
    for request, context in (("Let's continue where we stopped", {"user_id": "bob"}), ("Tell me a joke", ANN)):
        model = ScriptedModel(script=["Hm."])
        await events(agent(model, planner(NOTHING), store), request, name="2", context=context)
        assert "<task>" not in str(model.prompts)


async def test_talk_in_between_leaves_it_for_later() -> None:
    store = memory_store()
    steps = [{**step, "status": "pending"} for step in TRIP["steps"]]
    plan = planner(TRIP, NOTHING, {**TRIP, "goes_on": True, "steps": steps})
    model = ScriptedModel(script=["Which day?", "You are welcome.", calls(("search", {"query": "Hue"})), "VN123."])
    graph = agent(model, plan, store)
    await events(graph, "Plan a trip to Hue: find a flight and book it")
    await events(graph, "Thanks!")
    assert "<task>" not in str(model.prompts[1])
    await events(graph, "On Friday")
    assert "[now] Find a flight to Hue" in model.prompts[2][-1].text
    assert [step["status"] for step in await kept(store)] == ["done", "pending", "pending"]
    assert len(await kept(store, "task")) == 1


@pytest.mark.parametrize("plan", ["I cannot do that.", '{"steps": 3}', ConnectionError("no route")])
async def test_without_a_plan_the_turn_goes_on_and_says_so(plan: Any) -> None:
    store, model = memory_store(), ScriptedModel(script=["Hello."])
    seen = await events(agent(model, planner(plan), store), "Plan a trip to Hue")
    assert [event["status"] for event in tasks(seen)] == ["degraded"]
    assert {"type": "answer", "text": "Hello."} in seen
    assert (await kept(store), await kept(store, "task")) == ([], [])


async def test_the_plan_is_hidden_from_the_stream() -> None:
    graph = agent(ScriptedModel(script=["Hello."]), planner(TRIP), memory_store())
    said = graph.astream({"messages": [("user", "Plan a trip")]}, thread("1"), context=ANN, stream_mode="messages")
    assert "goal" not in "".join([chunk.text async for chunk, _ in said])


async def test_it_falls_with_the_conversation_that_set_it() -> None:
    store = memory_store()
    await begun(store)
    more = {
        **TRIP,
        "goes_on": True,
        "steps": [{"id": "9", "description": "Pack", "depends_on": [], "status": "pending"}],
    }
    graph = agent(ScriptedModel(script=["Shall I?"]), planner(more), store)
    await events(graph, "Go on with the trip to Hue, and remind me to pack", name="2")
    assert [step["text"] for step in await kept(store)] == [*(s["description"] for s in TRIP["steps"]), "Pack"]
    await MemoryFacade(store).delete_session("ann", "2")
    assert [step["name"] for step in await kept(store)] == ["1", "2", "3"]
    # what the thread still knows of it does not bring it back
    await events(agent(ScriptedModel(script=["Hm?"]), planner(NOTHING), store), "continue where we stopped", name="3")
    await MemoryFacade(store).delete_session("ann", "1")
    assert (await kept(store), await kept(store, "task")) == ([], [])


async def test_what_was_forgotten_stays_so_in_the_middle_of_a_turn() -> None:
    store = memory_store()

    @tool("search")
    async def forgetting(query: str) -> str:
        """Search, while the user has everything forgotten."""
        await MemoryFacade(store).forget_user("ann")
        return "VN123"

    model = ScriptedModel(script=[calls(("search", {"query": "Hue"})), "VN123."])
    graph = build(
        model, store, small=planner(TRIP), tools=(forgetting, book), tasks={"enabled": True}, extraction={"mode": "off"}
    )
    await events(graph, "Plan a trip to Hue")
    assert (await kept(store), await kept(store, "task")) == ([], [])


async def test_a_milestone_is_linked_to_the_steps_that_were_taken() -> None:
    store = memory_store()
    story = "The user is flying to Hue. VN123 was found."
    drawn = proposal(episode=episode("A trip to Hue", outcome=story, milestone="Flight VN123 found"))
    model = ScriptedModel(script=[calls(("search", {"query": "Hue"})), "VN123. Shall I book it?"])
    await events(agent(model, planner(TRIP, drawn), store, extraction={"mode": "inline"}), "Plan a trip to Hue")
    [told] = [item.value for item in await store.asearch(scope_namespace("ann", MemoryScope.EPISODIC))]
    assert (told["level"], told["milestone_title"]) == ("milestone", "Flight VN123 found")
    assert told["text"] == f"Flight VN123 found: {story}\nPlan a trip to Hue"
    assert told["linked_steps"] == [(await kept(store))[0]["id"]]
