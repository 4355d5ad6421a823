"""A thread that is edited, answered anew or continued from an earlier checkpoint: what was taken back is not true."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.rights.forgetting import forget_said
from tests.contract.conftest import Graph
from tests.contract.test_loop import ANN
from tests.support.labels import Says, labelled, prompt_of
from tests.support.retiring import retire
from tests.support.scripted_model import ScriptedModel
from tests.support.stores import open_any_store

HUE, HANOI = "I live in Hue.", "I live in Hanoi."


class Thread:
    """One thread of an agent, and what memory believes."""

    def __init__(self, graph: Graph, model: ScriptedModel, store: BaseStore, name: str = "1") -> None:
        self.graph, self.model, self.store, self.name = graph, model, store, name

    def named(self, name: str) -> Thread:
        return Thread(self.graph, self.model, self.store, name)

    @property
    def config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.name}}

    async def say(self, text: str | None, at: RunnableConfig | None = None) -> RunnableConfig:
        """Say something, on the latest checkpoint or another one; return the one that this led to."""
        asked = {"messages": [HumanMessage(text)]} if text is not None else None
        await self.graph.ainvoke(asked, at or self.config, context=ANN)
        return (await self.graph.aget_state(self.config)).config

    async def before(self, text: str) -> RunnableConfig:
        """Return the checkpoint before something was said, as a chat client takes it: before the message was there."""
        earlier: RunnableConfig | None = None
        async for state in self.graph.aget_state_history(self.config):
            if all(message.text != text for message in state.values.get("messages", ())):
                earlier = state.config
                break
        assert earlier is not None
        return earlier

    async def before_the_answer(self) -> RunnableConfig:
        """Return the checkpoint from which the last answer was given."""
        last = (await self.graph.aget_state(self.config)).values["messages"][-1]
        assert isinstance(last, AIMessage)
        async for state in self.graph.aget_state_history(self.config):
            if last not in state.values.get("messages", ()):
                return state.config
        raise AssertionError("there is none")

    async def facts(self, *, current: bool = True) -> list[str]:
        found = await self.store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=100)
        return sorted(item.value["text"] for item in found if item.value["current"] is current)

    async def fact(self, text: str) -> dict[str, Any]:
        found = await self.store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=100)
        [value] = [item.value for item in found if item.value["text"] == text]
        return value

    async def said(self) -> list[str]:
        found = await self.store.asearch(
            scope_namespace("ann", MemoryScope.DIALOG), filter={"kind": "message"}, limit=100
        )
        return sorted(item.value["text"] for item in found)

    async def pending(self) -> int:
        return len(await self.store.asearch(PENDING.namespace("ann"), limit=100))

    def prompt(self) -> str:
        return str([message.text for message in self.model.prompts[-1]])


def agent(
    kind: str, store: BaseStore, model: ScriptedModel, small: BaseChatModel | None = None, **policy: Any
) -> Graph:
    rules = MemoryPolicy(extraction={"mode": "inline"}, recall={"timeout": 30}).model_copy(update=policy)
    if kind == "middleware":
        memory = MemoryMiddleware(policy=rules, small_model=small)
        return create_agent(model, [], middleware=[memory], store=store, checkpointer=InMemorySaver())
    config = AgentConfig(name="tester", manager="react_mem", memory=rules)
    resolved = resolve_agent(config, model=model, small_model=small or ExtractiveChatModel(), tools=())
    return build_agent(resolved, store=store, checkpointer=InMemorySaver())


@pytest.fixture(params=[("react_mem", "memory store"), ("middleware", "in memory")], ids=" in ".join)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The kind of agent, and the store: what forks does not depend on which of them go together."""
    kind, store = request.param
    return kind, store


@pytest.fixture
async def store(way: tuple[str, str], database_server: str) -> AsyncIterator[BaseStore]:
    async with open_any_store(way[1], database_server) as opened:
        yield opened


@pytest.fixture
def kind(way: tuple[str, str]) -> str:
    return way[0]


@pytest.fixture
def talk(kind: str, store: BaseStore) -> Thread:
    model = ScriptedModel(script=[f"noted {number}" for number in range(40)])
    return Thread(agent(kind, store, model), model, store)


async def test_what_was_edited_is_history_and_a_new_thread_is_not_told(talk: Thread) -> None:
    await talk.say("My name is Ann.")
    await talk.say(HUE)
    await talk.say(HANOI, at=await talk.before(HUE))
    assert await talk.facts() == [HANOI, "My name is Ann."]
    assert await talk.facts(current=False) == [HUE]
    assert HUE not in await talk.said()
    await talk.named("2").say("Where do I live?")
    assert HANOI in talk.prompt()
    assert HUE not in talk.prompt()


async def test_the_first_message_can_be_edited(talk: Thread) -> None:
    await talk.say(HUE)
    await talk.say(HANOI, at=await talk.before(HUE))
    assert await talk.facts() == [HANOI]
    assert await talk.facts(current=False) == [HUE]


