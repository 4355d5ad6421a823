"""`MemoryMiddleware`: what it makes of `create_agent`, and what it leaves as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel
from typing_extensions import TypedDict

from react_mem.memory import open_memory
from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.adapters import middleware as blocking
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.store.postgres import MemoryStore
from tests.contract.conftest import Graph, memory_store
from tests.contract.test_loop import thread, weather
from tests.support.scripted_model import ScriptedModel, calls

INLINE = {"extraction": {"mode": "inline"}}
Ask = Callable[..., Awaitable[dict[str, Any]]]


class Context(TypedDict):
    user_id: str


class BrokenStore(InMemoryStore):
    """A store that fails when it is told to."""

    broken = True

    def batch(self, ops: Any) -> Any:
        if self.broken:
            raise ConnectionError("the database is down")
        return super().batch(ops)

    async def abatch(self, ops: Any) -> Any:
        return self.batch(ops)


def agent(model: ScriptedModel, store: Any, *, tools: Any = (), middleware: Any = (), **kwargs: Any) -> Graph:
    memory = MemoryMiddleware(policy=INLINE, **kwargs.pop("memory", {}))
    return create_agent(
        model,
        list(tools),
        system_prompt=kwargs.pop("system_prompt", "You help."),
        middleware=[memory, *middleware],
        store=store,
        checkpointer=kwargs.pop("checkpointer", None) or InMemorySaver(),
        context_schema=kwargs.pop("context_schema", Context),
        **kwargs,
    )


every_way = pytest.mark.parametrize("ask", ["ainvoke", "invoke", "invoke in a thread"], indirect=True)


@pytest.fixture
def ask(request: pytest.FixtureRequest) -> Ask:
    """Ask an agent in one of the ways that a program may."""
    how = getattr(request, "param", "ainvoke")

    async def ask(graph: Graph, text: str, name: str = "1", user: str = "ann") -> dict[str, Any]:
        asked = {"messages": [("user", text)]}, thread(name)
        context = {"user_id": user}
        if how == "ainvoke":
            return await graph.ainvoke(*asked, context=context)
        if how == "invoke":
            return dict(graph.invoke(*asked, context=context))
        return dict(await asyncio.to_thread(graph.invoke, *asked, context=context))

    return ask


def system(model: ScriptedModel, call: int) -> str:
    first = model.prompts[call][0]
    assert isinstance(first, SystemMessage)
    return first.text


async def messages_of(store: Any, user: str = "ann") -> list[tuple[int, str, str]]:
    found = await MemoryFacade(store).list_records(user, [MemoryScope.DIALOG])
    return sorted((i.payload["turn"], i.payload["role"], i.payload["text"]) for i in found if i.source == "message")


@every_way
async def test_what_one_conversation_said_is_in_the_prompt_of_the_next(ask: Ask) -> None:
    model, store = ScriptedModel(script=["noted", "it is Mimi"]), memory_store()
    graph = agent(model, store)
    first = await ask(graph, "My cat is called Mimi.")
    assert set(first) == {"messages"}
    assert [m.text for m in first["messages"]] == ["My cat is called Mimi.", "noted"]
    await ask(graph, "What is my cat called?", name="2")
    assert system(model, 0) == "You help."
    assert system(model, 1).startswith("You help.\n\n")
    assert "My cat is called Mimi." in system(model, 1)
    assert [m.text for m in model.prompts[1][1:]] == ["What is my cat called?"]


async def test_another_user_gets_nothing_of_it(ask: Ask) -> None:
    model, store = ScriptedModel(script=["noted", "no idea"]), memory_store()
    graph = agent(model, store)
    await ask(graph, "My cat is called Mimi.")
    await ask(graph, "What is my cat called?", name="2", user="bob")
    assert "Mimi" not in str(model.prompts[1])
    assert await messages_of(store, "bob") == [(0, "user", "What is my cat called?"), (1, "assistant", "no idea")]


@every_way
async def test_a_failing_store_fails_no_turn(ask: Ask) -> None:
    store = BrokenStore()
    model = ScriptedModel(script=["hello", "hello again"])
    graph = agent(model, store)
    result = await ask(graph, "My cat is called Mimi.")
    assert result["messages"][-1].text == "hello"
    store.broken = False
    await ask(graph, "And I live in Hue.")
    # what could not be stored then is stored now
    assert [text for _, role, text in await messages_of(store) if role == "user"] == [
        "My cat is called Mimi.",
        "And I live in Hue.",
    ]


async def test_the_memories_stay_the_same_bytes_through_the_steps_of_a_turn(ask: Ask) -> None:
    model, store = ScriptedModel(script=["noted", calls(("weather", {"city": "Hue"})), "sunny"]), memory_store()
    graph = agent(model, store, tools=[weather])
    await ask(graph, "I live in Hue.")
    result = await ask(graph, "What is the weather where I live, in Hue?", name="2")
    assert "I live in Hue." in system(model, 1)
    assert system(model, 1) == system(model, 2)
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]
    steps = await MemoryFacade(store).list_records("ann", [MemoryScope.EXPERIENCE])
    assert [(s.payload["tool"], s.payload["output"], s.payload["success"]) for s in steps] == [
        ("weather", "sunny in Hue", True)
    ]


async def test_on_the_loop_of_the_store_a_sync_call_answers_and_says_what_to_do(
    memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "_ANSWERS_WITHIN", 0.1)
    graph = agent(ScriptedModel(script=["hello"]), memory_store)
    seen = list(
        graph.stream(
            {"messages": [("user", "hi")]},
            thread(),
            context={"user_id": "ann"},
            stream_mode=["custom", "values"],
        )
    )
    told = [event for mode, event in seen if mode == "custom"]
    assert [event["status"] for event in told] == ["degraded", "degraded"]
    assert "use the async call" in told[0]["message"]
    assert seen[-1][1]["messages"][-1].text == "hello"


async def test_the_user_may_be_named_in_any_form_of_context() -> None:
    class Named(BaseModel):
        user_id: str

    store = memory_store()
    for place, (schema, context, config) in enumerate(
        [
            (Named, Named(user_id="ann"), {}),
            (None, {"user_id": "ann"}, {}),
            (None, None, {"user_id": "ann"}),
        ]
    ):
        graph = agent(ScriptedModel(script=["ok"]), store, context_schema=schema)
        configurable = {"thread_id": str(place), **config}
        await graph.ainvoke({"messages": [("user", f"fact {place}")]}, {"configurable": configurable}, context=context)
    assert len([text for _, role, text in await messages_of(store) if role == "user"]) == 3


async def test_the_model_is_told_that_memory_is_off_and_only_then(ask: Ask) -> None:
    model = ScriptedModel(script=["ok"])
    graph, bare = agent(model, memory_store()), agent(model, None)
    await ask(graph, "I am allergic to peanuts.", user="")
    await ask(graph, "I am allergic to peanuts.", "2")
    # what has no store never remembers, and promises nothing
    await ask(bare, "I am allergic to peanuts.", user="")
    assert ["Memory is off" in prompt[0].text for prompt in model.prompts] == [True, False, False]
    assert model.prompts[0][0].text.startswith("You help.")


async def test_a_thread_that_other_middleware_sums_up_is_remembered_as_it_was_said() -> None:
    summing_up = SummarizationMiddleware(
        model=ScriptedModel(script=["THE SUMMARY"]), trigger=("messages", 4), keep=("messages", 1)
    )
    model, store = ScriptedModel(script=["one", "two", "three", "four"]), memory_store()
    graph = agent(model, store, middleware=[summing_up])
    said = ["I like tea.", "I like rice.", "I like rain.", "I like cats."]
    for text in said:
        state = await graph.ainvoke({"messages": [("user", text)]}, thread(), context={"user_id": "ann"})
    assert "THE SUMMARY" in str(state["messages"][0]), "the other middleware has rewritten the thread"
    stored = await messages_of(store)
    assert [text for _, role, text in stored if role == "user"] == said
    assert [text for _, role, text in stored if role == "assistant"] == ["one", "two", "three", "four"]
    assert [turn for turn, _, _ in stored] == list(range(8))


async def test_what_is_read_behind_the_turn_can_be_waited_for() -> None:
    store = memory_store()
    memory = MemoryMiddleware(policy={"extraction": {"debounce": 60.0}})
    graph = create_agent(
        ScriptedModel(script=["ok"]), [], middleware=[memory], store=store, checkpointer=InMemorySaver()
    )
    facade = MemoryFacade(store)
    await graph.ainvoke({"messages": [HumanMessage("I live in Hue.")]}, thread(), context={"user_id": "ann"})
    assert await facade.pending("ann")
    assert await memory.adrain(30)
    assert not await facade.pending("ann")
    asked = {"messages": [HumanMessage("I work in Da Nang.")]}
    await asyncio.to_thread(graph.invoke, asked, thread("2"), context={"user_id": "ann"})
    assert await facade.pending("ann")
    assert await asyncio.to_thread(memory.drain, 30)
    assert not await facade.pending("ann")
    facts = await facade.list_records("ann", [MemoryScope.SEMANTIC])
    assert {fact.payload["text"] for fact in facts} == {"I live in Hue.", "I work in Da Nang."}


async def test_what_waits_is_done_before_a_store_of_ones_own_is_closed() -> None:
    store = BrokenStore()
    store.broken = False
    async with open_memory(store=store) as memory:
        middleware = MemoryMiddleware(policy={"extraction": {"debounce": 60.0}})
        graph = create_agent(ScriptedModel(script=["ok"]), [], middleware=[middleware], store=memory.store)
        await graph.ainvoke({"messages": [HumanMessage("I live in Hue.")]}, context={"user_id": "ann"})
        assert await memory.pending("ann")
    assert not await MemoryFacade(store).pending("ann")
    # nobody looks for work in it any more
    assert "memory:worker" not in [task.get_name() for task in asyncio.all_tasks()]
