"""The checkpointer's reworded SELECT reads what LangGraph's own reads."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.types import ERROR
from langgraph.graph import START, MessagesState, StateGraph

from react_mem.errors import StorageError
from react_mem.memory.store import checkpointer
from react_mem.memory.store.checkpointer import ThreadSaver, check_distributable, reworded
from react_mem.memory.store.postgres import MemoryStore

THREADS = ("a", r"it's 100%s \ of b")


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


def test_another_select_is_left_as_it_is_and_refused_on_distributed_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    check_distributable()
    assert reworded("select * from checkpoints") is None
    monkeypatch.setattr(checkpointer.AsyncPostgresSaver, "SELECT_SQL", "select * from checkpoints")
    with pytest.raises(StorageError, match="langgraph-checkpoint-postgres"):
        check_distributable()


async def test_many_writes_of_a_task_are_kept_as_langgraph_keeps_them(memory_store: MemoryStore) -> None:
    ours, theirs = ThreadSaver(memory_store.pool), AsyncPostgresSaver(memory_store.pool)
    await ours.setup()
    kept = []
    for saver, thread in ((ours, "ours"), (theirs, "theirs")):
        at = await saver.aput(
            {"configurable": {"thread_id": thread, "checkpoint_ns": ""}},
            {**empty_checkpoint(), "channel_values": {f"said{n}": [n] for n in range(20)}},
            {},
            {f"said{n}": "1" for n in range(20)},
        )
        # of a task's channels the first is kept, of what ended it the last
        for writes in ([(f"said{n}", ["%s", n]) for n in range(13)], [("said0", "other"), ("more", 1)]):
            await saver.aput_writes(at, writes, "task")
        await saver.aput_writes(at, [(ERROR, "first"), (ERROR, "last")], "failed")
        await saver.aput_writes(at, [], "idle")
        found = await theirs.aget_tuple(at)
        assert found is not None
        kept.append((found.checkpoint["channel_values"], found.pending_writes))
    assert kept[0] == kept[1]
    assert ("failed", ERROR, "last") in kept[0][1]
