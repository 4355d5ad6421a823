"""A conversation that a client tells of is no thread of ours: none goes with it that is called the same."""

from __future__ import annotations

from datetime import timedelta

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.memory import MemoryFacade, MemoryPolicy
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.model.records import now
from react_mem.memory.rights.retention import retain
from react_mem.memory.write.lifecycle import AgentMemory
from react_mem.memory.write.remembering import ClientMessage, store_told

THREAD = "7b1f6c3e-7a6e-4a52-9a7b-0d1d0f6a2c11"
AGENT = AgentMemory("a", MemoryPolicy())


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
async def threads() -> InMemorySaver:
    """The threads, one of them somebody's."""
    saver = InMemorySaver()
    await saver.aput({"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})
    return saver


async def is_there(threads: InMemorySaver) -> bool:
    return await threads.aget_tuple({"configurable": {"thread_id": THREAD}}) is not None


async def tell(store: InMemoryStore) -> None:
    turns = AGENT.turns(store, Identity("bob", THREAD, threaded=False))
    await store_told(turns, [ClientMessage("user", "I live in Hue."), ClientMessage("assistant", "Nice.")])
    await turns.extract()


@pytest.mark.parametrize("way", ["conversation", "user", "retention"])
async def test_what_is_told_goes_and_the_thread_of_somebody_else_stays(
    store: InMemoryStore, threads: InMemorySaver, way: str
) -> None:
    await tell(store)
    memory = MemoryFacade(store, checkpointer=threads)
    match way:
        case "conversation":
            await memory.delete_session("bob", THREAD)
        case "user":
            await memory.forget_user("bob")
        case _:
            kept = {"a": RetentionSettings(dialog="1d", semantic="1d")}
            assert (await retain(store, threads, "bob", kept, at=now() + timedelta(days=9))).total
    assert not [line async for line in memory.export_user("bob") if "Hue" in line]
    assert await is_there(threads)


async def test_a_thread_of_ours_goes_with_its_conversation(store: InMemoryStore, threads: InMemorySaver) -> None:
    turns = AGENT.turns(store, Identity("ann", THREAD))
    await turns.open([HumanMessage("I live in Hue.", id="1")], None)
    await MemoryFacade(store, checkpointer=threads).delete_session("ann", THREAD)
    assert not await is_there(threads)
