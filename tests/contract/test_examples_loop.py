"""Flow of an agentic manager with memory: the start of an invocation, its loop, its end, the conversation's end."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import ResolvedAgent, build_agent, resolve_agent
from react_mem.memory import MemoryFacade, MemoryScope, telemetry
from react_mem.memory.turns import Identity
from react_mem.memory.work.items import Work
from tests.contract.conftest import build_manager, memory_store
from tests.contract.test_loop import ask, thread
from tests.support.labels import Says, episode, labelled, prompt_of
from tests.support.pricing import costing
from tests.support.scripted_model import ScriptedModel, calls

USAGE = {"input_tokens": 500_000, "output_tokens": 0, "total_tokens": 500_000}
GOAL = "book a table in Hue for Lan"


@tool
def search_restaurants(city: str) -> str:
    """Find restaurants."""
    return f"An Nhien in {city} has a table"


@tool
def book(restaurant: str) -> str:
    """Book a table."""
    return f"booked at {restaurant}"


TOOLS = [search_restaurants, book]


def priced(message: AIMessage) -> AIMessage:
    return message.model_copy(update={"usage_metadata": USAGE, "response_metadata": {"model_name": "toy"}})


def reads(messages: list[BaseMessage]) -> AIMessage:
    """Label what is shown, as a small model behind the turn."""
    told = episode(GOAL, "booked at An Nhien", steps=["search_restaurants", "book"])
    said = labelled(
        prompt_of(messages),
        Says("I am vegetarian"),
        Says("Book a table", "request"),
        episode=told,
        summary="User asked to book a table in Hue, agent searched and booked, result: booked at An Nhien.",
    )
    return AIMessage(json.dumps(said))


def manager(model: ScriptedModel, mode: str) -> ResolvedAgent:
    memory: dict[str, Any] = {
        "extraction": {"mode": mode},
        "context": {"compress_every": 2, "keep_raw_steps": 1},
    }
    config = AgentConfig(name="tester", manager="react_mem", memory=memory)
    return resolve_agent(config, model=model, small_model=ScriptedModel(script=[reads]), tools=TOOLS)


SCRIPT = [
    priced(calls(("search_restaurants", {"city": "Hue"}), text="I look first.")),
    priced(calls(("book", {"restaurant": "An Nhien"}), ("search_restaurants", {"city": "Da Nang"}))),
    "It is booked at An Nhien.",
]
REQUEST = "Book a table in Hue for Lan. I am vegetarian."


@pytest.mark.parametrize("mode", ["inline", "agent"])
async def test_an_invocation_from_its_context_to_the_end_of_the_conversation(
    monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("react_mem.memory.telemetry.emit.calc_price", costing(2))
    store, model = memory_store(), ScriptedModel(script=SCRIPT)
    agent, memory = manager(model, mode), MemoryFacade(store)
    graph = build_agent(agent, store=store, checkpointer=InMemorySaver())

    # core loop: thought, action and result are appended, older steps compressed, until there is an answer
    seen = []
    asked: dict[str, Any] = {"messages": [("user", REQUEST)]}
    async for part in graph.astream(asked, thread("monday"), context={"user_id": "ann"}, stream_mode="updates"):
        seen += part
    cycle = ["reason", "act", "update_working_memory"]
    assert [name for name in seen if name in {"retrieve_context", *cycle, "extract"}] == [
        "retrieve_context",
        *cycle,
        *cycle[:1],
        *cycle[1:2] * 2,
        *cycle[2:],
        "reason",
        "extract",
    ]
    assert "An Nhien in Hue has a table" in str(model.prompts[1])

    # its end: the steps with what they took, the summary, the episode, and facts where they are not the tools' alone
    steps = await memory.experience.latest_steps("ann", "tester", 10)
    assert [(step.tool, step.cost) for step in steps] == [
        ("search_restaurants", 1.0),
        ("book", 0.5),
        ("search_restaurants", 0.5),
    ]
    assert all(step.latency is not None and step.latency > 0 for step in steps)
    runner = agent.work.runners.get("tester")
    assert runner is not None
    await runner.turns(store, Identity("ann", "monday")).extract()
    assert (await graph.aget_state(thread("monday"))).values.get("working_memory") is None
    context = await memory.dialog.get_context("ann", "monday")
    assert context.summary is not None
    assert context.summary.text.startswith("User asked to book a table in Hue")
    told = [item.payload for item in await memory.list_records("ann", [MemoryScope.EPISODIC])]
    assert [(one["level"], one["goal"]) for one in told] == [("task", GOAL)]
    facts = [item.payload["text"] for item in await memory.list_records("ann", [MemoryScope.SEMANTIC])]
    assert facts == ([] if mode == "agent" else ["I am vegetarian."])

    # the conversation's end: it is an episode of its own
    await runner.run(store, "ann", Work(kind="conclude", agent="tester", session="monday", due_at=0))
    told = [item.payload for item in await memory.list_records("ann", [MemoryScope.EPISODIC])]
    assert sorted(one["level"] for one in told) == ["conversation", "task"]

    # the start of the next invocation, in another conversation: facts, episodes, what was said
    await ask(graph, "Where is the table in Hue for Lan?", "tuesday")
    prompt = str(model.prompts[-1][0].text)
    assert "booked at An Nhien" in prompt
    assert "I am vegetarian." in prompt


@pytest.mark.parametrize("kind", ["react_mem", "middleware"])
async def test_feedback_on_an_answer_reaches_what_stood_in_its_prompt(kind: str) -> None:
    store = memory_store()
    memory = MemoryFacade(store)
    fact = (await memory.semantic.add(["I like green tea."], user_id="ann", session_id="old", agent_id="tester"))[0]
    graph = build_manager(kind, ["Green tea, as always."], store=store)
    run = uuid4()
    asked: dict[str, Any] = {"messages": [("user", "Which green tea do I like?")]}
    heard = InMemoryMetricReader()
    with telemetry.listen(MeterProvider([heard])):
        await graph.ainvoke(asked, {**thread("talk"), "run_id": run}, context={"user_id": "ann"})
    measured = heard.get_metrics_data()
    assert measured is not None
    points = {one.name: one.data.data_points for one in measured.resource_metrics[0].scope_metrics[0].metrics}
    # the best of its scope, and the only one
    assert [(point.count, point.sum) for point in points["react_mem.read.relevance"]] == [(1, 1.0)]
    report = await memory.feedback("ann", 1, run_id=str(run))
    assert report is not None
    assert report.memories == 1
    [item] = [one for one in await memory.list_records("ann", [MemoryScope.SEMANTIC]) if one.id == fact.id]
    assert item.payload["importance"] == 0.6
    assert await memory.feedback("bob", 1, session_id="talk") is None
