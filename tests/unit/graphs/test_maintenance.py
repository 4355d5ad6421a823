"""What runs behind the turns keeps users apart, and starts by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import Op, Result
from langgraph.store.memory import InMemoryStore
from pydantic import Field

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import AgentConfig
from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.graphs.server import MaintenanceContext, build_maintenance
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import scope_namespace, work_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.write.turns import Turns
from react_mem.tools.plain_tools import end_conversation
from tests.support.scripted_model import ScriptedModel, calls


def turns(store: InMemoryStore, user_id: str, session_id: str = "1", **policy: Any) -> Turns:
    return Turns(MemoryFacade(store, MemoryPolicy(**policy)), None, user_id, session_id, "tester")


async def say(one: Turns, text: str) -> None:
    await one.close([HumanMessage(text, id="q"), AIMessage("ok", id="a")], None)


async def test_maintenance_goes_on_with_the_next_user_where_one_cannot_be_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHAT_MODEL", "extractive")
    store = InMemoryStore()
    await store.aput(PENDING.namespace("aaa"), "broken", {"kind": "pending", "id": "broken", "created_at": ""})
    maintenance = build_maintenance()
    maintenance.store = store
    fine = replace(turns(store, "bob"), agent_id="assistant")
    await say(fine, "I have a cat.")
    waiting = [{**value, "created_at": "2020-01-01T00:00:00Z"} for value in await fine.memory.pending("bob")]
    for value in waiting:
        await store.aput(PENDING.namespace("bob"), value["id"], value)
    done = await maintenance.ainvoke({}, context=MaintenanceContext())
    assert len(done["problems"]) == 1
    assert await fine.memory.pending("bob") == []


class Hanging(ScriptedModel):
    """Answers once, and then never: the call behind the turn hangs."""

    script: list[Any] = Field(default_factory=lambda: ["hello"])
    asked: asyncio.Event = Field(default_factory=asyncio.Event)

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if self.prompts:
            self.asked.set()
            await asyncio.Event().wait()
        return self._generate(messages)

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        yield ChatGenerationChunk(message=AIMessageChunk((await self._agenerate(messages)).generations[0].text))


class Watched(InMemoryStore):
    """A store that says when it was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        results = await super().abatch(ops)
        self.written.set()
        return results

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        while not await holds():
            self.written.clear()
            await self.written.wait()


def config(**policy: Any) -> AgentConfig:
    return AgentConfig(
        name="tester", manager="react_mem", memory=MemoryPolicy(extraction={"debounce": 0}).model_copy(update=policy)
    )


ANN = {"context": {"user_id": "ann"}, "config": {"configurable": {"thread_id": "1"}}}


async def told(agent: Any, text: str) -> None:
    await agent.ainvoke({"messages": [("user", text)]}, **ANN)


async def test_closing_an_agent_does_not_wait_for_a_model_that_hangs_and_the_next_one_takes_over() -> None:
    store, hanging = Watched(), Hanging()
    async with asyncio.timeout(20):  # the model may take 60 seconds
        async with open_agent(config(), model=hanging, store=store, checkpointer=InMemorySaver()) as agent:
            await told(agent, "My cat is called Mimi.")
            await hanging.asked.wait()
    memory = MemoryFacade(store)
    [waiting] = await memory.pending("ann")
    assert (waiting["claimed_by"], waiting["attempts"]) == ("", 0)
    work = [item.value for item in await store.asearch(work_namespace("ann"))]
    assert {value["kind"]: value["lease_by"] for value in work} == {"extract": "", "maintain": ""}

    async def read() -> bool:
        return await memory.pending("ann") == []

    quoting = ExtractiveChatModel()
    async with open_agent(config(), model=quoting, store=store, checkpointer=InMemorySaver()):
        # nothing is said: it takes over what was left
        await store.until(read)
    facts = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC))
    assert [item.value["text"] for item in facts] == ["My cat is called Mimi."]


async def test_an_agent_that_ends_a_conversation_has_it_concluded_at_once() -> None:
    store, model = Watched(), ScriptedModel(script=[calls(("end_conversation", {})), "Goodbye."])

    async def concluded() -> bool:
        return await ended(store, "ann")

    # it would count as quiet in half an hour
    given = {"tools": [end_conversation], "store": store, "checkpointer": InMemorySaver()}
    async with open_agent(config(extraction={"mode": "off"}), model=model, **given) as agent:
        await told(agent, "That is all, goodbye.")
        await store.until(concluded)


async def ended(store: InMemoryStore, user_id: str) -> bool:
    state = scope_namespace(user_id, MemoryScope.STATE)
    return bool(await store.asearch(state, filter={"kind": "conversation", "ended": True}))


async def test_a_turn_that_a_crash_left_open_is_read_though_nobody_comes_back() -> None:
    store = Watched()
    one = turns(store, "ann", extraction={"recover_after": 0})
    await one.open([HumanMessage("My cat is called Mimi.", id="q")], None)

    async def read() -> bool:
        return await one.memory.pending("ann") == []

    given = {"model": ExtractiveChatModel(), "store": store, "checkpointer": InMemorySaver()}
    async with open_agent(config(extraction={"recover_after": 0}), **given):
        await store.until(read)
    facts = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC))
    assert [item.value["text"] for item in facts] == ["My cat is called Mimi."]
