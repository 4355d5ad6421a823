"""Writes to a thread, which wait while its turn is prepared, and for nothing else."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig

from react_mem.memory.store import preparation
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.group_commit import GroupCommit
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.preparation import asking, preparation_of, prepare
from tests.contract.conftest import Graph, build_manager
from tests.contract.test_loop import ANN, thread

LIVES = ["react_mem", "middleware"]


@pytest.fixture(autouse=True)
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let preparations end by what happens, not by a clock."""
    monkeypatch.setattr(preparation, "_LONGEST", 3600.0)
    monkeypatch.setattr(preparation, "_SENDING", 3600.0)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What has been sent to be written to threads."""
    sending, seen = GroupCommit.send, list[Any]()

    async def send(self: GroupCommit, statements: Any) -> None:
        seen.append(statements)
        await sending(self, statements)

    monkeypatch.setattr(GroupCommit, "send", send)
    return seen


async def living(life: str, store: MemoryStore, script: list[Any]) -> Graph:
    graph = build_manager(life, script, store=store)
    graph.checkpointer = saver = ThreadSaver(store.pool)
    await saver.setup()
    return graph


async def kept(graph: Graph) -> list[str]:
    return [message.text for message in (await graph.aget_state(thread("1"))).values["messages"]]


def asked(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


@pytest.mark.parametrize("life", LIVES)
async def test_the_model_is_asked_before_its_thread_is_written(
    life: str, memory_store: MemoryStore, sent: list[Any]
) -> None:
    before: list[int] = []

    def answer(_: Any) -> AIMessage:
        before.append(len(sent))
        return AIMessage("Noted.")

    graph = await living(life, memory_store, [answer])
    await graph.ainvoke(asked("I like tea."), thread("1"), context=ANN)
    assert before == [0]
    assert await kept(graph) == ["I like tea.", "Noted."]


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("how", ["sync", "one at a time"])
async def test_a_run_never_waits_for_what_is_kept_waiting(life: str, how: str, memory_store: MemoryStore) -> None:
    graph = await living(life, memory_store, ["Noted."])
    config: RunnableConfig = thread("1") | ({"max_concurrency": 1} if how == "one at a time" else {})
    options: dict[str, Any] = {} if how == "one at a time" else {"durability": how}
    result = await graph.ainvoke(asked("I like tea."), config, context=ANN, **options)
    assert result["messages"][-1].text == "Noted."


@pytest.mark.parametrize("life", LIVES)
async def test_a_failing_model_leaves_nothing_waiting(life: str, memory_store: MemoryStore) -> None:
    graph = await living(life, memory_store, [RuntimeError("no model")])
    with suppress(Exception):
        await graph.ainvoke(asked("I like tea."), thread("1"), context=ANN)
    assert await kept(graph) == ["I like tea."]


async def test_a_thread_waits_for_its_own_turn_alone(memory_store: MemoryStore) -> None:
    saver = ThreadSaver(memory_store.pool)
    await saver.setup()
    one, other = (
        RunnableConfig(configurable={"thread_id": name, "checkpoint_ns": "", "checkpoint_id": "1"}) for name in "ab"
    )
    prepare(one)
    waiting = asyncio.create_task(saver.aput_writes(one, [("said", "tea")], "task"))
    await saver.aput_writes(other, [("said", "tea")], "task")
    assert not waiting.done()
    with asking(one):
        pass
    await waiting


async def test_a_preparation_ends_soon_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(name: str) -> preparation.Preparation:
        prepare({"configurable": {"thread_id": name}})
        begun = preparation_of(name)
        assert begun is not None
        return begun

    with asking({"configurable": {"thread_id": "slow"}}):
        pass
    slow = of("slow")
    monkeypatch.setattr(preparation, "_SENDING", 0.0)
    with asking({"configurable": {"thread_id": "slow"}}):
        await slow.wait()
    monkeypatch.setattr(preparation, "_LONGEST", 0.0)
    # the one that is over is not asked again
    assert of("slow") is not slow
    await of("never asked").wait()
