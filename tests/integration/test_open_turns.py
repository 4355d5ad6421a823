"""A turn that never closed and is no longer in the thread: stopped, rolled back, said anew. It is not believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from react_mem.errors import ModelCallError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Extraction, Operation, TranscriptMessage
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.write.following import BranchesOf
from react_mem.memory.write.turns import Turns
from tests.integration.test_forks import HANOI, HUE, Thread, agent, kind, store, way
from tests.support.scripted_model import ScriptedModel

__all__ = ["kind", "store", "way"]


class Stopped(Thread):
    """A thread of which runs can be stopped before they are answered."""

    async def stop(self, text: str) -> None:
        """Say something in a run that ends before it is answered."""
        self.model.script.insert(len(self.model.prompts), RuntimeError("stopped"))
        with pytest.raises((ModelCallError, RuntimeError)):
            await self.say(text)

    async def roll_back(self) -> None:
        """Take the thread's only run back, as a server does: its checkpoints are gone."""
        saver = self.graph.checkpointer
        assert isinstance(saver, InMemorySaver)
        await saver.adelete_thread(self.name)

    async def remove(self, text: str) -> None:
        said: list[BaseMessage] = (await self.graph.aget_state(self.config)).values["messages"]
        gone = [RemoveMessage(str(message.id)) for message in said if message.text == text]
        await self.graph.aupdate_state(self.config, {"messages": gone})

    async def recovered(self) -> None:
        """Have what waits drawn from, as a worker does some time after a run has stopped."""
        policy = MemoryPolicy(extraction={"mode": "inline"})
        for agent_id in ("tester", "agent"):
            await Turns(MemoryFacade(self.store, policy), None, "ann", self.name, agent_id).extract()
        assert await self.pending() == 0


@pytest.fixture
def talk(kind: str, store: BaseStore) -> Stopped:
    model = ScriptedModel(script=[f"noted {number}" for number in range(40)])
    return Stopped(agent(kind, store, model), model, store)


@pytest.mark.parametrize("drawn", [False, True])
async def test_what_was_stopped_and_said_anew_is_not_believed(talk: Stopped, drawn: bool) -> None:
    await talk.say("My name is Ann.")
    await talk.stop(HUE)
    if drawn:
        await talk.recovered()
        assert HUE in await talk.facts()
    await talk.say(HANOI, at=await talk.before(HUE))
    assert HUE not in talk.prompt()
    await talk.say("I like tea.")
    assert await talk.facts() == ["I like tea.", HANOI, "My name is Ann."]
    assert HUE not in await talk.said()


@pytest.mark.parametrize("drawn", [False, True])
async def test_a_first_message_that_was_rolled_back_is_not_believed(talk: Stopped, drawn: bool) -> None:
    await talk.stop(HUE)
    if drawn:
        await talk.recovered()
        assert HUE in await talk.facts()
    await talk.roll_back()
    await talk.say(HANOI)
    assert HUE not in talk.prompt()
    await talk.say("I like tea.")
    assert await talk.facts() == ["I like tea.", HANOI]
    assert HUE not in await talk.said()
    # it stays away when the thread forks again
    await talk.say("I have a cat.", at=await talk.before("I like tea."))
    assert await talk.facts() == ["I have a cat.", HANOI]
    assert HUE not in await talk.said()


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("first", [False, True])
async def test_what_was_stopped_and_removed_is_not_believed(talk: Stopped, drawn: bool, first: bool) -> None:
    if not first:
        await talk.say("My name is Ann.")
    await talk.stop(HUE)
    if drawn:
        await talk.recovered()
    await talk.remove(HUE)
    await talk.say(HANOI)
    assert HUE not in talk.prompt()
    await talk.say("I like tea.")
    assert await talk.facts() == sorted(["I like tea.", HANOI, *([] if first else ["My name is Ann."])])


@pytest.mark.parametrize("drawn", [False, True])
async def test_what_was_stopped_and_stays_in_the_thread_is_believed(talk: Stopped, drawn: bool) -> None:
    await talk.say("My name is Ann.")
    await talk.stop(HUE)
    if drawn:
        await talk.recovered()
    await talk.say("I like tea.")
    await talk.say("I have a cat.", at=await talk.before("I like tea."))
    assert await talk.facts() == ["I have a cat.", HUE, "My name is Ann."]


async def test_a_thread_that_is_emptied_after_a_stopped_turn_retracts_nothing(talk: Stopped) -> None:
    await talk.say("My name is Ann.")
    await talk.stop(HUE)
    messages = (await talk.graph.aget_state(talk.config)).values["messages"]
    await talk.graph.aupdate_state(talk.config, {"messages": [RemoveMessage(str(m.id)) for m in messages]})
    await talk.say("I like tea.")
    assert await talk.facts() == ["I like tea.", HUE, "My name is Ann."]


async def test_what_is_left_behind_while_it_is_read_is_not_written(store: BaseStore) -> None:
    class Reader:
        async def extract(self, transcript: Sequence[TranscriptMessage], *_: Any, **__: Any) -> Extraction:
            # meanwhile the thread goes on from before the message
            await BranchesOf(store, "ann", "1").follow(message_record_id("1", thread[1]))
            said = [m for m in transcript if m.role == "user"]
            return Extraction([Operation("new", m.text, source_ids=(m.id,)) for m in said], calls=1)

    turns = Turns(MemoryFacade(store), Reader(), "ann", "1", "tester")
    thread = [HumanMessage("I like tea.", id="q0"), AIMessage("ok", id="a0"), HumanMessage(HUE, id="q1")]
    await turns.close(thread[:2], None)
    await turns.open(thread, "a0")
    assert (await turns.extract()).waiting == 1
    await turns.extract()
    found = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=100)
    assert [item.value["text"] for item in found if item.value["current"]] == ["I like tea."]
