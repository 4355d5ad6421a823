"""The tool that goes back from a summary to what was said, as an agent calls it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.context import render_line
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.scripted_model import ScriptedModel, calls
from tests.unit.memory.summaries.talking import Conversation

TOOL = "react_mem.tools.memory_tools:unfold_summary"


async def unfold(store: InMemoryStore | None, name: str, *, user: str = "ann", thread: str = "talk") -> str:
    """Let a model call the tool in a conversation, and return what it is told."""
    agent = resolve_agent(
        AgentConfig(
            name="tester",
            manager="react_mem",
            system_prompt="",
            tools=(TOOL,),
            memory=MemoryPolicy.model_validate({"extraction": {"mode": "off"}, "summaries": {"enabled": False}}),
        ),
        model=ScriptedModel(script=[calls(("unfold_summary", {"summary": name})), "done"]),
        small_model=ScriptedModel(script=["never asked"]),
    )
    graph = build_agent(agent, store=store, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": thread}}
    result = await graph.ainvoke({"messages": [("user", "What was it?")]}, config, context={"user_id": user})
    [told] = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert told.status == "success", told.text
    return str(told.text)


async def test_a_summary_is_unfolded_by_the_beginning_of_its_id() -> None:
    store = InMemoryStore()
    talk = Conversation(store).shaped(window="oldest")
    await talk.say("I have a cat.", "It is called Mo.", "I live in Hue.")
    [summary] = await talk.summaries()
    told = await unfold(store, summary.id[:8])
    said = [line.partition("] ")[2].removeprefix("(assistant) ") for line in told.splitlines()]
    assert said == [str(m.content) for m in talk.thread[:3]]
    assert ", user] I have a cat." in told
    assert await unfold(store, f" {summary.id.upper()} ") == told


async def test_a_summary_of_another_conversation_is_unfolded_by_what_its_line_names_it() -> None:
    store = InMemoryStore()
    talk = Conversation(store).shaped(window="oldest")
    await talk.say("I have a cat.", "It is called Mo.", "I live in Hue.")
    [summary] = await talk.summaries()
    line = render_line(summary.to_value(), summary.text)
    told = await unfold(store, line.removeprefix("- [summary ").split()[0], thread="another")
    assert ", user] I have a cat." in told
    assert "There is no summary" in await unfold(store, summary.id[:8], user="bob", thread="another")
    assert "There is no summary" in await unfold(store, summary.id[:4], thread="another")


async def test_of_a_high_summary_the_ones_below_are_told_with_ids_that_unfold() -> None:
    store = InMemoryStore()
    talk = Conversation(store).shaped(window="oldest")
    await talk.say(*(f"I have {number} cats in town {number}." for number in range(1, 16)))
    [top] = [entry for entry in (await talk.chain()).entries if entry.level == "3"]
    told = await unfold(store, top.id[:8])
    ids = [line.split()[2] for line in told.splitlines()]
    assert ids == [part.id for part in await talk.summaries() if part.level == "2"]
    below = await unfold(store, ids[1])
    assert "I have 5 cats in town 5." in below
    assert "I have 1 cats" not in below


@pytest.mark.parametrize("whole", [True])
async def test_nobody_reads_what_is_anothers(whole: bool) -> None:
    store = InMemoryStore()
    talk = Conversation(store).shaped(window="oldest")
    await talk.say("I have a cat.", "It is called Mo.", "I live in Hue.")
    [summary] = await talk.summaries()
    told = await unfold(store, summary.id if whole else summary.id[:8], user="bob")
    assert told.startswith("There is no summary")
    assert "cat" not in told
