"""What the runtime says of itself is no part of the dialogue: it is neither remembered nor summed up."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.messages.tool import invalid_tool_call
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.model.policy import MemoryPolicy
from tests.contract.conftest import Graph, memory_store
from tests.contract.test_loop import ANN, thread, weather
from tests.support.scripted_model import ScriptedModel, calls

FOLDING = {"n_sum": 2, "sum_window": 2, "n_sum_sum": 2, "max_sum_lvl": 1}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def build(model: BaseChatModel, store: InMemoryStore, saver: InMemorySaver) -> Graph:
    config = AgentConfig(
        name="tester",
        manager="react_mem",
        max_iterations=4,
        memory=MemoryPolicy.model_validate({"extraction": {"mode": "inline"}, "summaries": FOLDING}),
    )
    small = ScriptedModel(script=["no facts here"])
    return build_agent(
        resolve_agent(config, model=model, small_model=small, tools=[weather]), store=store, checkpointer=saver
    )


async def say(graph: Graph, text: Any, context: Any = ANN) -> AnyMessage:
    result = await graph.ainvoke({"messages": [HumanMessage(text)]}, thread(), context=context)
    message: AnyMessage = result["messages"][-1]
    return message


async def remembered(store: InMemoryStore) -> tuple[str, int]:
    """Return all that memory has, and how many summaries are among it."""
    items = await store.asearch(("memory",), limit=1_000)
    return str([item.value for item in items]), sum(item.value.get("kind") == "summary" for item in items)


def asking(messages: list[Any]) -> AIMessage:
    return calls(("weather", {"city": f"city {len(messages)}"}))


UNREADABLE = AIMessage("", invalid_tool_calls=[invalid_tool_call(name="weather", args="{", id="c", error=None)])


@pytest.mark.parametrize(
    ("said", "notice"),
    [
        pytest.param(asking, "I stopped after 4 steps", id="out of steps"),
        pytest.param(UNREADABLE, "I stopped: 3 times in a row", id="calls that cannot be read"),
        pytest.param(AIMessage(""), "The model returned an empty answer", id="an empty answer"),
    ],
)
async def test_a_notice_in_the_models_place_is_not_remembered(said: Any, notice: str) -> None:
    store, saver = memory_store(), InMemorySaver()
    answer = await say(build(ScriptedModel(script=[said]), store, saver), "My cat is called Miu.")
    assert notice in answer.text
    graph = build(ScriptedModel(script=["I see."]), store, saver)
    for text in ("I live in Hue.", "I like tea.", "I have two dogs."):
        await say(graph, text)
    everything, summaries = await remembered(store)
    assert notice not in everything
    assert "My cat is called Miu." in everything
    assert summaries


async def test_that_memory_was_off_is_not_remembered_once_it_is_on() -> None:
    store, saver = memory_store(), InMemorySaver()
    graph = build(ExtractiveChatModel(), store, saver)
    answer = await say(graph, "My cat is called Miu.", context=None)
    assert "Memory is off" in answer.text
    await say(graph, "I live in Hue.")
    everything, _ = await remembered(store)
    assert "My cat is called Miu." in everything
    assert "Memory is off" not in everything
    assert "[extractive" not in everything


async def test_an_image_has_no_words_to_be_remembered() -> None:
    store = memory_store()
    graph = build(ScriptedModel(script=["A cat.", "I see."]), store, InMemorySaver())
    await say(graph, [PICTURE])
    await say(graph, [{"type": "text", "text": "This is Miu."}, PICTURE])
    for text in ("I live in Hue.", "I like tea."):
        await say(graph, text)
    everything, summaries = await remembered(store)
    assert "[image]" not in everything
    assert "'text': 'This is Miu.'" in everything
    assert "A cat." in everything
    assert summaries
