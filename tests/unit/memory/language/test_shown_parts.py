"""Marks of what is shown are found where a search at every character finds them."""

from __future__ import annotations

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from react_mem.memory.language import shown_parts

MARKED = st.text("`~ \t\n-1.ax<>/p", max_size=80)


@given(MARKED | st.lists(st.sampled_from(["```", "~~~", "- ", "\n", "py", " ", "`", "1. "]), max_size=25).map("".join))
def test_every_fence_is_found(text: str) -> None:
    found = [fence.span() for fence in shown_parts._fences(text)]
    assert found == [fence.span() for fence in shown_parts._FENCE.finditer(text)]


@given(
    MARKED | st.lists(st.sampled_from(["<p", "</p", ">", " ", "a", "é", "/", "<", "<br/>"]), max_size=25).map("".join)
)
def test_every_tag_is_found(text: str) -> None:
    tags = re.compile(r"(?:(?<!\w)<|</)([A-Za-z][\w:-]*)(?:\s[^<>]*|/)?>")
    assert [tag.span() for tag in shown_parts._TAG.finditer(text)] == [tag.span() for tag in tags.finditer(text)]


@given(MARKED | st.lists(st.sampled_from(["`", "``", "```", "a", "\n"]), max_size=30).map("".join))
def test_all_code_within_a_line_is_found(text: str) -> None:
    for pattern, marks in ((shown_parts._INLINE_CODE, "{3,}"), (shown_parts._CODE_SPAN, "{1,2}")):
        everywhere = re.compile(rf"(?<!`)(`{marks})(?!`)[^\n`]+(?<!`)\1(?!`)")
        assert [code.span() for code in pattern.finditer(text)] == [code.span() for code in everywhere.finditer(text)]


def test_nothing_is_searched_for_fences_but_the_lines_that_have_marks() -> None:
    searched: list[tuple[int, int]] = []

    class Noted:
        def search(self, text: str, begin: int, end: int) -> None:
            searched.append((begin, end))

    lines = "\n" * 1_000_000
    original, shown_parts._FENCE = shown_parts._FENCE, Noted()  # type: ignore[assignment]
    try:
        assert list(shown_parts._fences(f"{lines}``` py\n{lines}")) == []
    finally:
        shown_parts._FENCE = original
    assert searched == [(1_000_000, 1_000_006)]


UNMARKED = st.text("-_=*~:. \n\t'aB1@", max_size=80) | st.lists(
    st.sampled_from(["From: Ann\n", "To: Bo\n", "--", "~~", "\n", "I do. I do not.", "2026-01-02", "'"]), max_size=20
).map("".join)


@given(UNMARKED)
def test_a_text_without_marks_shows_nothing_of_any_kind(text: str) -> None:
    assume(not shown_parts.MARK.search(text))
    assert not [span for find in shown_parts.KINDS for span in find(text)]
