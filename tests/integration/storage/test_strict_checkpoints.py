"""Checkpoints are read as data: a crafted row runs nothing, and what threads really hold comes back as it was."""

from __future__ import annotations

import ipaddress
import uuid
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired

import ormsgpack
import pytest
from langchain.agents import AgentState
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt
from pydantic import BaseModel

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import CheckpointRefused
from react_mem.graphs.schemas import strict_for
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.serialisation import StrictSerializer
from tests.support.crafted import crafted
from tests.support.scripted_model import ScriptedModel

REFUSED = {"pickle", "json"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
AT: RunnableConfig = {"configurable": {"thread_id": "ann", "checkpoint_ns": ""}}


@pytest.fixture
async def saver(memory_store: MemoryStore) -> ThreadSaver:
    saver = ThreadSaver(memory_store.pool)
    await saver.setup()
    return saver


@pytest.mark.parametrize("attack", crafted(Path("canary")))
async def test_a_crafted_row_runs_nothing(
    attack: str, saver: ThreadSaver, memory_store: MemoryStore, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    form, blob = crafted(canary)[attack]
    at = await saver.aput(
        AT,
        {**empty_checkpoint(), "channel_values": {"said": ["x"]}, "channel_versions": {"said": "1"}},
        {},
        {"said": "1"},
    )
    after = await saver.aput(
        at,
        {**empty_checkpoint(), "id": "9", "channel_values": {"other": [1]}, "channel_versions": {"other": "1"}},
        {},
        {},
    )
    await saver.aput_writes(at, [("said", ["y"])], "task")
    async with memory_store.pool.connection() as conn:
        for table in ("checkpoint_blobs", "checkpoint_writes"):
            await conn.execute(f"UPDATE {table} SET type = %s, blob = %s", (form, blob))

    async def listed() -> Any:
        return [found async for found in saver.alist(AT)]

    for read in (
        lambda: saver.aget_tuple(at),
        listed,
        lambda: saver.aget_delta_channel_history(config=after, channels=["said"]),
    ):
        if attack in REFUSED:
            with pytest.raises(CheckpointRefused, match=attack):
                await read()
        else:
            await read()
        assert not canary.exists()


@pytest.mark.parametrize("attack", sorted(crafted(Path("canary")).keys() - {"method"}))
def test_the_rows_are_dangerous_where_they_are_not_read_strictly(attack: str, tmp_path: Path) -> None:
    """LangGraph itself refuses methods and the older JSON form by now."""
    canary = tmp_path / "canary"
    JsonPlusSerializer(pickle_fallback=True, allowed_json_modules=True, allowed_msgpack_modules=True).loads_typed(
        crafted(canary)[attack]
    )
    assert canary.exists()


def test_a_value_of_many_levels_ends_in_no_crash() -> None:
    value: Any = 1
    for _ in range(2_000):
        value = ormsgpack.Ext(0, ormsgpack.packb(("builtins", "set", [value])))
    StrictSerializer().loads_typed(("msgpack", ormsgpack.packb(value)))


class _Colour(Enum):
    RED = "red"


class _Place(BaseModel):
    name: str
    colour: _Colour = _Colour.RED


@dataclass
class _Trip:
    to: _Place
    days: int


class _Leg(NamedTuple):
    of: str


class _OwnState(AgentState[Any]):
    trips: NotRequired[list[_Trip]]
    legs: NotRequired[Annotated[list[_Leg], list.__add__]]


def _content() -> dict[str, Any]:
    picture = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    call = {"name": "look", "args": {"at": ["x"], "n": 1.5}, "id": "1"}
    return {
        "messages": [
            HumanMessage([{"type": "text", "text": "xin chào"}, picture], id="h"),
            AIMessage([{"type": "reasoning", "reasoning": "hm"}], tool_calls=[call], id="a", usage_metadata=None),
            ToolMessage("seen", tool_call_id="1", id="t", artifact={"url": "u"}),
        ],
        "documents": [Document("page", metadata={"url": "u"})],
        "plain": [None, True, 2**60, 1.5, b"\x00\xff", {1: "one"}],
        "times": [datetime.now(UTC), date(2026, 1, 2), timedelta(1, 2)],
        "others": [uuid.uuid4(), Decimal("1.10"), {1, 2}, frozenset({3}), deque([4]), Path("/a/b")],
        "addresses": [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_network("::/8")],
        "langgraph": [Send("act", {"a": 1}), Interrupt(value="sure?", id="i"), Command(goto="act", update={"a": 1})],
    }


async def test_what_threads_hold_comes_back_as_it_was(saver: ThreadSaver) -> None:
    content = _content()
    versions = dict.fromkeys(content, "1")
    checkpoint = {**empty_checkpoint(), "channel_values": content, "channel_versions": versions}
    at = await saver.aput(AT, checkpoint, {}, versions)
    await saver.aput_writes(at, list(content.items()), "task")
    found = await saver.aget_tuple(at)
    assert found is not None
    assert found.pending_writes is not None
    assert found.checkpoint["channel_values"] == content
    assert {channel: value for _, channel, value in found.pending_writes} == content


async def test_a_run_goes_on_from_an_interrupt_and_from_what_was_sent(saver: ThreadSaver) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("ask", lambda state: {"messages": [("ai", interrupt({"sure": state["messages"][0].content}))]})
    graph.add_conditional_edges(START, lambda state: [Send("ask", state), Send("ask", state)])
    compiled = graph.compile(checkpointer=saver)
    waiting = await compiled.ainvoke({"messages": [("user", "go")]}, AT)
    answers = {one.id: "yes" for one in waiting["__interrupt__"]}
    assert len(answers) == 2
    done = await compiled.ainvoke(Command(resume=answers), AT)
    assert [message.content for message in done["messages"]] == ["go", "yes", "yes"]


async def test_the_types_of_an_agents_state_and_answers_are_built(saver: ThreadSaver) -> None:
    config = AgentConfig(name="traveller", manager="react")
    agent = resolve_agent(config, model=ScriptedModel(script=["noted"]), state_schema=_OwnState, response_format=_Place)
    graph = build_agent(agent, checkpointer=saver)
    trip = _Trip(_Place(name="Hue"), 3)
    told = AIMessage("Hue", id="a")
    update = {"messages": [told], "trips": [trip], "legs": [_Leg("train")], "structured_response": trip.to}
    await graph.aupdate_state(AT, update, as_node="reason")
    kept = (await graph.aget_state(AT)).values
    assert kept == {"messages": [told], "trips": [trip], "legs": [_Leg("train")], "structured_response": trip.to}
    # another's graph over the same saver does not build them
    plain = (await saver.aget_tuple(AT)).checkpoint["channel_values"]  # type: ignore[union-attr]
    assert plain["trips"][0]["days"] == 3
    assert plain["structured_response"] == {"name": "Hue", "colour": "red"}


def test_a_checkpointer_stays_as_it_is_where_there_is_nothing_to_add() -> None:
    assert strict_for(None, [_Place]) is None
    assert strict_for(True, [_Place]) is True
