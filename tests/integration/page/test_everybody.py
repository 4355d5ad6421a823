"""The page for everybody: their words, their colours, their windows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from react_mem.memory.model.interface import Arm
from react_mem.memory.model.kinds import KINDS
from tests.integration.page.conftest import Visitor, pressed
from tests.integration.page.test_graph_view import settled

Visit = Callable[..., Visitor]


# --- words ---


def test_every_kind_and_arm_has_a_word_in_both_languages(visit: Visit) -> None:
    page = visit().go()
    wanted = [f"{form}_{kind}" for kind in KINDS for form in ("kind", "one")] + [f"arm_{arm}" for arm in Arm]
    missing = page.evaluate("keys => keys.filter(key => !WORDS.en[key] || !WORDS.vi[key])", wanted)
    assert missing == []


def test_one_is_not_many(visit: Visit) -> None:
    page = visit().go()
    counted = page.evaluate("[0, 1, 2, 1200].map(count => words('linksCount', { count }))")
    assert counted == ["0 links", "1 link", "2 links", "1,200 links"]
    assert page.evaluate("[words('turns', { first: 1, last: 3 }), words('turn', { first: 2 })]") == [
        "turns 1 to 3",
        "turn 2",
    ]


@pytest.mark.parametrize(
    ("locale", "told", "behind"),
    [
        ("en-GB", "This states nothing that could be remembered.", "What the server says"),
        ("vi-VN", "Nội dung này không khẳng định điều gì để ghi nhớ.", "Máy chủ nói (tiếng Anh)"),
    ],
)
def test_an_error_is_told_in_the_language_of_the_page(locale: str, told: str, behind: str, visit: Visit) -> None:
    page = visit(locale=locale).go()
    page.locator("main > details > summary").click()
    field = page.locator("main > details textarea")
    field.fill("Where do I live?")
    page.locator("main > details button").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(told)
    expect(alert.get_by_text("states nothing: it asks")).to_be_hidden()
    alert.get_by_text(behind).click()
    expect(alert.get_by_text("states nothing: it asks")).to_be_visible()
    assert field.input_value() == "Where do I live?"


def test_every_status_of_the_interface_has_words(visit: Visit) -> None:
    ann = visit(locale="vi-VN")
    statuses = [403, 413, 422, 429, 500, 503, 504]
    left = list(statuses)

    def refuse(route: Route) -> None:
        route.fulfill(status=left[0], json={"detail": "raw English words"})

    ann.page.route("**/memory/v1/conversations*", refuse)
    told = set()
    while left:
        page = ann.go("conversations")
        alert = page.get_by_role("alert")
        expect(alert).to_be_visible()
        told.add(alert.locator("p").first.inner_text())
        expect(alert.get_by_text("raw English")).to_be_hidden()
        left.pop(0)
    assert len(told) == len(statuses)


def test_a_long_text_is_shown_whole_where_one_asks(visit: Visit) -> None:
    page = visit("ann of the long story").go()
    page.get_by_text("Have something remembered").click()
    page.get_by_label("In your own words").fill("My story is that " + "we went up the hill, " * 60 + "and home.")
    pressed(page, "Remember")
    fact = page.locator("article.card")
    expect(fact).to_have_count(1)
    height = fact.bounding_box()
    pressed(fact, "Show all of it")
    taller = fact.bounding_box()
    assert height is not None
    assert taller is not None
    assert height["height"] < taller["height"]
    pressed(fact, "Show less")
    assert fact.bounding_box() == height


# --- colours ---


def test_the_users_own_colours_leave_the_graph_readable(visit: Visit) -> None:
    page = settled(visit(forced_colors="active").go("graph"))
    colours = page.evaluate(
        """() => {
            const drawn = name => view.drawing.colours(name), legend = kind => getComputedStyle(
                document.querySelector(`.graph label .dot[data-kind=${kind}]`)).backgroundColor;
            return { ink: drawn("ink"), sheet: drawn("sheet"),
                drawn: ["fact", "message", "episode"].map(drawn), legend: ["fact", "message", "episode"].map(legend) };
        }"""
    )
    assert colours["ink"] != colours["sheet"]
    assert colours["drawn"] == colours["legend"]
    assert len(set(colours["drawn"])) == 3
    pressed_one, other = (
        page.get_by_role("button", name=name, exact=True).evaluate("one => getComputedStyle(one).backgroundColor")
        for name in ("Drawing", "List")
    )
    assert pressed_one != other


# --- windows ---


@pytest.mark.parametrize("locale", ["en-GB", "vi-VN"])
def test_a_small_phone_has_its_head_in_a_row_and_the_same_form_in_every_language(locale: str, visit: Visit) -> None:
    page = visit(size="small phone", locale=locale).go()
    tops = page.evaluate(
        """["#language", "#who", ".row input", ".row button", ".row select"].map(one => {
            const { top, bottom } = document.querySelector(one).getBoundingClientRect();
            return (top + bottom) / 2;
        })"""
    )
    assert abs(tops[0] - tops[1]) < 3
    assert abs(tops[2] - tops[3]) < 3
    assert tops[4] > tops[3]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("locale", ["en-GB", "vi-VN"])
def test_no_section_is_cut_on_a_tablet(locale: str, visit: Visit) -> None:
    page = visit(size="tablet", locale=locale).go()
    cut = page.evaluate(
        """[...document.querySelectorAll("#sections a")]
            .filter(one => one.getBoundingClientRect().right > innerWidth).length"""
    )
    assert cut == 0


def test_no_name_of_the_drawing_is_cut_at_its_edge(visit: Visit) -> None:
    page = settled(visit(size="small phone").go("graph"))
    outside = page.evaluate(
        """new Promise(done => {
            const { drawing } = view, { pen, canvas } = drawing, ends = [], write = pen.fillText;
            pen.fillText = (text, x, y) => {
                ends.push([x, x + pen.measureText(text).width]);
                write.call(pen, text, x, y);
            };
            drawing.move(0, 0);
            const cut = ([from, to]) => from < 0 || to > canvas.clientWidth;
            const told = () => done([ends.length, ends.filter(cut).length]);
            requestAnimationFrame(() => requestAnimationFrame(told));
        })"""
    )
    assert outside[0] > 0
    assert outside[1] == 0
