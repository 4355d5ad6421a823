"""Long texts in pieces: nothing is lost up to the limit, and no piece is empty or too long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.index.entries import CHUNK_CHARS, MAX_CHUNKS, chunks

SENTENCES = [
    "A word. ",
    "Two words here! ",
    "line\n",
    "\n\n",
    "    code = 1\n",
    "x" * 900,
    "だ。",
    " ",
    "? ",
    "y" * 401 + ". ",
]
long_texts = st.lists(st.tuples(st.sampled_from(SENTENCES), st.integers(1, 60)), max_size=30).map(
    lambda parts: "".join(piece * times for piece, times in parts)
)


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(st.one_of(st.text(), long_texts))
def test_pieces_in_order_are_the_text(text: str) -> None:
    pieces = chunks(text)
    assert len(pieces) <= MAX_CHUNKS
    assert all(piece.strip() for piece in pieces)
    assert all(len(piece) <= CHUNK_CHARS for piece in pieces) or pieces == [text]
    joined = bare("".join(pieces))
    assert bare(text).startswith(joined)
    if len(text) <= CHUNK_CHARS * MAX_CHUNKS // 2:
        assert joined == bare(text)


@given(long_texts)
def test_the_same_text_has_the_same_pieces(text: str) -> None:
    assert chunks(text) == chunks(text)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", " " * 100_000])
def test_nothing_has_no_pieces(text: str) -> None:
    assert chunks(text) == []


def test_a_text_a_little_longer_stays_whole() -> None:
    text = "word " * (CHUNK_CHARS // 5 + 10)
    assert chunks(text) == [text]


def test_pieces_end_where_lines_and_sentences_do() -> None:
    pieces = chunks("A sentence of some words. " * 100)
    assert all(piece.endswith(".") for piece in pieces)
    lines = chunks("some words without a full stop\n" * 100)
    assert all(piece.endswith("stop") for piece in lines)
    assert chunks("これは文です。" * 400)[0]


@pytest.mark.parametrize("piece", ["A sentence. ", "A line\n", "One! Two?\tThree.\n\n"])
def test_words_stay_apart(piece: str) -> None:
    text = piece * (CHUNK_CHARS * 4 // len(piece))
    pieces = chunks(text)
    assert len(pieces) > 3
    assert " ".join(pieces).split() == text.split()


def test_a_line_keeps_how_far_it_is_indented() -> None:
    code = "def f():\n" + "".join(f"    line_{n} = {n}\n" for n in range(200))
    assert "\n    line_10 = 10\n    line_11 = 11\n" in chunks(code)[0]


@pytest.mark.parametrize("piece", ["x", "A sentence. ", "\n", ". ", "? \n", " ", "だ。"])
def test_a_megabyte_is_read_as_far_as_it_is_searched(piece: str) -> None:
    # anything worse than linear does not end within the time of a test
    huge = piece * (1_000_000 // len(piece))
    pieces = chunks(huge)
    assert len(pieces) <= MAX_CHUNKS
    assert sum(map(len, pieces)) <= CHUNK_CHARS * MAX_CHUNKS
    if piece.strip():
        assert len(pieces) > MAX_CHUNKS // 2
