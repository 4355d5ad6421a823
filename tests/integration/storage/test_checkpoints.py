"""Threads in the database: read as LangGraph reads them, as data that runs nothing, and sealed where there is a key."""

from __future__ import annotations

import ipaddress
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

import ormsgpack
import pytest
from langchain.agents import AgentState
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt
from pydantic import BaseModel

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import CheckpointRefused, SealError, StorageError
from react_mem.memory.store import checkpointer
from react_mem.memory.store.checkpointer import ThreadSaver, check_distributable, reworded
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.stored_text import CheckpointCipher, StrictSerializer
from tests.support.crafted import crafted
from tests.support.scripted_model import ScriptedModel

KEY = bytes(range(32))


THREADS = ("a", r"it's 100%s \ of b")


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


AT: RunnableConfig = {"configurable": {"thread_id": "ann", "checkpoint_ns": ""}}


@pytest.fixture
async def saver(memory_store: MemoryStore) -> ThreadSaver:
    saver = ThreadSaver(memory_store.pool)
    await saver.setup()
    return saver


async def _saver(store: MemoryStore, key: bytes | None) -> ThreadSaver:
    saver = ThreadSaver(store.pool, key)
    await saver.setup()
    return saver


class _Counted(MessagesState):
    count: int
    said: list[str]


async def _threads(saver: AsyncPostgresSaver) -> None:
    graph = StateGraph(_Counted)
    graph.add_node("count", lambda state: {"count": state["count"] + 1, "said": [*state.get("said", []), "đã nghe"]})
    graph.add_edge(START, "count")
    compiled = graph.compile(checkpointer=saver, interrupt_after=["count"])
    for thread in THREADS:
        config = {"configurable": {"thread_id": thread}}
        await compiled.ainvoke({"messages": [("user", f"hello {thread}")], "count": 0, "said": []}, config)
        await compiled.ainvoke(None, config)
        await saver.aput_writes((await compiled.aget_state(config)).config, [("count", 7), ("said", ["x"])], "task")


async def test_a_thread_is_read_as_langgraph_reads_it(memory_store: MemoryStore) -> None:
    ours, theirs = ThreadSaver(memory_store.pool), AsyncPostgresSaver(memory_store.pool)
    await ours.setup()
    await _threads(ours)
    assert ours.SELECT_SQL != theirs.SELECT_SQL
    for thread in (*THREADS, "nobody's"):
        config = {"configurable": {"thread_id": thread}}
        assert await ours.aget_tuple(config) == await theirs.aget_tuple(config)
        assert [one async for one in ours.alist(config)] == [one async for one in theirs.alist(config)]
    everything = [one async for one in ours.alist(None)]
    assert everything == [one async for one in theirs.alist(None)]
    assert len(everything) > 4
    assert any(one.pending_writes for one in everything)


def _joined(kept: Sequence[Any], writes: Sequence[Sequence[Any]]) -> list[Any]:
    return [*kept, *chain.from_iterable(writes)]


class _Said(TypedDict):
    said: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=7)]
    heard: Annotated[list[str], DeltaChannel(_joined)]
    count: int


