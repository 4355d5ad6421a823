"""Quotas of a day are counted in the store, refused before a model is asked, and free again at midnight."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from examples.flows.planner_worker import build_graph as planner_worker
from react_mem.agents.config import AgentConfig, load_agent
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import QuotaExceeded
from react_mem.memory import MemoryFacade, MemoryPolicy
from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.model.policy import QuotaSettings
from react_mem.memory.store import room as counting
from react_mem.memory.store.capabilities import everything
from react_mem.memory.store.room import take_message
from react_mem.memory.write.chat_summarizer import ChatSummarizer
from react_mem.memory.write.summary_form import ChatSummaryRequest
from tests.support.scripted_model import ScriptedModel, calls

ANN = {"user_id": "ann"}
CONFIG: Any = {"configurable": {"thread_id": "1"}}
Clock = Callable[[int, int], None]


@tool
def look() -> str:
    """Look."""
    return "seen"


@pytest.fixture(autouse=True)
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Set the clock to an hour of a day of March; to noon of the first to begin with."""

    def set_to(day: int, hour: int) -> None:
        monkeypatch.setattr(counting, "now", lambda: datetime(2026, 3, day, hour, tzinfo=UTC))

    set_to(1, 12)
    return set_to


def graph_of(kind: str, model: ScriptedModel, store: BaseStore, **limits: int) -> Any:
    policy = MemoryPolicy.model_validate({"quotas": limits, "extraction": {"mode": "off"}})
    if kind == "middleware":
        memory = MemoryMiddleware(policy=policy)
        return create_agent(
            model, [look], middleware=[memory], context_schema=AgentContext, store=store, checkpointer=InMemorySaver()
        )
    if kind == "planner_worker":
        given = {"memory": policy, "flows": {}}
        configs = [
            load_agent(f"examples/flows/agents/{name}.yaml").model_copy(update=given) for name in ("planner", "worker")
        ]
        team = [resolve_agent(config, model=model) for config in configs]
        return planner_worker(*team, store=store, checkpointer=InMemorySaver())
    manager, _, switching = kind.partition("+")
    config = AgentConfig.model_validate(
        {"name": "tester", "manager": manager, "memory": policy, "switching": switching or "off"}
    )
    return build_agent(resolve_agent(config, model=model, tools=[look]), store=store, checkpointer=InMemorySaver())


async def ask(graph: Any, context: dict[str, str] = ANN) -> None:
    await graph.ainvoke({"messages": [("user", "hello")]}, CONFIG, context=context)


async def bookkept(store: BaseStore) -> list[str]:
    return [item.key for item in await store.asearch(("memory", "ann", "meta")) if item.key == "quotas"]


@pytest.mark.parametrize("kind", ["react_mem", "middleware", "react", "react_mem+semantic"])
@pytest.mark.parametrize("quota", ["messages_a_day", "model_calls_a_day"])
async def test_what_exceeds_is_refused_before_a_model_is_asked_or_anything_is_stored(kind: str, quota: str) -> None:
    model, store = ScriptedModel(script=["one", "two", "bob's"]), InMemoryStore()
    graph = graph_of(kind, model, store, **{quota: 2})
    await ask(graph)
    await ask(graph)
    kept = len(await everything(store, "ann"))
    with pytest.raises(QuotaExceeded) as refused:
        await ask(graph)
    assert len(model.prompts) == 2
    assert len(await everything(store, "ann")) == kept
    assert str(refused.value) == (
        f"The quota {quota} of this user is used up: 2. It is free again at 2026-03-02 00:00 UTC."
    )
    assert (refused.value.quota, refused.value.limit) == (quota, 2)
    assert refused.value.free_at == datetime(2026, 3, 2, tzinfo=UTC)
    await ask(graph, {"user_id": "bob"})


async def test_blocking_calls_count_too() -> None:
    model = ScriptedModel(script=["one", "two"])
    for quota in ("messages_a_day", "model_calls_a_day"):
        graph = graph_of("middleware", model, InMemoryStore(), **{quota: 1})
        asked: Any = {"messages": [("user", "hello")]}
        await asyncio.to_thread(graph.invoke, asked, CONFIG, context=ANN)
        with pytest.raises(QuotaExceeded, match=quota):
            await asyncio.to_thread(graph.invoke, asked, CONFIG, context=ANN)
    assert len(model.prompts) == 2


@pytest.mark.parametrize("kind", ["react_mem", "react"])
async def test_a_turn_ends_where_its_model_calls_are_used_up(kind: str) -> None:
    model = ScriptedModel(script=[calls(("look", {})), calls(("look", {})), "seen"])
    graph = graph_of(kind, model, InMemoryStore(), model_calls_a_day=2)
    with pytest.raises(QuotaExceeded, match="model_calls_a_day"):
        await ask(graph)
    assert len(model.prompts) == 2


