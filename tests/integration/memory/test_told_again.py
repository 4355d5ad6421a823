"""What is told again, by whichever way, outlives the forgetting of the conversation that told it first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.identity import CLIENT_SESSION, Identity
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.records import Fact, Wording, fact_id, now
from react_mem.memory.write.by_agent import ToolMemory
from react_mem.memory.write.remembering import REMEMBERED, remember
from tests.integration.keyless.talking import USER, Keyless

CHESS = "I like chess."

Tell = Callable[[MemoryFacade, str], Awaitable[Any]]


async def by_rest(memory: MemoryFacade, text: str) -> None:
    await remember(memory, USER, text, agent_id="keyless")


async def by_mcp(memory: MemoryFacade, text: str) -> None:
    told = await ToolMemory.told(memory, Identity(USER, CLIENT_SESSION), "keyless", text)
    assert await told.store(text, "user", "")


async def by_correction(memory: MemoryFacade, text: str) -> None:
    """Correct it away and back."""
    other = await memory.correct(USER, fact_id("user", text), "I like draughts and nothing else.")
    await memory.correct(USER, other.id, text)


async def fact(memory: MemoryFacade, text: str = CHESS) -> Fact:
    found = await memory.records(USER, MemoryScope.SEMANTIC, [fact_id("user", text)])
    return Fact.from_value(found[fact_id("user", text)])


async def messages(memory: MemoryFacade, session_id: str) -> list[str]:
    page = await memory.page(USER, kinds=["message"], session_id=session_id)
    return [item.text for item in page.items]


@pytest.mark.parametrize("tell", [by_rest, by_mcp, by_correction])
async def test_it_outlives_the_conversation_that_told_it_first(tell: Tell) -> None:
    talk = Keyless()
    await talk.say(CHESS, thread="monday")
    await tell(talk.memory, CHESS)
    assert await talk.facts() == [CHESS]
    receipt = await talk.memory.delete_session(USER, "monday")
    assert not receipt.problems
    left = await fact(talk.memory)
    assert (left.current, left.support) == (True, 1)
    detail = await talk.memory.explain(USER, left.id)
    assert detail is not None
    assert [(source.role, source.quote) for source in detail.provenance] == [("user", CHESS)]
    assert await talk.facts() == [CHESS]


async def test_it_is_one_fact_with_one_message_more_however_often_it_is_told() -> None:
    talk = Keyless()
    await talk.say(CHESS, thread="monday")
    for _ in range(30):
        told = await remember(talk.memory, USER, "  i like CHESS", agent_id="keyless")
        assert (told.new, [item.text for item in told.memories]) == (frozenset(), [CHESS])
    assert told.memories[0].revision == (await talk.memory.page(USER, kinds=["fact"])).items[0].revision
    assert await messages(talk.memory, REMEMBERED) == ["i like CHESS"]
    assert (await fact(talk.memory)).support == 2
    assert await talk.memory.pending(USER) == []


async def test_what_has_been_taken_in_by_another_fact_is_told_there() -> None:
    talk = Keyless()
    await talk.say(CHESS, thread="monday")
    same = Operation("new", "I play and love chess.", source_ids=("m2",))
    [whole] = await write_facts(talk.store, USER, [same], at=now(), session_id="tuesday", agent_id="keyless")
    part = await fact(talk.memory)
    merged = whole.model_copy(
        update={
            "source_ids": (*part.source_ids, "m2"),
            "support": 2,
            "wordings": (Wording(text=CHESS, said_at=part.said_at, source_ids=part.source_ids),),
        }
    )
    over = part.model_copy(update={"current": False, "retired_at": now(), "superseded_by": whole.id})
    namespace = ("memory", USER, "semantic")
    await talk.store.aput(namespace, whole.id, merged.to_value())
    await talk.store.aput(namespace, part.id, over.to_value())
    told = await remember(talk.memory, USER, f"{CHESS} I have a red boat.")
    assert {item.text for item in told.memories} == {"I play and love chess.", "I have a red boat."}
    assert await talk.facts() == ["I have a red boat.", "I play and love chess."]
    await talk.say(CHESS, thread="wednesday")
    assert await talk.facts() == ["I have a red boat.", "I play and love chess."]


async def test_it_is_told_again_where_its_message_is_gone() -> None:
    talk = Keyless()
    await talk.say(CHESS, thread="monday")
    await by_rest(talk.memory, CHESS)
    await talk.memory.delete_session(USER, REMEMBERED)
    await by_rest(talk.memory, CHESS)
    assert await messages(talk.memory, REMEMBERED) == [CHESS]
    await talk.memory.delete_session(USER, "monday")
    assert await talk.facts() == [CHESS]
