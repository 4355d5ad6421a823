"""What waits to be read is found at once on every store, however much waits, and under names that stay."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.write.turns import Turns

ALLERGY = "I am allergic to peanuts."
OTHERS = [f"Tell me about the weather in town number {number}." for number in range(9)]


async def said(memory: MemoryFacade, session: str, text: str) -> Turns:
    """Close a turn that nobody has read yet."""
    turns = Turns(memory, None, "ann", session, "assistant")
    question, answer = HumanMessage(text, id=f"{session} q"), AIMessage("Noted.", id=f"{session} a")
    await turns.open([question], None)
    await turns.close([question, answer], question.id)
    return turns


async def asked(memory: MemoryFacade, query: str) -> list[MemoryResultItem]:
    scopes = [MemoryScope.DIALOG, MemoryScope.SEMANTIC]
    return await memory.read(
        MemoryQuery(user_id="ann", session_id="new", agent_id="assistant", scopes=scopes, query=query)
    )


def texts(found: list[MemoryResultItem]) -> list[str]:
    return [item.payload["text"] for item in found]


async def test_of_many_turns_that_wait_the_one_that_is_asked_about_is_found(memory: MemoryFacade) -> None:
    for number, text in enumerate([ALLERGY, *OTHERS]):
        await said(memory, f"thread {number}", text)
    assert len(await memory.pending("ann")) == 1 + len(OTHERS)
    found = {item.payload["text"]: item for item in await asked(memory, "What am I allergic to?")}
    assert found[ALLERGY].id == MESSAGE.id("thread 0", "thread 0 q")
    # with what was answered to it
    assert [part.content for part in found[ALLERGY].fragments] == [ALLERGY, "Noted."]


async def test_turns_that_wait_are_found_by_names_that_stay(memory: MemoryFacade) -> None:
    turns = [await said(memory, f"thread {number}", text) for number, text in enumerate([ALLERGY, *OTHERS])]
    found = await asked(memory, "What did I ask about the weather?")
    assert set(texts(found)) & set(OTHERS)
    for each in turns:
        await each.extract()
    assert await memory.pending("ann") == []
    for item in found:
        assert await memory.find("ann", item.id), item.payload["text"]