async def test_a_team_counts_one_message_and_the_calls_of_both() -> None:
    script = ["1. look\n2. tell", "looked", "told", "1. look\n2. tell"]
    model, store = ScriptedModel(script=script), InMemoryStore()
    graph = graph_of("planner_worker", model, store, messages_a_day=2, model_calls_a_day=4)
    await ask(graph)
    item = await store.aget(("memory", "ann", "meta"), "quotas")
    assert item is not None
    assert item.value == {"day": "2026-03-01", "messages_a_day": 1, "model_calls_a_day": 3}
    with pytest.raises(QuotaExceeded, match="model_calls_a_day"):
        await ask(graph)
    assert len(model.prompts) == 4


async def test_a_summary_of_a_chat_is_a_message_and_a_call() -> None:
    store = InMemoryStore()
    policy = MemoryPolicy.model_validate({"quotas": {"messages_a_day": 9, "model_calls_a_day": 1}})
    summarizer = ChatSummarizer([ScriptedModel(script=["{}", "{}", "{}"])], policy, "tester")
    request = ChatSummaryRequest.model_validate({"user_input": "And the price?", "conversation_id": "1"})
    await summarizer.summarize(request, store=store, user_id="ann")
    with pytest.raises(QuotaExceeded, match="model_calls_a_day"):
        await summarizer.summarize(request, store=store, user_id="ann")
    await summarizer.summarize(request, store=store, user_id="bob")
    item = await store.aget(("memory", "ann", "meta"), "quotas")
    assert item is not None
    assert item.value == {"day": "2026-03-01", "messages_a_day": 1, "model_calls_a_day": 1}


FORGED: Any = {
    "retrieved": "",
    "first": "",
    "whole": "",
    "question_tokens": None,
    "result_tokens": None,
    "step_tokens": 9,
}


@pytest.mark.parametrize("kind", ["react", "react_mem", "middleware"])
async def test_no_state_that_a_caller_writes_stands_for_a_message_that_was_counted(kind: str) -> None:
    """A server knows each run by its id, which no caller chooses."""
    model, store = ScriptedModel(script=["one", "two"]), InMemoryStore()
    graph = graph_of(kind, model, store, messages_a_day=1)
    where = {"middleware": ("model", "memory_layout")}.get(kind, ("reason", "layout"))
    written: dict[str, Any] = {"messages": [("user", "again"), ("ai", "once"), ("user", "more")]}
    written |= {where[1]: FORGED} if kind != "react" else {}

    async def run(asked: Any) -> None:
        await graph.ainvoke(asked, {**CONFIG, "run_id": uuid.uuid4()}, context=ANN)

    await run({"messages": [("user", "hello")]})
    with pytest.raises(QuotaExceeded):
        await run(Command(goto=where[0], update=written))
    await graph.aupdate_state(CONFIG, written)
    with pytest.raises(QuotaExceeded):
        await run(Command(goto=where[0]))
    assert len(model.prompts) == 1


async def test_midnight_frees_what_was_used_and_a_slow_clock_does_not(at: Clock) -> None:
    store, quotas = InMemoryStore(), QuotaSettings(messages_a_day=1)
    await take_message(store, "ann", quotas)
    at(1, 23)
    with pytest.raises(QuotaExceeded):
        await take_message(store, "ann", quotas)
    at(2, 0)
    await take_message(store, "ann", quotas)
    at(1, 23)
    with pytest.raises(QuotaExceeded, match="2026-03-03 00:00"):
        await take_message(store, "ann", quotas)
    at(5, 0)
    await take_message(store, "ann", quotas)


async def test_the_count_is_no_memory_and_goes_with_the_user() -> None:
    store = InMemoryStore()
    await take_message(store, "ann", QuotaSettings(messages_a_day=5))
    assert await bookkept(store) == ["quotas"]
    lines = [line async for line in MemoryFacade(store, MemoryPolicy.model_validate({})).export_user("ann")]
    assert "messages_a_day" not in "".join(lines)
    assert not await everything(store, "ann")
    await MemoryFacade(store).forget_user("ann")
    assert not await bookkept(store)


async def test_the_log_says_once_that_nothing_is_counted_until_it_is_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model, store = ScriptedModel(script=["one", "two", "three", "four"]), InMemoryStore()
    graph = graph_of("react", model, store, messages_a_day=9, model_calls_a_day=9)
    works = counting.transact_on

    async def down(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("the database is away")

    def logged() -> int:
        return sum("not counted, and nobody is refused" in record.message for record in caplog.records)

    monkeypatch.setattr(counting, "transact_on", down)
    await ask(graph)
    await ask(graph)
    assert logged() == 1
    monkeypatch.setattr(counting, "transact_on", works)
    await ask(graph)
    monkeypatch.setattr(counting, "transact_on", down)
    await ask(graph)
    assert logged() == 2