async def test_every_checkpoint_has_the_history_that_langgraph_finds(saver: ThreadSaver) -> None:
    graph = StateGraph(_Said)
    graph.add_node("a", lambda state: {"said": [f"a{len(state['said'])}"], "count": 1})
    graph.add_node("b", lambda state: {"said": [f"b{len(state['said'])}", "100%s"], "heard": ["a"]})
    graph.add_node("c", lambda state: {"said": ["c"], "heard": ["a", "b"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("a", "c")
    talk = graph.compile(checkpointer=saver)
    config: RunnableConfig = {"configurable": {"thread_id": "it's 100%s", "checkpoint_ns": ""}}
    for n in range(6):
        await talk.ainvoke({"said": [f"user {n}"], "heard": []}, config)
    # a fork, whose history is not that of the latest
    older = [one async for one in talk.aget_state_history(config)][9]
    await talk.ainvoke({"said": ["elsewhere"]}, older.config)
    theirs = AsyncPostgresSaver(saver.conn)
    checkpoints = [one.config async for one in theirs.alist(config)]
    gone: RunnableConfig = {"configurable": {**config["configurable"], "checkpoint_id": "gone"}}
    nobodys: RunnableConfig = {"configurable": {"thread_id": "nobody's", "checkpoint_ns": ""}}
    channels, found = ["said", "heard", "count", "nothing"], []
    for at in [*checkpoints, config, gone, nobodys]:
        found.append(await saver.aget_delta_channel_history(config=at, channels=channels))
        assert found[-1] == await theirs.aget_delta_channel_history(config=at, channels=channels)
    assert len(checkpoints) > 20
    assert any("seed" in one["said"] for one in found)
    assert any("seed" in one["count"] for one in found)
    assert any(len(one["said"]["writes"]) > 5 for one in found)


def test_another_select_is_left_as_it_is_and_refused_on_distributed_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    check_distributable()
    assert reworded("select * from checkpoints") is None
    monkeypatch.setattr(checkpointer.AsyncPostgresSaver, "SELECT_SQL", "select * from checkpoints")
    with pytest.raises(StorageError, match="langgraph-checkpoint-postgres"):
        check_distributable()


async def test_a_crafted_row_runs_nothing(memory_store: MemoryStore, tmp_path: Path) -> None:
    canary, cipher = tmp_path / "canary", CheckpointCipher(KEY)
    plain, sealed = await _saver(memory_store, None), await _saver(memory_store, KEY)
    of_thread = {**empty_checkpoint(), "channel_values": {"said": ["x"]}, "channel_versions": {"said": "1"}}
    at = await plain.aput(AT, of_thread, {}, {"said": "1"})
    later = {**empty_checkpoint(), "id": "9", "channel_values": {"other": [1]}, "channel_versions": {"other": "1"}}
    after = await plain.aput(at, later, {}, {})
    await plain.aput_writes(at, [("said", ["y"])], "task")

    async def listed(saver: ThreadSaver) -> Any:
        return [found async for found in saver.alist(AT)]

    for form, blob in crafted(canary).values():
        name, hidden = cipher.encrypt(blob)
        for saver, row in ((plain, (form, blob)), (sealed, (f"{form}+{name}", hidden))):
            async with memory_store.pool.connection() as conn:
                for table in ("checkpoint_blobs", "checkpoint_writes"):
                    await conn.execute(f"UPDATE {table} SET type = %s, blob = %s", row)
            for read in (
                saver.aget_tuple(at),
                listed(saver),
                saver.aget_delta_channel_history(config=after, channels=["said"]),
            ):
                if form in ("pickle", "json"):
                    with pytest.raises(CheckpointRefused, match=form):
                        await read
                else:
                    await read
            assert not canary.exists()


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


class _State(MessagesState):
    note: str
    price: float
    rounds: int
    sure: bool
    nothing: None


def _talk(saver: ThreadSaver) -> Any:
    graph = StateGraph(_State)
    graph.add_node("price", lambda state: {"price": state["price"] + 0.5, "rounds": state.get("rounds", 0) + 1})
    graph.add_node("ask", lambda state: {"messages": [("ai", interrupt(state["note"] + "?"))]})
    graph.add_edge(START, "price")
    graph.add_edge("price", "ask")
    return graph.compile(checkpointer=saver)


async def _stored(store: MemoryStore) -> str:
    """Return every row of the checkpointer, readable and not."""
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    async with store.pool.connection() as conn:
        found = []
        for table in tables:
            for row in await (await conn.execute(f"SELECT * FROM {table}")).fetchall():
                found += [bytes(one).decode("latin-1") if isinstance(one, bytes) else str(one) for one in row.values()]
    return " ".join(found)


async def test_with_a_key_no_word_of_a_thread_is_in_a_table(memory_store: MemoryStore) -> None:
    for key in (KEY, None):
        canary = uuid.uuid4().hex
        config: RunnableConfig = {"configurable": {"thread_id": f"thread {key is None}"}}
        graph = _talk(await _saver(memory_store, key))
        said: Any = {"messages": [("user", f"{canary} a")], "note": f"{canary} b", "price": 41729.25, "sure": True}
        await graph.ainvoke(said, config)
        await graph.aupdate_state(config, {"note": f"{canary} c"})
        stored = await _stored(memory_store)
        # the control: without a key it is found
        assert (canary in stored) is (key is None)
        assert ("41729.75" in stored) is (key is None)
        values = (await graph.aget_state(config)).values
        assert values["note"] == f"{canary} c"
        assert (values["price"], values["rounds"], values["sure"]) == (41729.75, 1, True)
        assert values["messages"][0].content == f"{canary} a"


async def test_threads_of_a_time_without_a_key_are_read_and_go_on(memory_store: MemoryStore) -> None:
    plain, sealed = await _saver(memory_store, None), await _saver(memory_store, KEY)
    await _talk(plain).ainvoke({"messages": [("user", "a")], "note": "sure", "price": 1.0}, AT)
    graph = _talk(sealed)
    await graph.ainvoke(Command(resume="yes"), AT)
    values = (await graph.aget_state(AT)).values
    # neither has changed since
    assert (values["note"], values["price"]) == ("sure", 1.5)
    with pytest.raises(CheckpointRefused, match="MEMORY_ENCRYPTION_KEY"):
        await plain.aget_tuple(AT)


async def test_what_was_changed_or_sealed_elsewhere_is_told_from_a_crash(memory_store: MemoryStore) -> None:
    await _talk(await _saver(memory_store, KEY)).ainvoke({"messages": [], "note": "n", "price": 1.0}, AT)
    other = await _saver(memory_store, bytes(32))
    with pytest.raises(SealError, match="another database"):
        await other.aget_tuple(AT)
    async with memory_store.pool.connection() as conn:
        await conn.execute("UPDATE checkpoint_blobs SET type = 'msgpack+aes'")
    with pytest.raises(SealError, match="something else"):
        await other.aget_tuple(AT)
    with pytest.raises(SealError):
        CheckpointCipher(KEY).decrypt("aes256gcm", b"short")
