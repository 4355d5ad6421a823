"""What the index holds of a record: its pieces, their words and marks, their place and time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.index.entries import (
    CHUNK_CHARS,
    SPEAKS_OF_ITSELF,
    TELLS_WHEN,
    TERM_NUMBERS,
    Entry,
    chunks,
    entries,
    mark,
    piece_of,
    term_number,
    whole_text,
)
from react_mem.memory.model.records import Fact, Message

LONG = "A sentence of some words. " * 300
texts = st.one_of(st.text(), st.integers(0, 2_000).map(lambda words: "Some words, a line.\n" * words))


def of(text: str, field_name: str = "text", **value: Any) -> list[Entry]:
    return entries(field_name, text, value)


def place(session: str, turn: int, text: str = "tea") -> int:
    [first, *_] = of(text, session_id=session, turn=turn)
    assert first.place is not None
    return first.place


# --- pieces ---


@given(texts, st.sampled_from(["text", "notes", "a#b", "#", "tags[*].name"]))
def test_the_piece_an_entry_stands_for_is_found_again(text: str, field_name: str) -> None:
    found = of(text, field_name)
    assert [piece_of(entry.field_name, text) for entry in found] == [entry.text for entry in found]
    assert [entry.text for entry in found] == chunks(text)
    assert len({entry.field_name for entry in found}) == len(found)


def test_a_piece_that_is_no_longer_there_is_the_whole_text() -> None:
    assert piece_of("text#7", "short by now") == "short by now"


@given(texts)
def test_an_entry_has_the_words_of_its_own_piece(text: str) -> None:
    for entry in of(text, keywords="sports", speaker="Ann"):
        assert entry.terms >= {"sport", mark("speaker", "ann")}
        assert entry.length >= len({term for term in entry.terms - {"sport"} if not term.startswith("\x1f")}) - 1


def test_words_for_the_index_do_not_make_a_text_longer() -> None:
    assert of("tea", keywords="hot drink")[0].length == of("tea")[0].length == 1


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        ({}, ""),
        ({"text": None}, ""),
        ({"text": "the beginning"}, "the beginning"),
        ({"text": "the", "content": "the whole"}, "the whole"),
        ({"text": "kept", "content": ""}, "kept"),
        ({"text": "kept", "content": [{"type": "image"}]}, "kept"),
        ({"text": "kept", "content": {"text": "no content of a message"}}, "kept"),
        ({"text": "x", "content": [{"type": "text", "text": "a"}, "odd", {"text": "b"}, {"text": None}]}, "a b"),
    ],
)
def test_whole_text(value: dict[str, Any], whole: str) -> None:
    assert whole_text(value) == whole


# --- marks ---


def test_what_is_filtered_by_is_marked_with_its_value() -> None:
    [entry] = of("tea", kind="fact", current=True, status="active", role="user", task_type="Đi chợ", turn=3, other="x")
    marks = {term for term in entry.terms if term.startswith("\x1f")}
    assert marks == {
        mark("kind", "fact"),
        mark("current", True),
        mark("status", "active"),
        mark("role", "user"),
        mark("task_type", "di cho"),
    }
    assert mark("current", True) != mark("current", False)


@pytest.mark.parametrize("value", [{"kind": None}, {"role": 3}, {"status": ["active"]}, {"speaker": ""}])
def test_what_is_no_value_is_no_mark(value: dict[str, Any]) -> None:
    assert of("tea", **value)[0].terms == {"tea"}


@given(st.text(), st.text())
def test_a_text_cannot_forge_a_mark(text: str, name: str) -> None:
    forged = f"{text} {mark('role', name)} {TELLS_WHEN} {SPEAKS_OF_ITSELF}"
    for entry in of(forged):
        assert not {term for term in entry.terms if term.startswith("\x1f")} - {TELLS_WHEN, SPEAKS_OF_ITSELF}
        assert mark("role", name) not in entry.terms


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("I moved", {SPEAKS_OF_ITSELF}),
        ("It's MY cat", {SPEAKS_OF_ITSELF}),
        ("Tôi có một con mèo", {SPEAKS_OF_ITSELF}),
        ("She moved in 2021", {TELLS_WHEN}),
        ("I moved yesterday", {SPEAKS_OF_ITSELF, TELLS_WHEN}),
        ("Mine fields are dangerous in theory", {SPEAKS_OF_ITSELF}),
        ("She has an idea", set()),
        ("Trời đẹp, cô ấy tới nơi", set()),
        ("Give 'em tea", set()),
    ],
)
def test_a_text_says_whether_it_speaks_of_itself_and_of_a_time(text: str, about: set[str]) -> None:
    assert of(text)[0].terms & {SPEAKS_OF_ITSELF, TELLS_WHEN} == about


def test_each_piece_says_so_of_itself() -> None:
    first, *_, last = of("I moved in 2021. " + "She sings along. " * 200)
    assert {SPEAKS_OF_ITSELF, TELLS_WHEN} <= first.terms
    assert not {SPEAKS_OF_ITSELF, TELLS_WHEN} & last.terms


# --- where it stands ---


@given(st.text(), st.integers(0, 1_000_000))
def test_neighbours_in_a_conversation_are_neighbours(session: str, turn: int) -> None:
    here, next_turn = place(session, turn), place(session, turn + 1)
    assert here < next_turn
    assert here >> 32 == next_turn >> 32


@given(st.text(), st.text())
def test_conversations_are_far_apart(session: str, other: str) -> None:
    if session != other:
        assert place(session, 0) >> 32 != place(other, 0) >> 32


@given(st.text(), st.integers())
def test_a_place_fits_the_database(session: str, turn: int) -> None:
    places = [entry.place for entry in of(LONG, session_id=session, turn=turn)]
    assert all(at is not None and 0 <= at < 2**63 for at in places)
    assert places == sorted(set(places), key=lambda at: at or 0)
    # the pieces of a text lie between it and the next one
    assert all((at or 0) < place(session, turn + 1) for at in places) or not 0 <= turn < 0xFF_FFFF


@pytest.mark.parametrize(
    "value", [{}, {"turn": 1}, {"session_id": "1"}, {"session_id": 1, "turn": 1}, {"session_id": "1", "turn": "1"}]
)
def test_outside_of_a_conversation_there_is_no_place(value: dict[str, Any]) -> None:
    assert of("tea", **value)[0].place is None


# --- when it was said ---


@given(st.datetimes(timezones=st.one_of(st.none(), st.timezones())))
def test_when_it_was_said(at: datetime) -> None:
    [entry] = of("tea", said_at=at.isoformat(), created_at="2020-01-01T00:00:00Z")
    assert entry.said_at is not None
    assert entry.said_at.tzinfo is not None
    expected = at if at.tzinfo else at.replace(tzinfo=UTC)
    assert entry.said_at.isoformat() == expected.isoformat()


@pytest.fixture
def in_hue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that does not live by UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC-7")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_hue")
def test_a_zone_is_kept_and_a_time_without_one_is_utc() -> None:
    at = datetime(2024, 5, 15, 9, tzinfo=timezone(timedelta(hours=7)))
    assert of("tea", created_at="2024-05-15T09:00:00+07:00")[0].said_at == at
    assert of("tea", created_at="2024-05-15T02:00:00")[0].said_at == at
    assert of("tea", created_at="2024-05-15T02:00:00Z")[0].said_at == at


@pytest.mark.parametrize("garbage", ["", "yesterday", None, 7, {}, "2024-13-45", "\ud800", "9" * 10_000])
def test_what_is_no_date_is_no_time(garbage: Any) -> None:
    assert of("tea", said_at=garbage)[0].said_at is None
    assert of("tea", said_at=garbage, created_at="2024-05-15")[0].said_at == datetime(2024, 5, 15, tzinfo=UTC)


def test_records_have_entries() -> None:
    who: dict[str, Any] = {"session_id": "s", "agent_id": "a"}
    at = datetime(2024, 5, 15, tzinfo=UTC)
    message = Message(
        id="1", text="A", content=LONG, role="user", turn=4, speaker="Ann", created_at=at, **who
    ).to_value()
    found = entries("text", whole_text(message), message)
    assert len(found) > 5
    assert all(len(entry.text) <= CHUNK_CHARS and entry.said_at == at for entry in found)
    marks = {mark("kind", "message"), mark("role", "user"), mark("speaker", "Ann")}
    assert all(marks <= entry.terms for entry in found)
    fact = Fact(id="2", text="I like tea", said_at=at, **who)
    [entry] = entries("text", fact.text, fact.to_value())
    assert (entry.place, entry.said_at) == (None, at)
    assert {mark("kind", "fact"), mark("current", True)} <= entry.terms


# --- numbers ---


@given(st.text(st.characters()))
def test_a_term_has_a_number(term: str) -> None:
    assert 1 <= term_number(term) <= TERM_NUMBERS


@pytest.mark.parametrize(
    ("term", "number"),
    [
        ("tea", 846_850_705),
        ("trà", 9_917_499),
        ("喜欢", 58_286_321),
        ("", 258_269_877),
        (mark("role", "user"), 731_085_194),
        (TELLS_WHEN, 279_566_160),
        (SPEAKS_OF_ITSELF, 937_850_332),
    ],
)
def test_the_number_of_a_term_never_changes(term: str, number: int) -> None:
    # databases hold them: another number, and what was stored is not found any more
    assert term_number(term) == number
