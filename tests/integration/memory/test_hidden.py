"""What a model reads as a wish to forget is hidden, comes back as it was, and is erased when its time is over."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore

from react_mem.errors import LegalHoldError
from react_mem.memory import MemoryFacade, MemoryQuery, MemoryScope
from react_mem.memory.maintenance.runner import AgentRunner
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import now
from react_mem.memory.rights.hidden import erase_due
from react_mem.memory.store.capabilities import everything, set_aside
from react_mem.memory.work.items import Work, work_namespace
from react_mem.memory.write.conversations import end_conversation
from react_mem.memory.write.turns import Turns
from tests.support.labels import Labeller, Says

LEARNS = Labeller(Says("green tea", "new", text="User likes green tea."), Says("boat"))
FORGETS = Labeller(Says("Forget", "forget", "green tea"), Says("boat"))
WISH = "Forget that I like green tea!"


def turns(memory: MemoryFacade, user: str, model: Any, session: str) -> Turns:
    return Turns(memory, model, user, session, "tester")


async def said(memory: MemoryFacade, user: str, text: str, session: str, model: Any) -> None:
    spoken = turns(memory, user, model, session)
    await spoken.close([HumanMessage(text, id=f"{session}q"), AIMessage("Fine.", id=f"{session}a")], None)
    await spoken.extract()


async def state(store: BaseStore, user: str) -> dict[Any, Any]:
    items = [*await everything(store, user), *await set_aside(store, user)]
    return {(item.namespace, item.key): item.value for item in items}


def asked(user: str) -> MemoryQuery:
    return MemoryQuery(
        user_id=user, session_id="9", agent_id="tester", scopes=list(MemoryScope), query="Do I like green tea?"
    )


async def told(memory: MemoryFacade, user: str) -> str:
    """Return all that is found, listed and stored."""
    return f"{await memory.read(asked(user))} {await memory.list_records(user)} {await state(memory.store, user)}"


@pytest.fixture
def inline(memory: MemoryFacade) -> MemoryFacade:
    return MemoryFacade(
        memory.store, MemoryPolicy.model_validate({"extraction": {"mode": "inline", "recover_after": 0}})
    )


async def hide(memory: MemoryFacade, user: str) -> dict[Any, Any]:
    """Have a wish read; return what memory was like before."""
    await said(memory, user, "I like green tea. I have a boat.", "1", LEARNS)
    before = await state(memory.store, user)
    await said(memory, user, WISH, "2", FORGETS)
    return before


async def test_it_is_hidden_at_once_and_comes_back_as_it_was(inline: MemoryFacade) -> None:
    before = await hide(inline, "ann")
    assert "green tea" not in await told(inline, "ann")
    [one] = await inline.hidden("ann")
    assert one.texts == ["I like green tea."]
    assert await inline.hidden("bob") == []
    with pytest.raises(LookupError):
        await inline.undo("bob", one.id)
    await inline.undo("ann", one.id)
    assert inline.last_known(asked("ann")) is None, "what was read without it does not stand in for what is"
    after = await state(inline.store, "ann")
    assert {place: after[place] for place in before} == before
    assert "I like green tea." in await told(inline, "ann")
    assert WISH in str(after), "the user's message is theirs"
    assert await inline.hidden("ann") == []
    with pytest.raises(LookupError):
        await inline.erase("ann", one.id)
    # nor does the end of the conversation read the wish once more
    await end_conversation(turns(inline, "ann", FORGETS, "2"))
    assert [fact.text for fact in await inline.semantic.history(user_id="ann") if fact.current] == [
        "I have a boat.",
        "I like green tea.",
    ]


async def test_what_was_said_since_stays_when_it_comes_back(inline: MemoryFacade) -> None:
    await hide(inline, "cid")
    await said(inline, "cid", "I like green tea. I have a dog.", "3", Labeller(Says("green tea"), Says("dog")))
    [one] = await inline.hidden("cid")
    await inline.undo("cid", one.id)
    facts = [fact.text for fact in await inline.semantic.history(user_id="cid") if fact.current]
    assert sorted(facts) == ["I have a boat.", "I have a dog.", "I like green tea."]


async def test_it_is_erased_when_the_user_confirms(inline: MemoryFacade) -> None:
    await hide(inline, "dan")
    [one] = await inline.hidden("dan")
    receipt = await inline.erase("dan", one.id)
    assert receipt.removed["fact"]
    assert receipt.is_gone
    assert [check.hits for check in receipt.checks if check.name == "hidden"] == [0]
    assert "green tea" not in str(await inline.store.asearch(("memory", "dan"), limit=1_000))


async def test_a_worker_erases_it_when_its_day_is_over(inline: MemoryFacade, monkeypatch: pytest.MonkeyPatch) -> None:
    await hide(inline, "eve")
    [item] = await inline.store.asearch(work_namespace("eve"), filter={"kind": "erase"})
    work = Work.from_value(item.value)
    runner = AgentRunner(lambda store, owner: turns(inline, owner.user_id, None, owner.session_id))
    early = await runner.run(inline.store, "eve", work)
    assert (await inline.hidden("eve"))[0].erase_at == early.due_at
    later = now() + timedelta(days=1, minutes=1)
    monkeypatch.setattr("react_mem.memory.rights.hidden.now", lambda: later)
    await inline.hold("eve", "case-1")
    assert (await runner.run(inline.store, "eve", work)).due_at is not None
    with pytest.raises(LegalHoldError):
        await inline.erase("eve", (await inline.hidden("eve"))[0].id)
    await inline.lift_hold("eve", "case-1")
    assert (await runner.run(inline.store, "eve", work)).due_at is None
    assert "green tea" not in str(await inline.store.asearch(("memory", "eve"), limit=1_000))


async def test_what_the_user_forgets_for_good_meanwhile_does_not_come_back(inline: MemoryFacade) -> None:
    await hide(inline, "fay")
    await said(inline, "fay", "I like green tea.", "3", LEARNS)
    await inline.forget_said("fay", "I like green tea.")
    assert "I like green tea" not in str(await inline.store.asearch(("memory", "fay"), limit=1_000))
    await hide(inline, "gus")
    await inline.delete_session("gus", "1")
    for one in await inline.hidden("gus"):
        await inline.undo("gus", one.id)
    assert "I like green tea. I have a boat." not in str(await inline.store.asearch(("memory", "gus"), limit=1_000))


async def test_two_workers_may_erase_at_the_same_time(inline: MemoryFacade, monkeypatch: pytest.MonkeyPatch) -> None:
    await hide(inline, "hal")
    later = now() + timedelta(days=1, minutes=1)
    monkeypatch.setattr("react_mem.memory.rights.hidden.now", lambda: later)
    done = await asyncio.gather(*(erase_due(inline.store, "hal") for _ in range(4)))
    assert sum(len(receipts) for receipts, _ in done) == 1
    assert await inline.hidden("hal") == []
