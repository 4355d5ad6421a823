"""With a key no table of the checkpointer holds a word of a thread, and every thread is read as without one."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any, NotRequired

import pytest
from langchain.agents import AgentState
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import CheckpointRefused, EncryptionKeyError, SealError
from react_mem.memory.opening import open_storage
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.serialisation import CheckpointCipher
from react_mem.memory.store.storage_settings import StorageSettings
from tests.support.crafted import crafted
from tests.support.scripted_model import ScriptedModel

KEY = bytes(range(32))
AT: RunnableConfig = {"configurable": {"thread_id": "ann", "checkpoint_ns": ""}}


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


async def _saver(store: MemoryStore, key: bytes | None) -> ThreadSaver:
    saver = ThreadSaver(store.pool, key)
    await saver.setup()
    return saver


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


async def test_a_sealed_thread_goes_on(memory_store: MemoryStore) -> None:
    graph = _talk(await _saver(memory_store, KEY))
    await graph.ainvoke({"messages": [("user", "a")], "note": "sure", "price": 1.0}, AT)
    done = await graph.ainvoke(Command(resume="yes"), AT)
    assert [message.content for message in done["messages"]] == ["a", "yes"]
    history = [state.values.get("price") async for state in graph.aget_state_history(AT)]
    assert history[0] == 1.5
    assert 1.0 in history


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


async def test_a_step_stores_what_it_has_not_changed_no_second_time(
    memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed: list[bytes] = []
    encrypt = CheckpointCipher.encrypt

    def noted(self: CheckpointCipher, plaintext: bytes) -> tuple[str, bytes]:
        sealed.append(plaintext)
        return encrypt(self, plaintext)

    monkeypatch.setattr(CheckpointCipher, "encrypt", noted)

    async def step(saver: ThreadSaver, note: str, new: bool = False) -> int:
        """Return how many values a step seals that has a note of the version that is named like it."""
        sealed.clear()
        versions: Any = {"note": note}
        checkpoint = {**empty_checkpoint(), "channel_values": {"note": note}, "channel_versions": versions}
        at = await saver.aput(AT, checkpoint, {}, versions if new else {})
        found = await saver.aget_tuple(at)
        assert found is not None
        assert found.checkpoint["channel_values"] == {"note": note}
        return len(sealed)

    saver = await _saver(memory_store, KEY)
    assert await step(saver, "first", new=True) == 1
    assert await step(saver, "first") == 0
    assert await step(saver, "second", new=True) == 1
    assert await step(saver, "second") == 0
    # another process does not know who has stored it, and how
    other = await _saver(memory_store, KEY)
    assert await step(other, "second") == 1
    assert await step(other, "second") == 0
    await saver.adelete_thread("ann")
    assert await step(saver, "second") == 1
    inner: RunnableConfig = {"configurable": {"thread_id": "ann", "checkpoint_ns": "inner"}}
    monkeypatch.setitem(AT, "configurable", inner["configurable"])
    assert await step(saver, "second") == 1


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


def test_every_change_of_a_sealed_value_is_seen() -> None:
    cipher = CheckpointCipher(KEY)
    name, sealed = cipher.encrypt(b"words")
    assert cipher.decrypt(name, sealed) == b"words"
    assert cipher.encrypt(b"words")[1] != sealed
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(SealError):
            cipher.decrypt(name, bytes(changed))


async def test_a_crafted_row_runs_nothing_with_a_key_either(memory_store: MemoryStore, tmp_path: Path) -> None:
    saver = await _saver(memory_store, KEY)
    canary = tmp_path / "canary"
    versions: Any = {"said": "1"}
    checkpoint = {**empty_checkpoint(), "channel_values": {"said": ["x"]}, "channel_versions": versions}
    at = await saver.aput(AT, checkpoint, {}, versions)
    cipher = CheckpointCipher(KEY)
    for form, blob in crafted(canary).values():
        name, sealed = cipher.encrypt(blob)
        for row in ((form, blob), (f"{form}+{name}", sealed)):
            async with memory_store.pool.connection() as conn:
                await conn.execute("UPDATE checkpoint_blobs SET type = %s, blob = %s", row)
            try:
                await saver.aget_tuple(at)
            except CheckpointRefused:
                assert form in ("json", "pickle")
            assert not canary.exists()


class _Place(BaseModel):
    name: str


class _OwnState(AgentState[Any]):
    place: NotRequired[_Place]


async def test_the_types_of_an_agent_are_built_from_sealed_threads(memory_store: MemoryStore) -> None:
    agent = resolve_agent(
        AgentConfig(name="traveller", manager="react_mem"),
        model=ScriptedModel(script=["noted"]),
        state_schema=_OwnState,
    )
    graph = build_agent(agent, checkpointer=await _saver(memory_store, KEY), store=memory_store)
    word = uuid.uuid4().hex
    await graph.ainvoke(
        {"messages": [("user", word)], "place": _Place(name=word)},
        AT,
        context={"user_id": "ann"},  # type: ignore[arg-type]
    )
    values = (await graph.aget_state(AT)).values
    assert values["place"] == _Place(name=word)
    assert [message.content for message in values["messages"]] == [word, "noted"]
    assert word not in await _stored(memory_store)


async def test_storage_seals_threads_by_the_key_of_its_settings(database_url: str) -> None:
    settings = StorageSettings(database_url=database_url, encryption_key=os.urandom(32).hex())
    canary = uuid.uuid4().hex
    for _ in range(2):  # opened again, it reads what it has written
        async with open_storage(settings) as storage:
            graph = _talk(storage.checkpointer)  # type: ignore[arg-type]
            await graph.ainvoke({"messages": [("user", canary)], "note": canary, "price": 1.0}, AT)
            assert (await graph.aget_state(AT)).values["note"] == canary
            assert canary not in await _stored(storage.store)
    with pytest.raises(EncryptionKeyError):
        async with open_storage(StorageSettings(database_url=database_url)):
            pass
