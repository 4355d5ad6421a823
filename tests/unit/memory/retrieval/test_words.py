"""Text as words: in any script, in any spelling, of any size."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from react_mem.memory.language.folding import fold
from react_mem.memory.language.terms import index_terms, index_words

anything = st.text(st.characters())
latin = st.text(st.characters(max_codepoint=0x24F))
unusual = st.one_of(anything, latin, st.text(st.sampled_from("aÀđĐ猫カ한ﬁ㎅İ'’ \ud800\x00👍\u0301\u3099मेดื")))


@settings(max_examples=40)
@given(unusual)
@example("ก\u0300\u0300")  # marks behind a word without spaces
def test_any_text_has_words(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert all(word and not word.isspace() and word == fold(word) for word in index_words(text))
    assert all(term and not term.isspace() and "\x00" not in term for term in index_terms(text))
    for form in ("NFC", "NFD"):
        assert index_terms(unicodedata.normalize(form, text)) == index_terms(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("👍🏽 ❤️", []),
        ("Should I have been there?", []),
        ("She's painting Ann's kitchens", ["paint", "ann", "kitchen"]),
        ("snake_case v2 7 x", ["snake", "case", "v2", "7"]),
        ("bánh mì", ["banh", "bánh", "mi", "mì"]),
        ("banh mi", ["banh", "mi"]),
        ("我喜欢Python编程", ["我喜", "喜欢", "python", "编程"]),
        ("한국어 Python로", ["한국", "국어", "python", "로"]),
        ("मुझे चाय पसंद", ["मुझे", "चाय", "पसंद"]),
    ],
)
def test_terms(text: str, found: list[str]) -> None:
    assert index_terms(text) == found


@pytest.mark.parametrize("piece", ["tea ", "bánh mì ", "猫", "a\u0301", "\ud800"])
def test_a_huge_text_takes_linear_time(piece: str) -> None:
    # anything worse does not end within the time of a test
    assert len(index_terms(piece * 100_000)) <= 4 * 100_000
    assert len(fold(piece * 100_000)) <= len(piece) * 100_000