async def test_a_state_that_was_updated_at_an_earlier_checkpoint_is_a_fork(talk: Thread) -> None:
    await talk.say("My name is Ann.")
    await talk.say(HUE)
    forked = await talk.graph.aupdate_state(await talk.before(HUE), {"messages": [HumanMessage("I own a boat.")]})
    await talk.graph.ainvoke({"messages": [HumanMessage(HANOI)]}, forked, context=ANN)
    assert await talk.facts() == [HANOI, "I own a boat.", "My name is Ann."]


async def test_a_branch_that_is_continued_is_believed_again(talk: Thread) -> None:
    await talk.say("My name is Ann.")
    old = await talk.say(HUE)
    await talk.say(HANOI, at=await talk.before(HUE))
    await talk.say("I like tea.", at=old)
    assert await talk.facts() == ["I like tea.", HUE, "My name is Ann."]
    assert await talk.facts(current=False) == [HANOI]
    assert HUE in await talk.said()
    await talk.named("2").say("Where do I live?")
    assert HUE in talk.prompt()
    assert HANOI not in talk.prompt()


async def test_another_answer_takes_the_place_of_the_first(talk: Thread) -> None:
    await talk.say("My name is Ann.")
    await talk.say(HUE)
    [*_, first] = [text for text in await talk.said() if text.startswith("noted")]
    await talk.say(None, at=await talk.before_the_answer())
    assert await talk.facts() == [HUE, "My name is Ann."]
    answers = [text for text in await talk.said() if text.startswith("noted")]
    assert len(answers) == 2
    assert first not in answers


async def test_trimming_the_thread_retracts_nothing(talk: Thread) -> None:
    await talk.say(HUE)
    await talk.say("I like tea.")
    for _ in range(2):
        messages = (await talk.graph.aget_state(talk.config)).values["messages"]
        gone = {"messages": [RemoveMessage(str(message.id)) for message in messages[:-1]]}
        await talk.graph.aupdate_state(talk.config, gone)
        await talk.say("I have a cat.")
    messages = (await talk.graph.aget_state(talk.config)).values["messages"]
    await talk.graph.aupdate_state(talk.config, {"messages": [RemoveMessage(str(m.id)) for m in messages]})
    await talk.say("I own a boat.")
    assert await talk.facts() == ["I have a cat.", "I like tea.", HUE, "I own a boat."]
    assert await talk.facts(current=False) == []


async def test_a_thread_that_begins_anew_under_the_same_id_retracts_nothing(kind: str, store: BaseStore) -> None:
    model = ScriptedModel(script=["noted"] * 10)
    first = Thread(agent(kind, store, model), model, store)
    await first.say(HUE)
    # the process has restarted, and its threads were in memory
    again = Thread(agent(kind, store, model), model, store)
    await again.say("I like tea.")
    await again.say("I have a cat.")
    assert await again.facts() == ["I have a cat.", "I like tea.", HUE]
    # a fork of the new thread is one of the new thread only
    await again.say("I have a dog.", at=await again.before("I have a cat."))
    assert await again.facts() == ["I have a dog.", "I like tea.", HUE]


async def test_a_copy_of_a_thread_is_a_conversation_of_its_own(talk: Thread) -> None:
    await talk.say("My name is Ann.")
    await talk.say(HUE)
    messages = (await talk.graph.aget_state(talk.config)).values
    copy = talk.named("copy")
    await copy.graph.aupdate_state(copy.config, messages)
    await copy.say("I like tea.")
    await copy.say("I like coffee.", at=await copy.before("I like tea."))
    assert await talk.facts() == ["I like coffee.", HUE, "My name is Ann."]


async def test_a_turn_that_waits_on_a_branch_that_was_left_is_not_drawn_from(kind: str, store: BaseStore) -> None:
    model = ScriptedModel(script=["noted"] * 10)
    talk = Thread(agent(kind, store, model, extraction={"mode": "background", "debounce": 600}), model, store)
    await talk.say("My name is Ann.")
    await talk.say(HUE)
    await talk.say(HANOI, at=await talk.before(HUE))
    assert await talk.pending() == 2
    assert await drain(60)
    assert await talk.facts() == [HANOI, "My name is Ann."]
    assert await talk.facts(current=False) == []


async def test_forgetting_the_conversation_forgets_its_branches(talk: Thread) -> None:
    await talk.say("My name is Ann.")
    await talk.say(HUE)
    await talk.say(HANOI, at=await talk.before(HUE))
    memory = MemoryFacade(talk.store)
    await memory.delete_session("ann", "1")
    left = await talk.store.asearch(("memory", "ann"), limit=1000)
    assert [item.value for item in left if item.namespace[2] != "meta"] == []
    await talk.named("2").say(HUE)
    await memory.forget_user("ann")
    assert await talk.store.asearch(("memory", "ann"), limit=1000) == []


async def test_what_is_forgotten_is_forgotten_on_the_branch_that_was_left_too(talk: Thread) -> None:
    await talk.say("My name is Ann.")
    old = await talk.say(HUE)
    await talk.say(HANOI, at=await talk.before(HUE))
    await forget_said(talk.store, "ann", HUE)
    left = await talk.store.asearch(("memory", "ann"), limit=1000)
    assert HUE not in str([item.value for item in left])
    await talk.say("I like tea.", at=old)
    assert HUE not in await talk.facts()


