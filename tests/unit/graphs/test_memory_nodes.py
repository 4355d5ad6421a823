"""What makes `react` remember, and what happens when it cannot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import ModelCallError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.merging.skill_life import is_withheld
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from tests.contract.conftest import Graph, memory_store
from tests.contract.test_loop import ANN, thread, weather
from tests.support.scripted_model import ScriptedModel, calls


class BrokenStore(InMemoryStore):
    """A store that fails from the moment it is told to."""

    broken = False

    async def abatch(self, ops: Any) -> Any:
        if self.broken:
            raise ConnectionError("the database is down")
        return await super().abatch(ops)


def build(
    model: ScriptedModel, store: InMemoryStore | None, *, small: Any = None, tools: Any = (weather,), **policy: Any
) -> Graph:
    agent = resolve_agent(
        AgentConfig(
            name="tester",
            manager="react_mem",
            system_prompt="You help.",
            memory=MemoryPolicy(extraction={"mode": "inline"}).model_copy(update=policy),
        ),
        model=model,
        small_model=small or ScriptedModel(script=["no facts here"]),
        tools=tools,
    )
    return build_agent(agent, store=store, checkpointer=InMemorySaver())


async def events(graph: Graph, text: str | HumanMessage, name: str = "1", context: Any = ANN) -> list[dict[str, Any]]:
    said = text if isinstance(text, HumanMessage) else ("user", text)
    stream = graph.astream({"messages": [said]}, thread(name), context=context, stream_mode="custom")
    return [event async for event in stream]


def memory_events(seen: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["operation"], event["status"]) for event in seen if event["type"] == "memory"]


async def test_what_one_conversation_said_is_in_the_prompt_of_the_next() -> None:
    model = ScriptedModel(script=["noted", "it is Mimi"])
    graph = build(model, memory_store())
    await events(graph, "My cat is called Mimi.")
    await events(graph, "What is my cat called?", name="2")
    system = model.prompts[1][0]
    assert isinstance(system, SystemMessage)
    assert "My cat is called Mimi." in system.text
    assert system.text.startswith("You help.")
    assert [m.text for m in model.prompts[1][1:]] == ["What is my cat called?"]


async def test_without_a_user_memory_is_off_and_says_so() -> None:
    store = memory_store()
    seen = await events(build(ScriptedModel(script=["hello"]), store), "My cat is called Mimi.", context=None)
    assert memory_events(seen) == [("retrieve", "off")]
    assert "no user is named" in seen[0]["message"]
    assert await store.asearch(("memory",)) == []


async def test_without_a_store_it_answers_and_says_so() -> None:
    seen = await events(build(ScriptedModel(script=["hello"]), None), "hi")
    assert memory_events(seen) == [("retrieve", "off")]
    assert seen[-1] == {"type": "answer", "text": "hello"}


async def test_a_failing_store_costs_the_memory_not_the_answer() -> None:
    store = BrokenStore()
    store.broken = True
    seen = await events(build(ScriptedModel(script=["hello"]), store), "hi")
    assert {"type": "answer", "text": "hello"} in seen
    assert memory_events(seen) == [("retrieve", "degraded"), ("extract", "degraded")]
    assert "the database is down" in seen[0]["message"]


class HangingStore(InMemoryStore):
    """A store that never answers."""

    async def abatch(self, ops: Any) -> Any:
        await asyncio.Event().wait()


async def test_a_crowd_waits_no_longer_for_a_store_that_hangs_than_one_user() -> None:
    recall = MemoryPolicy().recall.model_copy(update={"timeout": 0.5})
    extraction = MemoryPolicy().extraction.model_copy(update={"mode": "off"})
    graph = build(ScriptedModel(script=["hello"] * 10), HangingStore(), recall=recall, extraction=extraction)
    users = (events(graph, "hi", str(number), {"user_id": f"user-{number}"}) for number in range(10))
    async with asyncio.timeout(30):
        told = {event for seen in await asyncio.gather(*users) for event in memory_events(seen)}
    assert told == {("retrieve", "degraded"), ("extract", "degraded")}


async def test_what_a_failing_store_missed_is_stored_with_the_next_turn() -> None:
    store = BrokenStore()
    graph = build(ScriptedModel(script=["hello"]), store)
    store.broken = True
    await events(graph, "My cat is called Mimi.")
    store.broken = False
    await events(graph, "And my dog is Rex.")
    said = await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=100)
    assert sorted(item.value["content"] for item in said if item.value["role"] == "user") == [
        "And my dog is Rex.",
        "My cat is called Mimi.",
    ]


async def test_a_failing_extraction_keeps_the_words_and_tries_again_with_the_next_turn() -> None:
    store = memory_store()
    small = ScriptedModel(script=[TimeoutError("too slow")])
    graph = build(ScriptedModel(script=["hello"]), store, small=small)
    seen = await events(graph, "My cat is called Mimi.")
    assert memory_events(seen)[-1] == ("extract", "degraded")
    facts = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC))
    assert [(item.value["text"], item.value["verbatim"]) for item in facts] == [("My cat is called Mimi.", True)]
    [waiting] = await MemoryFacade(store).pending("ann")
    assert (waiting["attempts"], bool(waiting["last_error"])) == (1, True)


async def test_extraction_off_stores_the_words_and_asks_no_model() -> None:
    store = memory_store()
    small = ScriptedModel(script=["never asked"])
    await events(
        build(ScriptedModel(script=["hello"]), store, small=small, extraction={"mode": "off"}), "My cat is Mimi."
    )
    assert await drain(5)
    assert small.prompts == []
    assert len(await store.asearch(scope_namespace("ann", MemoryScope.DIALOG))) == 2
    assert await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC)) == []
    assert await MemoryFacade(store).pending("ann") == []


async def test_the_beginning_of_the_prompt_stays_the_same_within_an_invocation() -> None:
    model = ScriptedModel(script=["noted", calls(("weather", {"city": "Huế"})), "sunny"])
    graph = build(model, memory_store())
    await events(graph, "My cat is called Mimi.")
    await events(graph, "How is the weather for Mimi?", name="2")
    assert model.prompts[2][: len(model.prompts[1])] == model.prompts[1]


async def test_a_long_thread_costs_the_last_turns_only_and_loses_no_tool_call() -> None:
    model = ScriptedModel(script=["ok"])
    graph = build(model, memory_store(), context={"dialog_turns": 3})
    for number in range(10):
        await events(graph, f"message {number}")
    assert [m.text for m in model.prompts[-1] if m.type == "human"] == ["message 7", "message 8", "message 9"]


@pytest.mark.parametrize("context", [None, ANN])
async def test_without_recall_the_prompt_has_the_whole_thread_as_with_react(context: Any) -> None:
    model, store = ScriptedModel(script=["ok"]), BrokenStore()
    graph = build(model, store, context={"dialog_turns": 3})
    store.broken = True
    for number in range(6):
        await events(graph, f"message {number}", context=context)
    assert len([m for m in model.prompts[-1] if m.type == "human"]) == 6


async def test_the_notes_of_a_turn_that_failed_are_none_of_the_next() -> None:
    store = memory_store()
    model = ScriptedModel(script=[calls(("weather", {"city": "Huế"})), TimeoutError("too slow"), "hello"])
    graph = build(model, store, learning={"experience": True})
    with pytest.raises(ModelCallError):
        await events(graph, "How is Huế?")
    assert (await graph.checkpointer.aget(thread()))["channel_values"]["working_memory"]["steps"]  # type: ignore
    await events(graph, "Hi.")
    assert (await graph.checkpointer.aget(thread()))["channel_values"]["working_memory"] is None  # type: ignore
    assert await store.asearch(scope_namespace("ann", MemoryScope.EXPERIENCE)) == []


@pytest.mark.parametrize("write", [True, False])
async def test_the_steps_of_a_turn_are_logged_as_experience_if_the_policy_says_so(write: bool) -> None:
    store = memory_store()
    graph = build(
        ScriptedModel(script=[calls(("weather", {"city": "Huế"})), "sunny"]), store, learning={"experience": write}
    )
    await events(graph, "How is Huế?")
    logged = await store.asearch(scope_namespace("ann", MemoryScope.EXPERIENCE))
    seen = [(item.value["tool"], item.value["output"], item.value["success"]) for item in logged]
    assert seen == ([("weather", "sunny in Huế", True)] if write else [])


async def test_a_turn_in_ten_does_without_a_learnt_skill_and_is_counted_for_it() -> None:
    store = memory_store()
    sop = {"use_when": "how is the weather in Huế", "tool_sops": [{"tool": "weather", "action": "with the city"}]}
    memory = MemoryFacade(store)
    skill = await memory.procedural.add_skill({**sop, "source_ids": ["a turn"]}, user_id="ann")
    model = ScriptedModel(script=[calls(("weather", {"city": "Huế"})), "sunny"] * 2)
    graph = build(model, store, learning=MemoryPolicy(learning={"skills": "traces"}).learning)
    shown, away = (
        next(
            said
            for said in (HumanMessage("How is the weather in Huế?", id=str(number)) for number in range(100))
            if is_withheld(skill, message_record_id("1", said)) is out
        )
        for out in (False, True)
    )
    prompts = []
    for said in (shown, away):
        await graph.ainvoke({"messages": [said]}, thread("1"), context=ANN)
        prompts.append(model.prompts[2 * len(prompts)][0].text)
    assert ["with the city" in prompt for prompt in prompts] == [True, False]
    [after] = (await memory.records("ann", MemoryScope.PROCEDURAL, [skill.id])).values()
    assert [after[side]["turns"] for side in ("shown", "withheld")] == [1, 1]
