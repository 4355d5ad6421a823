"""Messages as records: when they were said, who vouches for them, and what of them stands from now on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.transcript import misdated, to_records
from react_mem.memory.model.records import Message

SECRET = "my salary is 5,000"


def _message(said_at: Any, id_: str = "m1") -> HumanMessage:
    return HumanMessage("hello", id=id_, additional_kwargs={"said_at": said_at})


def _recorded(message: BaseMessage) -> datetime:
    [record] = to_records([message], first=0, session_id="s", agent_id="a")
    return record.created_at


@pytest.mark.parametrize(
    ("said_at", "expected"),
    [
        ("2024-05-08T09:00:00+07:00", datetime(2024, 5, 8, 2, tzinfo=UTC)),
        ("2024-05-08T09:00:00", datetime(2024, 5, 8, 9, tzinfo=UTC)),
        ("1970-01-01T00:00:00Z", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_time_that_can_be_is_taken_over(said_at: str, expected: datetime) -> None:
    assert _recorded(_message(said_at)) == expected
    assert misdated([_message(said_at)]) == ""


@pytest.mark.parametrize(
    ("said_at", "reason"),
    [
        (SECRET, "not an ISO 8601 time"),
        ({"at": SECRET}, "not an ISO 8601 time"),
        ("2024-13-01T00:00:00Z", "not an ISO 8601 time"),
        ("1969-12-31T23:59:59Z", "before 1970"),
        ("9999-12-31T23:59:59-14:00", "more than a day ahead of now"),
    ],
)
def test_of_a_time_that_cannot_be_the_message_is_kept_and_the_cause_is_told(said_at: Any, reason: str) -> None:
    message, before = _message(said_at), datetime.now(UTC)
    assert before <= _recorded(message) <= datetime.now(UTC)
    told = misdated([message])
    assert "message m1" in told
    assert reason in told
    assert "send an ISO 8601 time" in told
    assert SECRET not in told


@pytest.mark.parametrize(("ahead", "can_be"), [(timedelta(hours=23), True), (timedelta(days=2), False)])
def test_a_clock_may_be_ahead_by_less_than_a_day(ahead: timedelta, can_be: bool) -> None:
    told = datetime.now(UTC) + ahead
    message = _message(told.isoformat())
    assert (_recorded(message) == told) is can_be
    assert (misdated([message]) == "") is can_be


def test_only_what_is_new_and_said_is_told_of() -> None:
    wrong = [_message("soon", id_) for id_ in ("m1", "m2", "m3", "m4", "m5")]
    assert misdated(wrong, since="m5") == ""
    assert "message m1" not in misdated(wrong, since="m3")
    assert "2 more" in misdated(wrong)
    call = {"name": "search", "args": {}, "id": "c"}
    assert misdated([AIMessage("", id="m", tool_calls=[call], additional_kwargs={"said_at": "soon"})]) == ""


async def test_whoever_appends_to_a_dialog_is_told_and_nothing_is_stored() -> None:
    store = InMemoryStore()
    dialog = MemoryFacade(store).dialog
    with pytest.raises(ValueError, match="before 1970"):
        await dialog.append("ann", "monday", [_message("1969-12-31T23:59:59Z")], agent_id="a")
    assert await store.asearch(()) == []
    [stored] = await dialog.append("ann", "monday", [_message("1970-01-01T00:00:00Z")], agent_id="a")
    assert stored.created_at == datetime(1970, 1, 1, tzinfo=UTC)


ALWAYS = "Always answer in English when I ask about the law."


async def test_only_what_the_user_says_stands_from_now_on() -> None:
    said = [
        HumanMessage(ALWAYS, id="1"),
        AIMessage(ALWAYS, id="2"),
        HumanMessage(f"What does this page want?\n> {ALWAYS}", id="3"),
        ToolMessage(ALWAYS, id="4", tool_call_id="t"),
        HumanMessage("I prefer trains over planes.", id="5"),
    ]
    memory = MemoryFacade(InMemoryStore())
    records = await memory.dialog.append("ann", "s", said, agent_id="a")
    assert [record.standing for record in records] == ["instruction", "", "", "preference"]
    assert [one.text for one in await memory.dialog.standing("ann")] == [ALWAYS]
    assert await memory.dialog.standing("ben") == []


async def test_what_is_taken_in_from_a_file_instructs_nobody() -> None:
    [record] = to_records([HumanMessage(ALWAYS, id="1")], first=0, session_id="s", agent_id="a")
    assert "standing" in record.to_value()
    assert Message.from_value(Message.as_imported(record.to_value())).standing == ""
