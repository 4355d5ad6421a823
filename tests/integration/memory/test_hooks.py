"""Memory around any node, and the team of planner and worker that shows it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from typing_extensions import TypedDict

from examples.flows.planner_worker import FLOW, build_graph
from react_mem.agents.config import load_agent
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import resolve_agent
from react_mem.graphs.hooks import Remember, with_memory
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.states import StepExperience
from tests.contract.conftest import Graph, memory_store
from tests.contract.test_loop import ANN, thread
from tests.support.scripted_model import ScriptedModel
from tests.unit.graphs.test_memory_nodes import BrokenStore

AGENTS = Path(__file__).parents[3] / "examples/flows/agents"
WHO: dict[str, Any] = {"user_id": "ann", "session_id": "0", "agent_id": "tester"}


class State(TypedDict):
    messages: list[AnyMessage]
    answer: str


async def answer(state: State, runtime: Runtime[Any], *, memories: list[MemoryResultItem]) -> dict[str, Any]:
    """Answer with what is remembered."""
    if state["messages"][-1].text == "fail":
        raise RuntimeError("no answer")
    if state["messages"][-1].text == "ask":
        return {"answer": interrupt("sure?")}
    return {"answer": "; ".join(item.payload["text"] for item in memories)}


def one_node(store: BaseStore | None, **hook: Any) -> Graph:
    graph = StateGraph(State, AgentContext)
    graph.add_node("answer", with_memory(answer, agent_id="tester", **{"read": [MemoryScope.SEMANTIC], **hook}))
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(store=store, checkpointer=InMemorySaver())


async def run(graph: Graph, text: str, context: Any = ANN) -> tuple[str, list[dict[str, Any]]]:
    """Return the answer and the events."""
    seen: list[dict[str, Any]] = []
    result: dict[str, Any] = {}
    stream = graph.astream(
        {"messages": [HumanMessage(text)]},
        thread(text),
        context=context,
        stream_mode=["custom", "values"],
    )
    async for mode, payload in stream:
        if mode == "custom":
            seen.append(payload)
        else:
            result = payload
    return result.get("answer") or result["messages"][-1].text, seen


def memory_events(seen: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["operation"], one["status"], one["node"]) for one in seen if one["type"] == "memory"]


async def experience(store: BaseStore) -> list[StepExperience]:
    found = await MemoryFacade(store).list_records("ann", [MemoryScope.EXPERIENCE])
    return [StepExperience.from_value(item.payload) for item in found]


async def test_a_node_is_handed_what_is_remembered_and_its_step_is_logged() -> None:
    store = memory_store()
    await MemoryFacade(store).semantic.add(["User likes tea"], **WHO)
    said, seen = await run(one_node(store, flow_id="talk"), "what do I like?")
    assert said == "User likes tea"
    assert memory_events(seen) == [("retrieve", "ok", "answer")]
    [step] = await experience(store)
    assert (step.tool, step.task_type, step.agent_id, step.session_id) == (
        "answer",
        "talk",
        "tester",
        "what do I like?",
    )
    assert (step.success, step.output, step.input) == (True, "answer: User likes tea", {"query": "what do I like?"})
    assert step.latency is not None


async def test_a_node_may_say_what_is_kept() -> None:
    store = memory_store()

    def write(state: State, result: dict[str, Any]) -> list[Remember]:
        return [Remember(MemoryScope.SEMANTIC, {"text": state["messages"][-1].text})]

    await run(one_node(store, write=write), "User likes tea")
    [fact] = await MemoryFacade(store).semantic.search("tea", user_id="ann")
    assert fact.payload["text"] == "User likes tea"
    assert await experience(store) == []


async def test_a_failing_node_fails_and_its_failure_is_logged() -> None:
    store = memory_store()
    with pytest.raises(RuntimeError, match="no answer"):
        await run(one_node(store), "fail")
    [step] = await experience(store)
    assert (step.success, step.error) == (False, "RuntimeError: no answer")


async def test_an_interrupt_is_no_outcome() -> None:
    store = memory_store()
    await run(one_node(store), "ask")
    assert await experience(store) == []


async def test_a_failing_memory_costs_the_memory_not_the_node() -> None:
    store = BrokenStore()
    store.broken = True
    said, seen = await run(one_node(store), "hello")
    assert said == "hello"
    assert memory_events(seen) == [("retrieve", "degraded", "answer"), ("store", "degraded", "answer")]


@pytest.mark.parametrize(("context", "has_store"), [(None, True), (ANN, False)])
async def test_without_a_user_or_a_store_the_node_runs_and_says_so(context: Any, has_store: bool) -> None:
    store = memory_store() if has_store else None
    said, seen = await run(one_node(store), "hello", context=context)
    assert said == "hello"
    assert memory_events(seen) == [("retrieve", "off", "answer")]
    if store is not None:
        assert await store.asearch(()) == []


def team(planner: Any, worker: Any, store: InMemoryStore) -> Graph:
    return build_graph(
        resolve_agent(load_agent(AGENTS / "planner.yaml"), model=planner),
        resolve_agent(load_agent(AGENTS / "worker.yaml"), model=worker),
        store=store,
        checkpointer=InMemorySaver(),
    )


async def remember_tea(store: InMemoryStore) -> None:
    memory = MemoryFacade(store)
    await memory.semantic.add(["User likes green tea"], **WHO)
    await memory.episodic.record("Buy coffee", outcome="the shop was closed", **WHO)
    await memory.procedural.add_skill(
        {"use_when": "buying anything", "tool_sops": [{"tool": "shop", "action": "compare prices"}]}, user_id="ann"
    )
    await memory.profile.update_profile("ann", {"name": "Lan"})


async def test_two_agents_see_one_memory_each_under_its_policy() -> None:
    store = memory_store()
    await remember_tea(store)
    planner = ScriptedModel(script=["1. Find a shop\n2. Buy tea"])
    worker = ScriptedModel(script=["Found one.", "Bought."])
    said, seen = await run(team(planner, worker, store), "Buy me some tea")
    assert said == "Found one.\n\nBought."
    [plan], works = planner.prompts, worker.prompts
    assert isinstance(plan[0], SystemMessage)
    for known, told in [
        ("name: Lan", True),
        ("the shop was closed", True),
        ("shop: compare prices", True),
        ("green tea", False),
    ]:
        assert (known in plan[0].text) is told
    assert [prompt[-1].text for prompt in works] == ["Find a shop", "Buy tea"]
    assert "Found one." in str(works[1])
    for known, told in [("name: Lan", True), ("User likes green tea", True), ("the shop was closed", False)]:
        assert (known in works[0][0].text) is told
    steps = sorted(await experience(store), key=lambda step: step.created_at)
    assert [(step.agent_id, step.tool, step.task_type) for step in steps] == [("worker", "work", FLOW)] * 2
    assert [one["text"] for one in seen if one["type"] == "answer"] == [said]


async def test_a_store_that_hangs_does_not_hold_a_node_up() -> None:
    class HangingStore(InMemoryStore):
        async def abatch(self, ops: Any) -> Any:
            await asyncio.Event().wait()

    said, seen = await run(one_node(HangingStore(), policy=MemoryPolicy(recall={"timeout": 0.05})), "hello")
    assert said == "hello"
    assert memory_events(seen) == [("retrieve", "degraded", "answer"), ("store", "degraded", "answer")]