async def test_what_was_ended_on_a_branch_that_was_left_is_believed_again(talk: Thread) -> None:
    await talk.say("I like tea.")
    old = await talk.say("I have a cat.")
    question = await talk.say("Never mind the cat.")
    memory = MemoryFacade(talk.store)
    found = await talk.store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=100)
    [cat] = [item.key for item in found if item.value["text"] == "I have a cat."]
    asked = [m for m in (await talk.graph.aget_state(question)).values["messages"] if m.type == "human"][-1]
    await retire(memory, cat, source_ids=[message_record_id("1", asked)])
    assert "I have a cat." not in await talk.facts()
    await talk.say("I own a boat.", at=old)
    assert "I have a cat." in await talk.facts()


# What a model labels on a branch holds on that branch: changes, ends, other words, dependence, doubt.

MOVED, LEFT, HOME = "I moved to Hanoi last week.", "I no longer live in Hue.", "My home is in Hue."
BUS, PERHAPS = "I take the early bus to work.", "These days I sleep in Hanoi."
TEA = "I like green tea."

LABELS = (
    Says(HUE),
    Says(TEA),
    Says(MOVED, "changes", HUE),
    Says(LEFT, "ends", HUE),
    Says(HOME, "same", HUE),
    Says(BUS, needs=[HUE]),
    Says(PERHAPS, "unsure", HUE),
)


def label(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage(json.dumps(labelled(prompt_of(messages), *LABELS)))


@pytest.fixture
def read_talk(kind: str, store: BaseStore) -> Thread:
    model = ScriptedModel(script=[f"noted {number}" for number in range(40)])
    small = ScriptedModel(script=[label])
    return Thread(agent(kind, store, model, small, summaries={"enabled": False}), model, store)


@pytest.mark.parametrize(("ending", "after"), [(MOVED, [MOVED]), (LEFT, [])])
async def test_an_end_holds_on_its_branch_only(ending: str, after: list[str], read_talk: Thread) -> None:
    await read_talk.say(HUE)
    ended = await read_talk.say(ending)
    assert await read_talk.facts() == after
    await read_talk.say(TEA, at=await read_talk.before(ending))
    assert await read_talk.facts() == sorted([TEA, HUE])
    await read_talk.say("Where do I live?", at=ended)
    assert await read_talk.facts() == after
    assert HUE in await read_talk.facts(current=False)


async def test_a_fact_that_is_said_in_other_words_only_is_put_in_those(read_talk: Thread) -> None:
    await read_talk.say(HUE)
    there = read_talk.named("2")
    await there.say(HOME)
    assert await read_talk.facts() == [HUE]
    # the first conversation takes it back, the second does not
    old = (await read_talk.graph.aget_state(read_talk.config)).config
    await read_talk.say(TEA, at=await read_talk.before(HUE))
    assert await read_talk.facts() == sorted([TEA, HOME])
    # and to say it again in those words says nothing new
    await read_talk.named("3").say(HOME)
    assert await read_talk.facts() == sorted([TEA, HOME])
    assert (await read_talk.fact(HOME))["support"] == 2
    await read_talk.say("Where do I live?", at=old)
    assert [text for text in await read_talk.facts() if text in (HUE, HOME)] == [HOME]
    assert (await read_talk.fact(HOME))["support"] == 3


async def test_what_depends_on_what_changed_is_in_doubt_on_that_branch_only(read_talk: Thread) -> None:
    await read_talk.say(HUE)
    await read_talk.say(BUS)
    moved = await read_talk.say(MOVED)
    asking = read_talk.named("2")
    await asking.say("Which early bus do I take?")
    assert "(in doubt" in read_talk.prompt()
    await read_talk.say(TEA, at=await read_talk.before(MOVED))
    assert await read_talk.facts() == sorted([TEA, HUE, BUS])
    await asking.say("And which early bus is it now?")
    assert BUS in read_talk.prompt()
    assert "(in doubt" not in read_talk.prompt()
    await read_talk.say("Where do I live?", at=moved)
    await asking.say("Which early bus then?")
    assert "(in doubt" in read_talk.prompt()


async def test_a_doubt_holds_on_its_branch_only(read_talk: Thread) -> None:
    await read_talk.say(HUE)
    perhaps = await read_talk.say(PERHAPS)
    asking = read_talk.named("2")
    await asking.say("Do I live in Hue?")
    assert await read_talk.facts() == sorted([HUE, PERHAPS])
    assert "(in doubt" in read_talk.prompt()
    await read_talk.say(TEA, at=await read_talk.before(PERHAPS))
    await asking.say("So do I live in Hue?")
    assert HUE in read_talk.prompt()
    assert "(in doubt" not in read_talk.prompt()
    await read_talk.say("Where do I live?", at=perhaps)
    await asking.say("And now, do I live in Hue?")
    assert "(in doubt" in read_talk.prompt()
