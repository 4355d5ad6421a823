"""A conversation is read as of a time on every store, whether it has been drawn from or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryResults, MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.write.turns import Turns

TOLD = "I have a dentist appointment on Monday."
NOTED = "Noted: the dentist on Monday."


async def read(memory: MemoryFacade, at: datetime, query: str | None = "dentist") -> MemoryResults:
    return await memory.read(
        MemoryQuery(
            user_id="ann", session_id="new", agent_id="assistant", scopes=list(MemoryScope), query=query, as_of=at
        )
    )


async def test_an_answer_that_came_later_is_no_part_of_it(memory: MemoryFacade) -> None:
    begun = datetime.now(UTC)
    turns = Turns(memory, None, "ann", "monday", "assistant")
    question, answer = HumanMessage(TOLD, id="q"), AIMessage(NOTED, id="a")
    await turns.open([question], None)
    await turns.close([question, answer], question.id)
    ids = [MESSAGE.id("monday", id_) for id_ in "qa"]
    stored = await memory.records("ann", MemoryScope.DIALOG, ids)
    asked, answered = (datetime.fromisoformat(stored[id_]["created_at"]) for id_ in ids)
    for drawn in (False, True):
        if drawn:
            await turns.extract()
        for at, expected in ((begun, []), (asked, [[TOLD]]), (answered, [[TOLD, NOTED]])):
            found = [item for item in await read(memory, at) if item.payload.get("role") == "user"]
            assert [[part.content for part in item.fragments] for item in found] == expected


@pytest.mark.parametrize("query", ["dentist", None])
async def test_what_somebody_else_keeps_there_was_made_when_it_was_stored(
    memory: MemoryFacade, query: str | None
) -> None:
    before = datetime.now(UTC) - timedelta(hours=1)
    for scope in (MemoryScope.DIALOG, MemoryScope.EPISODIC):
        await memory.store.aput(scope_namespace("ann", scope), "theirs", {"text": "The dentist is on Monday."})
    assert await read(memory, before, query) == []
    assert {item.id for item in await read(memory, before + timedelta(hours=2), query)} == {"theirs"}
