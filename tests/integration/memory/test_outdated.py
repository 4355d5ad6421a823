"""A message, or a summary, that says what has changed since: it says so, and comes behind what holds now."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from react_mem.memory.context import Frame, Window, assemble
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.operations import put
from react_mem.memory.model.views import MemoryItem
from tests.integration.memory.conftest import Open
from tests.support.telling import tell

ACME, GLOBEX, CATS = "I work at Acme", "I work at Globex", "I have two cats"
MARCH, MAY = datetime(2026, 3, 2, 9, tzinfo=UTC), datetime(2026, 5, 4, 9, tzinfo=UTC)
CHANGED = "no longer so since 2026-05-04"


async def say(memory: MemoryFacade, text: str, *facts: str, at: datetime = MARCH, **fact: Any) -> str:
    """Let the user say something from which facts are drawn, and return the message's id."""
    said = HumanMessage(text, id=text, additional_kwargs={"said_at": at.isoformat()})
    [message] = await memory.dialog.append("ann", f"{at:%B}", [said])
    for one in facts:
        await tell(memory.store, one, source_ids=[message.id], session_id=f"{at:%B}", at=at, **fact)
    return message.id


def query(asked: str, **more: Any) -> MemoryQuery:
    scopes = [MemoryScope.DIALOG, MemoryScope.SEMANTIC]
    return MemoryQuery(user_id="ann", session_id="now", agent_id="assistant", scopes=scopes, query=asked, **more)


async def found(memory: MemoryFacade, asked: str) -> list[MemoryResultItem]:
    return sorted(await memory.read(query(asked)), key=lambda item: -(item.score or 0))


async def prompt(memory: MemoryFacade, asked: str, session_id: str = "now") -> list[str]:
    thread = [HumanMessage("Hi", id="1"), AIMessage("Hi.", id="2"), HumanMessage(asked, id="3")]
    frame = Frame(thread, memory.policy, Window(8_000, known=True))
    whole = query(asked, extra={"standing": True}).model_copy(update={"session_id": session_id})
    read = await memory.read(whole)
    return assemble(frame, read, session_id=session_id, recalls=True).layout["retrieved"].splitlines()


async def test_what_was_replaced_says_so_and_comes_behind_what_holds_now(memory: MemoryFacade) -> None:
    old = await say(memory, f"{ACME}.", ACME)
    await say(memory, f"{GLOBEX} now.", GLOBEX, at=MAY, relation="changes", target=ACME)
    read = await found(memory, "Do I work at Acme?")
    places = {item.payload["text"]: place for place, item in enumerate(read)}
    assert places[GLOBEX] < places[f"{ACME}."]
    views = {item.id: MemoryItem.found(item, MAY) for item in read}
    assert [id_ for id_, view in views.items() if not view.current] == [old]
    assert views[old].changed == f"{CHANGED}; now: {GLOBEX}"
    lines = await prompt(memory, "Do I work at Acme?")
    assert lines[lines.index(f"- [message 2026-03-02, user] {ACME}.") + 1] == f"  ({CHANGED}; now: {GLOBEX})"


async def test_of_a_message_of_several_things_only_what_has_changed_is_named(memory: MemoryFacade) -> None:
    old = await say(memory, f"{ACME} and {CATS}.", ACME, CATS)
    await say(memory, "I left Acme.", GLOBEX, at=MAY, relation="changes", target=ACME)
    [item] = [item for item in await found(memory, "Do I have two cats?") if item.id == old]
    view = MemoryItem.found(item, MAY)
    assert (view.current, view.in_doubt) == (True, True)
    assert view.changed == f"{CHANGED}: {ACME}; now: {GLOBEX}"


async def test_what_has_ended_says_so_and_what_is_believed_again_does_not(memory: MemoryFacade) -> None:
    await say(memory, f"{ACME}.", ACME)
    await say(memory, "I left Acme.", "", at=MAY, relation="ends", target=ACME)
    assert f"  ({CHANGED})" in await prompt(memory, "Do I work at Acme?")
    await say(memory, f"{ACME} again.", ACME, at=MAY.replace(month=6))
    assert not [line for line in await prompt(memory, "Do I work at Acme?") if "no longer" in line]


async def test_an_instruction_that_was_replaced_instructs_no_more(memory: MemoryFacade) -> None:
    rule = "Always answer me in French."
    await say(memory, rule, rule)
    asked = "Will you answer me in French?"
    assert [line for line in await prompt(memory, asked) if line.startswith("# Instructions")]
    await say(memory, "No, in English.", "Answer in English.", at=MAY, relation="changes", target=rule)
    assert not [line for line in await prompt(memory, asked) if line.startswith("# Instructions")]


@pytest.mark.parametrize("session", ["April", "March"])
async def test_a_summary_that_states_what_has_changed_says_so(open_memory: Open, session: str) -> None:
    memory = open_memory(context={"dialog_turns": 1})
    await say(memory, f"{ACME}.", ACME)
    text = "The user works at Acme."
    # found in another conversation, and standing for the beginning of its own
    summary = memory.dialog.summary(text, session_id="March", agent_id="a", at=MARCH)
    entry = ChainEntry(id=summary.id, level="1", text=text, at=MARCH, first_turn=0, last_turn=0)
    chain = ContextChain.begin("March", "a").model_copy(update={"entries": (entry,)})
    await memory.apply([put("ann", summary), put("ann", chain)])
    await say(memory, "I left Acme.", GLOBEX, at=MAY, relation="changes", target=ACME)
    lines = await prompt(memory, "Do I work at Acme?", session)
    [line] = [number for number, line in enumerate(lines) if text in line]
    assert lines[line + 1] == f"  ({CHANGED}: {ACME}; now: {GLOBEX})"


async def test_as_of_a_time_it_is_as_it_was(memory: MemoryFacade) -> None:
    await say(memory, f"{ACME}.", ACME)
    await say(memory, f"{GLOBEX} now.", GLOBEX, at=MAY, relation="changes", target=ACME)
    assert not [item for item in await memory.read(query("Do I work at Acme?", as_of=MARCH)) if item.doubts]
