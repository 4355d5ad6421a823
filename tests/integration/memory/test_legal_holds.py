"""Under a legal hold nothing is removed; the error names the hold; lifting it lets everything go again."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore

from react_mem.errors import LegalHoldError
from react_mem.memory import MemoryFacade, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.rights import holds as holding
from react_mem.memory.rights.forgetting import forget_said
from react_mem.memory.store.capabilities import capabilities, everything
from react_mem.memory.write.session import grant_wishes

CASE = "case-2026-17"
SECRET = "I keep bees in the garden"
OTHER = "I play chess on Sundays"


async def told(memory: MemoryFacade, user: str, session: str, text: str) -> str:
    """Say something in a conversation, with the fact that is drawn from it; return the fact's id."""
    said = HumanMessage(f"{text}.", id=f"{session}-1")
    [record, _] = await memory.dialog.append(user, session, [said, AIMessage("Noted.", id=f"{session}-2")])
    fact = {"text": text, "source_ids": [record]}
    await memory.write(
        MemoryWriteEvent(user_id=user, session_id=session, agent_id="tester", scope=MemoryScope.SEMANTIC, data=fact)
    )
    [id_] = [one.id for one in await memory.list_records(user, [MemoryScope.SEMANTIC]) if one.payload["text"] == text]
    return id_


async def state(store: BaseStore, user: str) -> dict[str, Any]:
    return {item.key: item.value for item in await everything(store, user)}


@pytest.mark.parametrize("session", ["", "monday"])
async def test_nothing_that_is_held_is_forgotten(memory: MemoryFacade, session: str) -> None:
    user = f"ann{session}"
    fact = await told(memory, user, "monday", SECRET)
    await memory.hold(user, CASE, session)
    before = await state(memory.store, user)
    for forgets in (
        lambda: memory.forget(user, fact),
        lambda: memory.forget_said(user, SECRET),
        lambda: forget_said(memory.store, user, "bees", all_about=True),
        lambda: memory.delete_session(user, "monday"),
        lambda: memory.forget_user(user),
    ):
        with pytest.raises(LegalHoldError, match=CASE) as refused:
            await forgets()
        assert refused.value.reference == CASE
        assert SECRET not in str(refused.value)
    assert await state(memory.store, user) == before
    assert await memory.lift_hold(user, CASE, session)
    assert not await memory.lift_hold(user, CASE, session)
    assert not (await memory.forget_user(user)).receipt.problems
    assert not await everything(memory.store, user)


async def test_a_hold_on_a_conversation_leaves_the_others_free(memory: MemoryFacade) -> None:
    held = await told(memory, "bob", "monday", SECRET)
    free = await told(memory, "bob", "tuesday", OTHER)
    await memory.hold("bob", CASE, "monday")
    await memory.delete_session("bob", "tuesday")
    left = await state(memory.store, "bob")
    assert held in left
    assert free not in left
    with pytest.raises(LegalHoldError):
        await memory.delete_session("bob", "monday")


async def test_a_message_that_is_held_is_not_shortened(memory: MemoryFacade) -> None:
    fact = await told(memory, "gus", "tuesday", SECRET)
    await memory.dialog.append("gus", "monday", [HumanMessage(f"{SECRET}. {OTHER}.", id="m")], agent_id="tester")
    await memory.hold("gus", CASE, "monday")
    before = await state(memory.store, "gus")
    with pytest.raises(LegalHoldError):
        await memory.forget("gus", fact)
    assert await state(memory.store, "gus") == before


async def test_a_value_of_the_profile_that_is_held_is_not_cleared(memory: MemoryFacade) -> None:
    fact = await told(memory, "hal", "tuesday", SECRET)
    [yes] = await memory.dialog.append("hal", "monday", [HumanMessage("Yes.", id="y")], agent_id="tester")
    await memory.profile.update_profile("hal", {"pets": "bees in the garden"}, source_ids=[yes.id])
    await memory.hold("hal", CASE, "monday")
    with pytest.raises(LegalHoldError):
        await memory.forget("hal", fact)
    await memory.lift_hold("hal", CASE, "monday")
    await memory.forget("hal", fact)
    assert await memory.profile.get_profile("hal") is None


async def test_a_second_hold_stays_when_the_first_is_lifted(memory: MemoryFacade) -> None:
    await told(memory, "cid", "monday", SECRET)
    first = await memory.hold("cid", CASE)
    assert await memory.hold("cid", CASE) == first
    await memory.hold("cid", "case-18", "monday")
    assert [one.reference for one in await memory.holds("cid")] == [CASE, "case-18"]
    await memory.lift_hold("cid", CASE)
    with pytest.raises(LegalHoldError, match="case-18"):
        await memory.forget_user("cid")


async def test_a_hold_that_is_set_while_somebody_forgets_stops_it(
    memory: MemoryFacade, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = await told(memory, "dan", "monday", SECRET)
    looked = holding.holds_on
    was_set = False

    async def set_behind(store: BaseStore, user_id: str) -> Any:
        nonlocal was_set
        found = await looked(store, user_id)
        if not was_set:
            was_set = True
            # another process: it does not wait for this one's step
            await memory.store.aput(
                meta_namespace("dan"), "hold", {"kind": "hold", "reference": CASE, "session_id": ""}, index=False
            )
            await memory.store.aput(meta_namespace("dan"), "revision", {"revision": 99}, index=False)
        return found

    if not capabilities(memory.store).guards:
        pytest.skip("of one process, whose steps queue")
    monkeypatch.setattr("react_mem.memory.rights.holds.holds_on", set_behind)
    with pytest.raises(LegalHoldError):
        await memory.forget("dan", fact)
    assert fact in await state(memory.store, "dan")


async def test_a_wish_to_forget_waits_until_the_hold_is_lifted(memory: MemoryFacade) -> None:
    fact = await told(memory, "eve", "monday", SECRET)
    wish = {"kind": "wish", "ids": [fact], "said": []}
    await memory.store.aput(meta_namespace("eve"), "wish", wish, index=False)
    await memory.hold("eve", CASE)
    assert CASE in await grant_wishes(memory.store, "eve")
    assert fact in await state(memory.store, "eve")
    await memory.lift_hold("eve", CASE)
    assert not await grant_wishes(memory.store, "eve")
    assert fact not in await state(memory.store, "eve")


@pytest.mark.parametrize("reference", ["", " case", "a\nb", "x" * 101])
async def test_a_hold_needs_a_name(memory: MemoryFacade, reference: str) -> None:
    with pytest.raises(ValueError, match="reference"):
        await memory.hold("fay", reference)
