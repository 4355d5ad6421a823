"""Threads go with their users: those of agents without memory too, and never those that a file only names."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import AgentConfig
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.store.checkpointer import note_thread, thread_marks


async def answered(store: BaseStore, threads: InMemorySaver, user_id: str, thread: str, manager: str = "react") -> None:
    """Have an agent answer a user in a thread."""
    config = AgentConfig.model_validate({"name": "tester", "manager": manager})
    model = GenericFakeChatModel(messages=iter([AIMessage("Noted.")]))
    async with open_agent(config, model=model, store=store, checkpointer=threads) as agent:
        said = {"messages": [HumanMessage("I keep a zebrafish")]}
        await agent.ainvoke(said, {"configurable": {"thread_id": thread}}, context={"user_id": user_id})


async def is_there(threads: InMemorySaver, thread: str) -> bool:
    return await threads.aget_tuple({"configurable": {"thread_id": thread}}) is not None


async def test_the_threads_of_an_agent_without_memory_go_with_their_user() -> None:
    store, threads = InMemoryStore(), InMemorySaver()
    await answered(store, threads, "ann", "hers")
    await answered(store, threads, "bob", "his")
    sessions = await MemoryFacade(store, checkpointer=threads).forget_user("ann")
    assert (sessions, sessions.receipt.problems) == (["hers"], ())
    assert [await is_there(threads, thread) for thread in ("hers", "his")] == [False, True]
    assert await thread_marks(store, "ann") == []


async def test_one_thread_of_an_agent_without_memory_can_be_forgotten() -> None:
    store, threads = InMemoryStore(), InMemorySaver()
    for thread in ("one", "two"):
        await answered(store, threads, "ann", thread)
    memory = MemoryFacade(store, checkpointer=threads)
    assert (await memory.delete_session("bob", "one")).problems == ()
    assert await is_there(threads, "one")
    assert (await memory.delete_session("ann", "one")).problems == ()
    assert [await is_there(threads, thread) for thread in ("one", "two")] == [False, True]
    assert [mark.value["thread_id"] for mark in await thread_marks(store, "ann")] == ["two"]


async def test_a_thread_of_which_nothing_is_remembered_any_more_goes_with_its_user() -> None:
    store, threads = InMemoryStore(), InMemorySaver()
    await answered(store, threads, "ann", "hers", manager="react_mem")
    memory = MemoryFacade(store, checkpointer=threads)
    await memory.forget("ann", *[item.id for item in await memory.list_records("ann")])
    assert await memory.forget_user("ann") == ["hers"]
    assert not await is_there(threads, "hers")


@pytest.mark.parametrize("how", ["user", "conversation"])
async def test_a_file_that_names_a_thread_of_somebody_else_gives_nobody_that_thread(
    how: str, memory: MemoryFacade
) -> None:
    threads = InMemorySaver()
    memory.checkpointer = threads
    config: Any = {"configurable": {"thread_id": "monday", "checkpoint_ns": ""}}
    await threads.aput(config, empty_checkpoint(), {}, {})
    [said] = await memory.dialog.append("bob", "monday", [HumanMessage("I have a boat", id="1")], agent_id="a")
    await memory.semantic.add(
        [{"text": "I have a boat", "source_ids": [said.id]}], user_id="bob", session_id="monday", agent_id="a"
    )
    await memory.import_user("mallory", [line async for line in memory.export_user("bob")])
    if how == "user":
        assert await memory.forget_user("mallory") == []
    else:
        await memory.delete_session("mallory", "monday")
    assert await is_there(threads, "monday")
    assert [line async for line in memory.export_user("mallory")][1:] == []
    # who spoke there may have it deleted
    assert await memory.forget_user("bob") == ["monday"]
    assert not await is_there(threads, "monday")


async def test_a_thread_is_noted_once_by_a_process_and_again_after_its_user_was_forgotten() -> None:
    class Counting(InMemoryStore):
        puts = 0

        async def aput(self, *arguments: Any, **options: Any) -> None:
            self.puts += 1
            await super().aput(*arguments, **options)

    store = Counting()
    for _ in range(3):
        await note_thread(store, "ann", "one")
    assert store.puts == 1
    await MemoryFacade(store).forget_user("ann")
    await note_thread(store, "ann", "one")
    assert [mark.value["thread_id"] for mark in await thread_marks(store, "ann")] == ["one"]


async def test_a_store_that_fails_to_note_a_thread_fails_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(InMemoryStore):
        async def aput(self, *_arguments: Any, **_options: Any) -> None:
            raise ConnectionError("secret of the connection")

    threads = InMemorySaver()
    await answered(Failing(), threads, "ann", "hers")
    assert await is_there(threads, "hers")
    assert "whose a thread is could not be noted" in caplog.text
