"""What the index holds of a record: its pieces, their words and marks, their place and time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_mem.memory.index.entries import (
    CHUNK_CHARS,
    MAX_CHUNKS,
    SPEAKS_OF_ITSELF,
    TELLS_WHEN,
    Entry,
    chunks,
    entries,
    mark,
    piece_of,
    term_number,
)

SENTENCES = ["A word. ", "line\n", "\n\n", "    code = 1\n", "x" * 900, "だ。", " ", "y" * 401 + ". "]
long_texts = st.lists(st.tuples(st.sampled_from(SENTENCES), st.integers(1, 40)), max_size=12).map(
    lambda parts: "".join(piece * times for piece, times in parts)
)


def of(text: str, field_name: str = "text", **value: Any) -> list[Entry]:
    return entries(field_name, text, value)


@settings(max_examples=40, deadline=None)
@given(st.one_of(st.text(), long_texts), st.sampled_from(["text", "a#b", "tags[*].name"]))
def test_the_pieces_in_order_are_the_text_and_each_is_found_again(text: str, field_name: str) -> None:
    pieces = [entry.text for entry in of(text, field_name)]
    assert len(pieces) <= MAX_CHUNKS
    assert all(len(piece) <= CHUNK_CHARS for piece in pieces) or pieces == [text]
    joined, bare = (re.sub(r"\s", "", each) for each in ("".join(pieces), text))
    assert bare.startswith(joined)
    if len(text) <= CHUNK_CHARS * MAX_CHUNKS // 2:
        assert joined == bare
    assert [piece_of(entry.field_name, text) for entry in of(text, field_name)] == pieces


@pytest.mark.parametrize("piece", ["x", "A sentence. ", "だ。", " "])
def test_a_megabyte_is_read_as_far_as_it_is_searched(piece: str) -> None:
    # anything worse than linear does not end within the time of a test
    pieces = chunks(piece * (1_000_000 // len(piece)))
    assert (MAX_CHUNKS // 2 if piece.strip() else -1) < len(pieces) <= MAX_CHUNKS


def test_what_is_filtered_by_is_marked_with_its_value() -> None:
    [entry] = of("tea", kind="fact", current=True, role="user", task_type="Đi chợ", status=["active"], other="x")
    marks = {term for term in entry.terms if term.startswith("\x1f")}
    named = {"kind": "fact", "current": True, "role": "user", "task_type": "di cho"}
    assert marks == {mark(name, value) for name, value in named.items()}


@settings(max_examples=40)
@given(st.text(), st.text())
def test_a_text_cannot_forge_a_mark(text: str, name: str) -> None:
    forged = f"{text} {mark('role', name)} {TELLS_WHEN} {SPEAKS_OF_ITSELF}"
    for entry in of(forged):
        assert not {term for term in entry.terms if term.startswith("\x1f")} - {TELLS_WHEN, SPEAKS_OF_ITSELF}


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("It's MY cat", {SPEAKS_OF_ITSELF}),
        ("Tôi có một con mèo", {SPEAKS_OF_ITSELF}),
        ("I moved yesterday", {SPEAKS_OF_ITSELF, TELLS_WHEN}),
        ("She has an idea", set()),
        ("Trời đẹp, cô ấy tới nơi", set()),
    ],
)
def test_a_text_says_whether_it_speaks_of_itself_and_of_a_time(text: str, about: set[str]) -> None:
    assert of(text)[0].terms & {SPEAKS_OF_ITSELF, TELLS_WHEN} == about


@given(st.text(), st.integers())
def test_a_place_fits_the_database_and_neighbours_are_neighbours(session: str, turn: int) -> None:
    long = "A sentence of some words. " * 60
    places = [entry.place or 0 for entry in of(long, session_id=session, turn=turn)]
    assert all(0 <= at < 2**63 for at in places)
    assert places == sorted(set(places))
    if 0 <= turn < 0xFF_FFFF:
        [next_turn] = of("tea", session_id=session, turn=turn + 1)
        assert next_turn.place is not None
        assert places[-1] < next_turn.place
        assert places[0] >> 32 == next_turn.place >> 32
    assert of("tea", session_id=f"{session}x", turn=turn)[0].place not in places


@pytest.mark.parametrize("value", [{}, {"turn": 1}, {"session_id": 1, "turn": 1}, {"session_id": "1", "turn": "1"}])
def test_outside_of_a_conversation_there_is_no_place(value: dict[str, Any]) -> None:
    assert of("tea", **value)[0].place is None


def test_a_zone_is_kept_and_a_time_without_one_is_utc() -> None:
    at = datetime(2024, 5, 15, 9, tzinfo=timezone(timedelta(hours=7)))
    for told in ("2024-05-15T09:00:00+07:00", "2024-05-15T02:00:00", "2024-05-15T02:00:00Z"):
        assert of("tea", created_at=told)[0].said_at == at


@pytest.mark.parametrize("garbage", ["", "yesterday", None, 7, "2024-13-45", "\ud800", "9" * 10_000])
def test_what_is_no_date_is_no_time(garbage: Any) -> None:
    assert of("tea", said_at=garbage)[0].said_at is None
    assert of("tea", said_at=garbage, created_at="2024-05-15")[0].said_at == datetime(2024, 5, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("term", "number"), [("tea", 846_850_705), ("喜欢", 58_286_321), ("", 258_269_877), (TELLS_WHEN, 279_566_160)]
)
def test_the_number_of_a_term_never_changes(term: str, number: int) -> None:
    # databases hold them: another number, and what was stored is not found any more
    assert term_number(term) == number
