"""What an engine shows of a page: text without tags, comments and entities, in a time that grows with its length."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.tools.web.clean import without_markup


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("<p>The <b>latest</b> news &amp; more</p>", "The latest news & more"),
        ("<P CLASS='a>b'\n>Gold<BR/>rose</P\n>", "Gold\nrose"),
        ('cut within <a href="https://shop.example/?a=1', "cut within"),
        ("cut within </b", "cut within"),
        ("<script>if (a<b) { x = '<p>' }</script>seen<style>p {}</style>", "seen"),
        ("<div style='display: none'>no <div>no</div> no</div>yes<p hidden>no</p>", "yes"),
    ],
)
def test_markup_is_taken_out(shown: str, text: str) -> None:
    assert without_markup(shown) == text


@pytest.mark.parametrize(
    "text",
    [
        "if a <b or c: return List<int>  # i<n; i>0",
        "AT&T, R&D; https://shop.example/?a=1&copy=2&lt=3",
        "1 < 2 && 3 > 2 <3",
        "two  spaces\n\nand an empty line",
    ],
)
def test_what_only_looks_like_markup_stays(text: str) -> None:
    assert without_markup(text) == text


TAGS = st.sampled_from(["<b>", "</b>", "<p class='x'>", "</p>", "<br/>", "<!-- c -->", "<td>", '<a href="u">', "</a>"])


@given(st.lists(st.tuples(TAGS, st.text("abé水 ", max_size=5)), max_size=10))
def test_every_letter_between_tags_stays_and_no_tag_does(parts: list[tuple[str, str]]) -> None:
    said = without_markup("".join(map("".join, parts)))
    assert re.sub(r"\s", "", said) == re.sub(r"\s", "", "".join(text for _, text in parts))
