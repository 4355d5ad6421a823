"""The graph on the page: drawn, as a list, filtered, and bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.integration.page.conftest import Visitor, tell_from_elsewhere
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]


def settled(page: Page) -> Page:
    """Wait until everything has its place."""
    expect(page.locator("canvas")).to_have_attribute("data-settled", re.compile(r"^[1-9]"))
    return page


def chosen(page: Page) -> Any:
    return page.get_by_role("region", name="Chosen")


def many(nodes: int, links: int, left_out: int) -> dict[str, Any]:
    """A graph as the REST interface tells it."""
    kinds = ("fact", "message", "episode", "a kind of later")
    return {
        "nodes": [
            {"id": f"n{at}", "kind": kinds[at % len(kinds)], "text": f"Memory {at}", "current": True}
            for at in range(nodes)
        ],
        "links": [{"from": f"n{at % nodes}", "to": f"n{at * 7 % nodes}", "relation": "support"} for at in range(links)],
        "left_out": left_out,
    }


def test_a_memory_is_chosen_in_the_drawing_and_shows_its_links(visit: Visit) -> None:
    page = settled(visit().go("graph"))
    id_ = page.evaluate("view.drawing.nodes.find(node => node.text === 'My cat is called Mimi.').id")
    left, top = page.evaluate(
        "id => { view.drawing.zoom(3); view.drawing.mark(id); return view.drawing.placeOf(id); }", id_
    )
    page.locator("canvas").click(position={"x": left, "y": top})
    expect(chosen(page)).to_contain_text("My cat is called Mimi.")
    source = chosen(page).get_by_role("listitem").filter(has_text="comes from").get_by_role("button")
    expect(source).to_have_text("My cat is called Mimi.")
    source.click()
    expect(chosen(page)).to_contain_text("Message")
    expect(chosen(page).get_by_role("listitem").filter(has_text="supports")).not_to_have_count(0)
    expect(chosen(page)).to_be_focused()


def test_the_list_has_it_all_for_the_keyboard(visit: Visit) -> None:
    page = settled(visit().go("graph"))
    page.get_by_role("button", name="List", exact=True).click()
    expect(page.get_by_role("list", name="List").locator("> li")).to_have_count(50)
    page.get_by_label("Find").fill("mimi")
    line = page.locator(".listed > li", has_text="Fact").first
    line.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(line.get_by_role("listitem").filter(has_text="comes from")).to_contain_text("My cat is called Mimi.")
    page.keyboard.press("Tab")
    expect(line.get_by_role("link", name="Details")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("A memory")


def test_ten_thousand_are_cut_to_what_can_be_drawn_and_it_says_so(visit: Visit) -> None:
    ann = visit()
    asked: list[str] = []

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        graph = many(2_000, 5_000, 8_000)
        if "kind=" in route.request.url:
            graph["nodes"] = [node for node in graph["nodes"] if node["kind"] != "message"]
        route.fulfill(json=graph)

    ann.page.route("**/memory/v1/graph*", answer)
    page = settled(ann.go("graph"))
    assert "limit=2000" in asked[0]
    expect(page.locator("#main")).to_contain_text("2,000 memories, 5,000 links")
    expect(page.locator("#main")).to_contain_text("8,000 older ones are left out")
    # a kind that is left out makes room for others, which are asked for
    page.get_by_role("group", name="Kinds of memories").get_by_label("Messages").uncheck()
    expect(page.locator("canvas")).to_have_attribute("data-kinds", "fact episode a kind of later")
    assert "kind=fact" in asked[-1]
    assert "kind=message" not in asked[-1]


def test_a_new_fact_is_drawn_without_moving_what_is_left_out(visit: Visit, site: PageServer) -> None:
    page = settled(visit().go("graph"))
    expect(page.locator("#alive-text")).to_have_text(re.compile("^Live"))
    page.get_by_role("group", name="Kinds of memories").get_by_label("Episodes").uncheck()
    tell_from_elsewhere(site, "ann", "I paint quaggas.")
    page.get_by_role("button", name="List", exact=True).click()
    page.get_by_label("Find").fill("I paint quaggas.")
    expect(page.locator(".listed > li", has_text="Fact")).to_have_count(1)
    assert "episode" not in str(page.locator("canvas").get_attribute("data-kinds")).split()
    expect(page.get_by_label("Episodes")).not_to_be_checked()
