"""An outline is read for questions about a whole conversation, and for no others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.concepts import Alias, Concept
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.operations import put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.outline import ASKS_WHOLE, OUTLINE

SAID = ["I plan a trip to Hue.", "Thanks!", "The trip needs a budget of 900 dollars.", "I booked the trip."]


async def spoken(**policy: Any) -> MemoryFacade:
    memory = MemoryFacade(InMemoryStore(), MemoryPolicy.model_validate(policy))
    for number, text in enumerate(SAID):
        messages = [
            HumanMessage(text, id=f"q{number}"),
            AIMessage(f"Certainly! Here it is:\nAnswer number {number} in full.", id=f"a{number}"),
        ]
        await memory.dialog.append("ann", f"session-{number % 2}", messages, agent_id="tester")
    return memory


async def read(memory: MemoryFacade, **fields: Any) -> list[MemoryResultItem]:
    extra = {ASKS_WHOLE: True, **fields.pop("extra", {})}
    asked = {"user_id": "ann", "session_id": "now", "agent_id": "tester", "scopes": [MemoryScope.DIALOG], **fields}
    return await memory.read(MemoryQuery.model_validate({"query": "How did my trip go?", "extra": extra, **asked}))


def outlines(results: list[MemoryResultItem]) -> list[list[dict[str, str]]]:
    return [item.payload["exchanges"] for item in results if item.source == OUTLINE]


async def test_each_exchange_is_told_by_its_beginnings() -> None:
    [exchanges] = outlines(await read(await spoken()))
    told = {one["said"]: one["answer"] for one in exchanges}
    # thanks are nothing to tell of, and neither is what leads the answer in
    assert told == {SAID[number]: f"Answer number {number} in full." for number in (0, 2, 3)}
    assert {one["id"] for one in exchanges} == {
        message_record_id(f"session-{number % 2}", HumanMessage("", id=f"q{number}")) for number in (0, 2, 3)
    }


async def test_the_other_memories_are_those_without_an_outline() -> None:
    memory = await spoken()
    *others, last = await read(memory)
    assert last.source == OUTLINE
    assert [one.id for one in others] == [one.id for one in await read(memory, extra={ASKS_WHOLE: False})]


async def test_nothing_else_brings_an_outline() -> None:
    for fields in ({"extra": {ASKS_WHOLE: False}}, {"query": ""}, {"scopes": [MemoryScope.SEMANTIC]}):
        assert outlines(await read(await spoken(), **fields)) == []
    assert outlines(await read(await spoken(recall={"dialog": False}))) == []


async def test_what_the_caller_has_and_what_is_forgotten_is_not_in_it() -> None:
    memory = await spoken()
    seen = [message_record_id("session-0", HumanMessage("", id="q0"))]
    [exchanges] = outlines(await read(memory, extra={"seen": seen}))
    assert {one["said"] for one in exchanges} == {SAID[2], SAID[3]}
    await memory.delete_session("ann", "session-1")
    [exchanges] = outlines(await read(memory))
    assert {one["said"] for one in exchanges} == {SAID[0], SAID[2]}


async def test_a_summary_of_a_stretch_is_in_it() -> None:
    memory = await spoken()
    summary = memory.dialog.summary("User planned a trip.", session_id="session-0", agent_id="tester")
    await memory.dialog._keep("ann", [summary, summary.model_copy(update={"id": "wide", "covers": 6, "chain": True})])
    [outline] = [item.payload for item in await read(memory) if item.source == OUTLINE]
    assert [(one["id"], one["covers"]) for one in outline["summaries"]] == [("wide", "6")]


async def test_who_and_what_is_named_is_told_with_the_day_since_when() -> None:
    memory = await spoken()
    since = datetime(2026, 3, 5, tzinfo=UTC)
    for name, origin in (("Hue", Origin.USER), ("Rome", Origin.USER), ("Trip", Origin.WEB)):
        alias = Alias(name=name, since=since, source_ids=("f",))
        concept = Concept(id=name, text=name, name=name, aliases=(alias,), session_id="s", agent_id="a", origin=origin)
        await memory.apply([put("ann", concept)])
    both = [MemoryScope.DIALOG, MemoryScope.SEMANTIC]
    [outline] = [item.payload for item in await read(memory, scopes=both) if item.source == OUTLINE]
    # what nobody named in it, and what a page calls something, is left out
    assert outline["concepts"] == [{"name": "Hue", "since": "2026-03-05T00:00:00Z"}]
