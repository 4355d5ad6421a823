"""Receipts of a forgetting beside states of threads: whatever else keeps the forgotten there is named by its place."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel
from typing_extensions import TypedDict

from react_mem.graphs.schemas import Messages
from react_mem.memory.facade import MemoryFacade
from tests.support.databases import WordEmbeddings
from tests.support.telling import tell

SECRET = "My locker code is 4711"
NOTED = f"# Notes\n\n- likes tea\n- {SECRET}.\n"


class Entry(BaseModel):
    text: str


@dataclass
class Note:
    text: str
    done: bool = False


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    memory_contents: dict[str, str]
    files: dict[str, Any]
    todos: list[Any]
    note: Any
    summary: str
    log: Annotated[list[str], add]


class AddedState(State):
    messages: Messages  # type: ignore[misc]


CALL = {"name": "look", "args": {}, "id": "c", "type": "tool_call"}
RESULT = ToolMessage(NOTED, tool_call_id="c", id="t")
WAYS: dict[str, tuple[str, Any]] = {
    "memory_contents of Deep Agents": ("memory_contents", {"/AGENTS.md": NOTED}),
    "a file": ("files", {"/notes.md": {"content": NOTED.splitlines(), "created_at": "2026-01-01"}}),
    "a name of a file": ("files", {SECRET: {"content": []}}),
    "a list of what is to do": ("todos", [{"content": f"Open it: {SECRET}", "status": "pending"}]),
    "a list in a list": ("todos", [["a", [SECRET]]]),
    "a text": ("note", NOTED),
    "a tuple": ("note", ("a", SECRET)),
    "a set": ("note", {SECRET}),
    "a model": ("note", Entry(text=SECRET)),
    "a dataclass": ("note", Note(SECRET)),
    "a message elsewhere": ("note", HumanMessage(SECRET)),
    "a summary of middleware": ("summary", f"The user told this. {SECRET}. They like tea."),
    "a list that only grows": ("log", ["hello", SECRET]),
    "a tool's result": ("messages", [AIMessage("", tool_calls=[CALL], id="a"), RESULT]),
    "a tool's result in blocks": (
        "messages",
        [ToolMessage([{"type": "text", "text": NOTED}], tool_call_id="c", id="t")],
    ),
    "an artifact of a tool": ("messages", [ToolMessage("ok", tool_call_id="c", id="t", artifact={"rows": [SECRET]})]),
    "the arguments of a call": ("messages", [AIMessage("", id="a", tool_calls=[{**CALL, "args": {"note": SECRET}}])]),
    "a summary among the messages": (
        "messages",
        [HumanMessage(NOTED, id="s", additional_kwargs={"lc_source": "summarization"})],
    ),
    "an instruction among the messages": ("messages", [SystemMessage(NOTED, id="s")]),
    "what a message carries": ("messages", [AIMessage("ok", id="a", additional_kwargs={"reasoning": SECRET})]),
    "nothing": ("note", "The user likes tea."),
}


@pytest.mark.parametrize("schema", [State, AddedState])
async def test_each_place_that_keeps_it_is_named(schema: Any) -> None:
    store = InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
    saver = InMemorySaver()
    memory = MemoryFacade(store, checkpointer=saver)
    graph = StateGraph(schema).add_node("do", lambda _: {}).add_edge(START, "do").compile(checkpointer=saver)
    missed = []
    for way, (place, kept) in WAYS.items():
        thread, user = f"thread of {way}", way.replace(" ", "-")
        run: Any = {"configurable": {"thread_id": thread, "user_id": user}}
        said = HumanMessage(f"{SECRET}.", id="said")
        [message] = await memory.dialog.append(user, thread, [said], agent_id="a")
        [fact] = await tell(store, SECRET, source_ids=[message.id], session_id=thread, user_id=user)
        await graph.ainvoke({"messages": [said], place: [said, *kept] if place == "messages" else kept}, run)
        receipt = await memory.forget(user, fact.id)
        left = {check.name: check.ids for check in receipt.left}
        # the user's own message is blank in prompts: it is left to the application, as the receipt's type says
        expected = {} if way == "nothing" else {f"state {place}": (thread,)}
        looked_at = {check.name for check in receipt.checks if check.name.startswith("state ")}
        if (
            left != expected
            or f"state {place}" not in looked_at
            or ("nothing left" in receipt.in_short()) == bool(left)
        ):
            missed.append((way, left, receipt.unchecked))
    assert missed == []


async def test_only_threads_of_the_owner_are_looked_at_and_only_their_latest_checkpoints() -> None:
    store = InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
    read: list[Any] = []

    class Saver(InMemorySaver):
        async def alist(self, config: Any, **options: Any) -> Any:
            read.append((config["configurable"]["thread_id"], options["limit"]))
            async for one in super().alist(config, **options):
                yield one

    saver = Saver()
    graph = StateGraph(State).add_node("do", lambda _: {}).add_edge(START, "do").compile(checkpointer=saver)
    for user in ("bob", "ann"):
        await graph.ainvoke({"note": SECRET}, {"configurable": {"thread_id": f"of {user}", "user_id": user}})
    await graph.ainvoke({"note": SECRET}, {"configurable": {"thread_id": "nobody's"}})
    memory = MemoryFacade(store, checkpointer=saver)
    # any session may be named by a record: an import, a call of the application
    told = {"of bob": SECRET, "of ann": "I like tea", "nobody's": "I own a bike"}
    facts = [await tell(store, text, session_id=of, user_id="ann") for of, text in told.items()]
    receipt = await memory.forget("ann", *(fact.id for one in facts for fact in one))
    assert {check.name: check.ids for check in receipt.left} == {"state note": ("of ann",)}
    assert {limit for _, limit in read} <= {20}


async def test_a_state_that_is_too_long_is_named() -> None:
    store = InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
    saver = InMemorySaver()
    graph = StateGraph(State).add_node("do", lambda _: {}).add_edge(START, "do").compile(checkpointer=saver)
    await graph.ainvoke({"note": ["x " * 150_000, SECRET]}, {"configurable": {"thread_id": "t", "user_id": "ann"}})
    [fact] = await tell(store, SECRET, session_id="t", user_id="ann")
    receipt = await MemoryFacade(store, checkpointer=saver).forget("ann", fact.id)
    assert receipt.left or "too long" in receipt.in_short()


async def test_without_a_checkpointer_a_receipt_says_that_no_state_was_looked_at() -> None:
    store = InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
    [fact] = await tell(store, SECRET, user_id="ann")
    receipt = await MemoryFacade(store).forget("ann", fact.id)
    assert "Never looked at: thread states (no checkpointer was given" in receipt.in_short()
