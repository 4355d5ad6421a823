"""Each message of a thread is remembered once: in whatever form it is sent, whatever channel the thread is kept in."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from deepagents import create_deep_agent
from langchain_core.messages import HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from tests.contract.conftest import INLINE, build_manager, memory_store
from tests.contract.test_loop import ANN, thread
from tests.support.scripted_model import ScriptedModel, calls

SAID = ["I play the oboe.", "Yes.", "I live in Hue.", "Yes.", "Yes."]

FORMS: dict[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "pairs": lambda text: [("user", text)],
    "dict": lambda text: {"role": "user", "content": text},
    "messages": lambda text: [HumanMessage(text)],
    "blocks": lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
}


class ContextOfUser(TypedDict):
    user_id: str


class Added(TypedDict):
    messages: Annotated[list[Any], operator.add]


class Merged(TypedDict):
    messages: Annotated[list[Any], add_messages]


def deep(model: ScriptedModel, store: Any, tools: Any = ()) -> Any:
    return create_deep_agent(
        model,
        list(tools),
        middleware=[MemoryMiddleware(policy=INLINE)],
        store=store,
        checkpointer=InMemorySaver(),
        context_schema=ContextOfUser,
    )


def within(state: type, *, as_node: bool) -> Callable[..., Any]:
    """Return how to build an agent within a graph that keeps the thread in a channel of its own."""

    def build(model: ScriptedModel, store: Any, tools: Any = ()) -> Any:
        own = build_manager("react_mem", model, list(tools), store=store)
        own.checkpointer = None

        async def call(state: Any, config: RunnableConfig) -> Any:
            answered = await own.ainvoke({"messages": state["messages"]}, config, context=ANN)
            return {"messages": [answered["messages"][-1]]}

        graph: Any = StateGraph(state, ContextOfUser)
        graph.add_node("answer", own if as_node else call)
        graph.add_edge(START, "answer")
        return graph.compile(checkpointer=InMemorySaver(), store=store)

    return build


GRAPHS: dict[str, Callable[..., Any]] = {
    "react_mem": lambda model, store, tools=(): build_manager("react_mem", model, list(tools), store=store),
    "middleware": lambda model, store, tools=(): build_manager("middleware", model, list(tools), store=store),
    "deep agent": deep,
    "within operator.add": within(Added, as_node=False),
    "within add_messages": within(Merged, as_node=False),
    "node of add_messages": within(Merged, as_node=True),
}


async def said(store: Any) -> list[str]:
    found = await MemoryFacade(store).list_records("ann", [MemoryScope.DIALOG])
    records = [one.payload for one in found if one.source == "message" and one.payload["role"] == "user"]
    return [one["text"] for one in sorted(records, key=lambda record: record["turn"])]


@pytest.mark.parametrize(
    ("graph", "form"),
    [*(("react_mem", form) for form in FORMS), *((graph, "pairs") for graph in GRAPHS if graph != "react_mem")],
)
async def test_each_message_is_remembered_once(graph: str, form: str) -> None:
    store, model = memory_store(), ScriptedModel(script=["noted"])
    agent = GRAPHS[graph](model, store)
    for text in SAID:
        await agent.ainvoke({"messages": FORMS[form](text)}, thread(), context=ANN)
    assert await said(store) == SAID


@pytest.mark.parametrize("graph", ["react_mem", "middleware", "node of add_messages"])
async def test_a_run_that_is_interrupted_and_goes_on_doubles_nothing(graph: str) -> None:
    @tool
    def book(day: str) -> str:
        """Book a table."""
        return str(interrupt(day))

    store, model = memory_store(), ScriptedModel(script=["hello", calls(("book", {"day": "Monday"})), "booked", "bye"])
    agent = GRAPHS[graph](model, store, [book])
    for given in ([("user", "Hi.")], [("user", "Book a table.")], None, [("user", "Hi.")]):
        step: Any = {"messages": given} if given else Command(resume="yes")
        state = await agent.ainvoke(step, thread(), context=ANN)
    assert state["messages"][-1].text == "bye"
    assert await said(store) == ["Hi.", "Book a table.", "Hi."]


@pytest.mark.parametrize("form", ["text", "messages"])
async def test_the_same_words_in_a_thread_that_was_trimmed_or_emptied_are_another_message(form: str) -> None:
    store, agent_model = memory_store(), ScriptedModel(script=["noted"])
    agent = GRAPHS["react_mem"](agent_model, store)
    for text in ("Yes.", "I play the oboe.", "Yes.", "Yes.", "Yes."):
        state = await agent.ainvoke({"messages": FORMS[form](text)}, thread(), context=ANN)
        removed: list[Any] = [RemoveMessage(id=message.id) for message in state["messages"][:-2]]
        await agent.aupdate_state(thread(), {"messages": removed}, as_node="extract")
    await agent.aupdate_state(thread(), {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}, as_node="extract")
    await agent.ainvoke({"messages": FORMS[form]("Yes.")}, thread(), context=ANN)
    assert sorted(await said(store)) == ["I play the oboe.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes."]


async def test_a_forgotten_message_of_a_thread_without_ids_is_no_longer_shown() -> None:
    store, model = memory_store(), ScriptedModel(script=["noted"])
    agent = deep(model, store)
    for text in ("My cat is called Mimi.", "I live in Hue."):
        await agent.ainvoke({"messages": FORMS["pairs"](text)}, thread(), context=ANN)
    memory = MemoryFacade(store)
    found = await memory.list_records("ann", [MemoryScope.DIALOG])
    await memory.forget("ann", *(one.id for one in found if "Mimi" in one.payload["text"]))
    await agent.ainvoke({"messages": FORMS["pairs"]("And now?")}, thread(), context=ANN)
    shown = str(model.prompts[-1])
    assert "Mimi" not in shown
    assert "I live in Hue." in shown
    assert await said(store) == ["I live in Hue.", "And now?"]


@pytest.mark.parametrize("graph", ["react_mem", "middleware"])
async def test_a_turn_without_memory_is_neither_kept_later_nor_doubled_in_the_thread(graph: str) -> None:
    store, model = memory_store(), ScriptedModel(script=["noted"])
    agent = GRAPHS[graph](model, store)
    texts = ["One.", "Two.", "Three."]
    for text in texts:
        config = thread() if text != "Two." else {"configurable": {**thread()["configurable"], "use_memory": False}}
        state = await agent.ainvoke({"messages": [("user", text)]}, config, context=ANN)
    assert [message.text for message in state["messages"] if message.type == "human"] == texts
    assert await said(store) == ["One.", "Three."]


async def test_a_message_that_a_program_uses_again_is_said_twice() -> None:
    store, yes = memory_store(), HumanMessage("Yes.")
    agent = build_manager("react_mem", ["noted"], store=store)
    for _ in range(2):
        await agent.ainvoke({"messages": [yes]}, thread(), context=ANN)
    assert await said(store) == ["Yes.", "Yes."]
