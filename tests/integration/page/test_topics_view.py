"""Facts on the page by their topics."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langgraph.store.base import BaseStore
from playwright.sync_api import Page, expect

from tests.integration.page.conftest import Visitor, card, pressed, tell_from_elsewhere
from tests.support.page_server import PageServer
from tests.support.telling import tell

Visit = Callable[..., Visitor]

ANN = "ann of the topics"


async def fill(store: BaseStore) -> None:
    told = ["I live in Hue.", "The rain in Hue is warm.", "The river of Hue is wide.", "I was born in Lisbon."]
    for text in (*told, "It is far to Lisbon.", "I am allergic to peanuts."):
        await tell(store, text, user_id=ANN)
    for text in ("Lan lives in Lisbon.", "Lan has a boat."):
        await tell(store, text, about="Lan", user_id=ANN)


@pytest.fixture(scope="module", autouse=True)
def topics(site: PageServer) -> None:
    """What ann of the topics has told."""
    site.run(fill)


def headings(page: Page) -> list[str]:
    return page.locator(".topic:not([hidden]) > summary").all_inner_texts()


def test_facts_stand_by_their_topics_and_the_others_last(visit: Visit) -> None:
    page = visit(ANN).go()
    expect(page.locator("article.card")).to_have_count(8)
    assert [text.split() for text in headings(page)] == [["Hue", "3"], ["Lan", "2"], ["Lisbon", "2"], ["Other", "1"]]
    expect(page.get_by_role("list", name="Other").locator("article")).to_contain_text("peanuts")
    # a fact of two topics stands once
    expect(card(page, "Lan lives in Lisbon.")).to_have_count(1)


def test_a_new_fact_comes_to_those_of_its_topic(visit: Visit, site: PageServer) -> None:
    page = visit(ANN).go()
    expect(page.locator("#alive")).to_have_attribute("data-state", "on")

    async def more(store: BaseStore) -> None:
        await tell(store, "I like the bridges of Hue.", user_id=ANN)

    site.run(more)
    expect(page.get_by_role("list", name="Hue").locator("article").first).to_contain_text("bridges")
    expect(page.locator(".topic > summary", has_text="Hue")).to_have_text("Hue 4")
    pressed(card(page, "I like the bridges of Hue."), "Forget")
    pressed(page.locator("#notices"), "Forget now")
    expect(page.locator(".topic > summary", has_text="Hue")).to_have_text("Hue 3")


def test_facts_that_share_nothing_are_but_a_list(visit: Visit, site: PageServer) -> None:
    for text in ("I like tea.", "My room is cold."):
        tell_from_elsewhere(site, "ann of two things", text)
    page = visit("ann of two things").go()
    expect(page.locator("article.card")).to_have_count(2)
    expect(page.locator(".topic > summary")).to_be_hidden()
    expect(page.get_by_role("list", name="Topics")).to_be_hidden()
