"""A page of nothing but markup costs in proportion to its length."""

from __future__ import annotations

import time

import pytest

from react_mem.tools.web.clean import clean


def seconds(markup: str) -> float:
    begun = time.process_time()
    clean(markup)
    return time.process_time() - begun


@pytest.mark.parametrize(
    ("begin", "unit", "end", "count"),
    [
        ("<p>", "<script></script>x", "</p>", 6_000),
        ("<p ", "a{}=1 ", ">hello</p>", 2_500),
        ("<p a='>' ", "a{}=1 ", ">hello</p>", 2_500),
        ("<p a='<' ", "a{}=1 ", ">hello</p>", 2_500),
        ("<p ", "a{}/", ">hello</p>", 2_500),
        ("<p ", 'a{}="1"', ">hello</p>", 2_500),
        ("<p ", "a{}=1 ", "<b>hello</b>", 2_500),
        ("<p>", "<b hidden>x</b>yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", "</p>", 2_000),
    ],
    ids=["scripts", "attributes", "after >", "after <", "slashes", "no spaces", "tags not closed", "hidden"],
)
def test_four_times_the_markup_takes_no_sixteen_times_as_long(begin: str, unit: str, end: str, count: int) -> None:
    clean("<p>warm</p>")

    def page(size: int) -> str:
        return begin + "".join(unit.format(number) for number in range(size)) + end

    assert min(seconds(page(4 * count)) for _ in range(2)) / max(min(seconds(page(count)) for _ in range(2)), 0.002) < 9


def test_a_tag_with_long_values_is_read_as_it_is() -> None:
    props = "x y=1 " * 2_000
    assert "hello there" in clean(f'<div data-props="{props}">hello there</div>').text
    assert "unseen" not in clean(f'<p>seen</p><p hidden data-props="{props}">unseen</p>').text
