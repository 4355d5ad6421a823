"""Undo of the last write: what the user's last words added goes, what they ended is believed again."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from react_mem import open_memory
from react_mem.errors import LegalHoldError, NotThere
from react_mem.memory import MemoryFacade
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.write.turns import Turns
from tests.support.labels import Labeller, Says
from tests.support.rest import client_as


async def believed(memory: MemoryFacade, user: str = "ann") -> set[str]:
    return {one.text for one in (await memory.page(user, kinds=["fact"])).items}


async def test_write_after_write_is_taken_back_and_what_was_said_before_holds_again(memory_store: MemoryStore) -> None:
    async with open_memory(store=memory_store) as memory:
        await memory.add("I play chess.", user_id="bob")
        await memory.add("Con mèo của tôi tên là Mimi.", user_id="ann")
        [home] = await memory.add("I live in Hue.", user_id="ann")
        await memory.update(home.id, "I live in Hanoi.", user_id="ann")
        await memory.add("I live in Hanoi.", user_id="ann")
        await memory.add("Always answer in French.", user_id="ann")
        done = []
        for _ in range(5):
            undone = await memory.undo_last("ann")
            done.append((undone.texts, undone.restored))
        assert done == [
            (["Always answer in French."], []),
            # it was said before as well
            ([], []),
            (["I live in Hanoi."], ["I live in Hue."]),
            (["I live in Hue."], []),
            (["Con mèo của tôi tên là Mimi."], []),
        ]
        with pytest.raises(NotThere, match="nothing to undo"):
            await memory.undo_last("ann")
        assert await memory.list(user_id="ann") == []
        assert await believed(memory, "bob") == {"I play chess."}


async def test_what_a_model_read_of_a_turn_is_taken_back_and_a_waiting_turn_is_not_read(
    memory_store: MemoryStore,
) -> None:
    model = Labeller(Says("green tea", "new"), Says("coffee", "changes", "green tea"), Says("boat", "new"))
    memory = MemoryFacade(memory_store)
    turns = Turns(memory, model, "ann", "monday", "tester")
    said = ["I only drink green tea.", "I only drink coffee now.", "I have a boat."]
    thread, since = [], None
    for number, text in enumerate(said):
        thread += [HumanMessage(text, id=f"q{number}"), AIMessage("Fine.", id=f"a{number}")]
        await turns.close(thread, since)
        since = f"a{number}"
        if "boat" not in text:
            await turns.extract()
    assert len(await memory.pending("ann")) == 1
    assert (await memory.undo_last("ann")).texts == [said[2]]
    assert await memory.pending("ann") == []
    await turns.extract()
    assert await believed(memory) == {"I only drink coffee now."}
    undone = await memory.undo_last("ann")
    assert (undone.texts, undone.restored) == ([said[1]], [said[0]])
    assert await believed(memory) == {said[0]}
    messages = (await memory.dialog.get_context("ann", "monday", 9)).messages
    assert [one.text for one in messages if one.role == "user"] == said


async def test_an_episode_goes_with_the_turn_it_is_of_and_the_rest_of_the_same_time_stays(
    memory_store: MemoryStore,
) -> None:
    async with open_memory(store=memory_store) as memory:
        where = {"user_id": "ann", "session_id": "s", "agent_id": "a"}
        await memory.add("I have a boat.", user_id="ann")
        await memory.episodic.record("Buy a boat", source_ids=["elsewhere"], outcome="bought", **where)
        await memory.add("I live in Hue.", user_id="ann")
        [said] = (await memory.semantic.history(user_id="ann"))[-1].source_ids
        await memory.episodic.record("Move to Hue", source_ids=[said], outcome="moved", **where)
        assert (await memory.undo_last("ann")).texts == ["I live in Hue.", "Move to Hue"]
        left = (await memory.page("ann", kinds=["fact", "episode"])).items
        assert {one.title for one in left} == {"I have a boat.", "Buy a boat"}


async def test_over_rest_it_is_the_callers_own_and_what_is_held_stays(memory_store: MemoryStore) -> None:
    async with open_memory(store=memory_store) as memory, client_as(memory_store, "ann") as client:
        assert (await client.post("/memory/v1/undo")).status_code == 404
        await memory.add("I live in Oslo.", user_id="bob")
        await memory.add("I live in Hue.", user_id="ann")
        await memory.hold("ann", "case 7")
        assert (await client.post("/memory/v1/undo")).status_code == 423
        with pytest.raises(LegalHoldError):
            await memory.undo_last("ann")
        await memory.lift_hold("ann", "case 7")
        answer = await client.post("/memory/v1/undo")
        assert answer.json() == {"texts": ["I live in Hue."], "restored": []}
        assert (await believed(memory), await believed(memory, "bob")) == (set(), {"I live in Oslo."})
