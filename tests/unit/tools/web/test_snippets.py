"""What an engine shows of a page: text without tags, comments and entities, in a time that grows with its length."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.tools.web.clean import without_markup


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("<p>The <b>latest</b> news &amp; more</p>", "The latest news & more"),
        ("<P CLASS='a>b'\n>Gold<BR/>rose</P\n>", "Gold\nrose"),
        ("<!DOCTYPE html><ul><li>1<li>2</ul><!-- a -- <b> -->", "1\n2"),
        ("<hl>gold</hl> at &#49;&#x35;0&nbsp;€", "gold at 150 €"),
        ('cut within <a href="https://shop.example/?a=1', "cut within"),
        ("cut within <!-- a note", "cut within"),
        ("cut within </b", "cut within"),
        ("<script>if (a<b) { x = '<p>' }</script>seen<style>p {}</style>", "seen"),
        ("<div style='display: none'>no <div>no</div> no</div>yes<p hidden>no</p>", "yes"),
        ('<div class="hidden">yes</div>', "yes"),
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


WORDS = st.text("ab é水<>&;!\"'=/-", max_size=12)
TAGS = st.sampled_from(["<b>", "</b>", "<p class='x'>", "</p>", "<br/>", "<!-- c -->", "<td>", '<a href="u">', "</a>"])


@given(st.lists(st.tuples(TAGS, st.text("abé水 ", max_size=5)), max_size=10))
def test_every_letter_between_tags_stays_and_no_tag_does(parts: list[tuple[str, str]]) -> None:
    said = without_markup("".join(map("".join, parts)))
    assert re.sub(r"\s", "", said) == re.sub(r"\s", "", "".join(text for _, text in parts))


@given(WORDS)
def test_any_text_is_read(text: str) -> None:
    assert len(without_markup(text)) <= len(text)


UNITS = ["<p a=1 ", "<a b='<a b=\"", '<b a="x"', "<!--", "<svg>", "<p hidden>", "</a", "<a style=' ", "&#1", "<p>x</p>"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("begin", ["", "<p ", "<div hidden><p style='", '<p title="'])
def test_no_markup_takes_a_time_that_grows_with_its_square(begin: str, unit: str) -> None:
    text = begin + unit * (400_000 // len(unit))
    begun = time.process_time()
    without_markup(text)
    # a tenth of it where the machine is idle; minutes with one search for an end from each beginning
    assert time.process_time() - begun < 2


def test_a_tag_of_a_megabyte_that_is_not_closed_is_taken_out_soon() -> None:
    begun = time.process_time()
    assert without_markup("gold <p " + "a=1 " * 250_000) == "gold"
    assert time.process_time() - begun < 1
