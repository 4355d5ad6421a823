"""Histories of channels: what LangGraph finds, read beside the checkpoint where one is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, StateGraph

from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.postgres import MemoryStore


def _joined(kept: Sequence[Any], writes: Sequence[Sequence[Any]]) -> list[Any]:
    return [*kept, *chain.from_iterable(writes)]


class _Said(TypedDict):
    said: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=7)]
    heard: Annotated[list[str], DeltaChannel(_joined)]
    count: int


def _talk(saver: AsyncPostgresSaver) -> Any:
    graph = StateGraph(_Said)
    graph.add_node("a", lambda state: {"said": [f"a{len(state['said'])}"], "count": 1})
    graph.add_node("b", lambda state: {"said": [f"b{len(state['said'])}", "100%s"], "heard": ["a"]})
    graph.add_node("c", lambda state: {"said": ["c"], "heard": ["a", "b"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("a", "c")
    return graph.compile(checkpointer=saver)


CHANNELS = ["said", "heard", "count", "nothing"]


def _thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name, "checkpoint_ns": ""}}


@pytest.fixture
async def ours(memory_store: MemoryStore) -> ThreadSaver:
    saver = ThreadSaver(memory_store.pool)
    await saver.setup()
    return saver


@pytest.fixture
async def theirs(memory_store: MemoryStore, ours: ThreadSaver) -> AsyncPostgresSaver:
    return AsyncPostgresSaver(memory_store.pool)


async def test_every_checkpoint_has_the_history_that_langgraph_finds(
    ours: ThreadSaver, theirs: AsyncPostgresSaver
) -> None:
    talk, config = _talk(ours), _thread("it's 100%s")
    for n in range(6):
        await talk.ainvoke({"said": [f"user {n}"], "heard": []}, config)
    # a fork, whose history is not that of the latest
    older = [one async for one in talk.aget_state_history(config)][9]
    await talk.ainvoke({"said": ["elsewhere"]}, older.config)
    checkpoints = [one.config async for one in theirs.alist(config)]
    gone: RunnableConfig = {"configurable": {**config["configurable"], "checkpoint_id": "gone"}}
    found = []
    for at in [*checkpoints, config, gone, _thread("nobody's")]:
        found.append(await ours.aget_delta_channel_history(config=at, channels=CHANNELS))
        assert found[-1] == await theirs.aget_delta_channel_history(config=at, channels=CHANNELS)
    assert len(checkpoints) > 20
    assert any("seed" in one["said"] for one in found)
    assert any("seed" in one["count"] for one in found)
    assert any(len(one["said"]["writes"]) > 5 for one in found)


async def test_a_run_reads_a_checkpoint_and_its_history_at_once(ours: ThreadSaver, memory_store: MemoryStore) -> None:
    talk, config = _talk(ours), _thread("a")
    await talk.ainvoke({"said": ["hello"]}, config)
    # of whom this process has not read any yet
    assert (await talk.aget_state(config)).values["said"][0] == "hello"
    memory_store.pool.pop_stats()
    state = await talk.aget_state(config)
    assert state.values["said"] == ["hello", "a1", "b2", "100%s", "c"]
    assert memory_store.pool.pop_stats()["requests_num"] == 1


async def _read(saver: ThreadSaver, config: RunnableConfig) -> RunnableConfig:
    """Read a checkpoint, with the history of `said` beside it; return which it is."""
    await saver.aget_delta_channel_history(config=config, channels=["said"])
    found = await saver.aget_tuple(config)
    assert found is not None
    return found.config


async def _said(saver: AsyncPostgresSaver, config: RunnableConfig) -> Any:
    return await saver.aget_delta_channel_history(config=config, channels=["said"])


async def test_what_was_read_beside_a_checkpoint_is_of_no_other(ours: ThreadSaver, theirs: AsyncPostgresSaver) -> None:
    for thread in ("a", "b"):
        for n in range(2):
            await _talk(ours).ainvoke({"said": [f"{thread}{n}"]}, _thread(thread))
    checkpoints = [one.config async for one in theirs.alist(_thread("a"))]
    for other in (*checkpoints, *[one.config async for one in theirs.alist(_thread("b"))]):
        await _read(ours, _thread("a"))
        assert await _said(ours, other) == await _said(theirs, other)
    at = await _read(ours, _thread("a"))
    asked = await ours.aget_delta_channel_history(config=at, channels=["said", "heard"])
    assert asked == await theirs.aget_delta_channel_history(config=at, channels=["said", "heard"])


async def test_what_was_read_beside_a_checkpoint_serves_once_and_at_once(
    ours: ThreadSaver, theirs: AsyncPostgresSaver
) -> None:
    await _talk(ours).ainvoke({"said": ["hello"]}, _thread("a"))
    at = await _read(ours, _thread("a"))
    assert (await _said(ours, at))["said"]["writes"]
    await theirs.adelete_thread("a")
    assert await _said(ours, at) == {"said": {"writes": []}}
    await _talk(ours).ainvoke({"said": ["hello"]}, _thread("b"))
    at = await _read(ours, _thread("b"))
    await ours.adelete_thread("b")
    assert await _said(ours, at) == {"said": {"writes": []}}


async def test_who_writes_between_the_two_is_noticed(
    ours: ThreadSaver, theirs: AsyncPostgresSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = _thread("a")
    await _talk(theirs).ainvoke({"said": ["hello"]}, config)
    await _said(ours, config)
    rows = ours._reads.rows

    async def interrupted(*statements: Any) -> Any:
        first = await rows(*statements[:1])
        await _talk(theirs).ainvoke({"said": ["once more"]}, config)
        return first + await rows(*statements[1:])

    with monkeypatch.context() as patched:
        patched.setattr(ours._reads, "rows", interrupted)
        found = await ours.aget_tuple(config)
    assert found is not None
    assert await _said(ours, found.config) == await _said(theirs, found.config)
    assert await _said(ours, found.config) != await _said(theirs, config)
