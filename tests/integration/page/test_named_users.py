"""The page of a user who is known by a name that the tab keeps, and by one that is given when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.integration.page.conftest import Visitor, card, fill, pressed
from tests.support.page_server import PageServer, page_server


@pytest.fixture(scope="module")
def site(database_server: str) -> Iterator[PageServer]:
    """A server that authenticates nobody, with what ann has."""
    with page_server(database_server, authenticates=False) as server:
        server.run(fill)
        yield server


@pytest.mark.parametrize(("known_by", "plays"), [("name", "cello"), ("nothing", "harp")])
def test_everything_on_the_page_works(known_by: str, plays: str, visit: Callable[..., Visitor]) -> None:
    ann = visit("ann", known_by="user") if known_by == "name" else visit("")
    page = ann.go()
    if known_by == "nothing":
        asked = page.get_by_role("dialog", name="Who I am")
        asked.get_by_label("User").fill("ann")
        pressed(asked, "Use this")

    page.get_by_label("Search what is remembered").fill("cat Mimi")
    page.keyboard.press("Enter")
    expect(card(page, "My cat is called Mimi.").first).to_be_visible()
    page.get_by_label("In your own words").fill(f"I play the {plays}.")
    pressed(page, "Remember")
    expect(page.locator("#said")).to_have_text("Remembered.")

    page = ann.go()
    pressed(card(page, f"I play the {plays}."), "Correct")
    page.locator("article textarea").fill(f"I play no {plays}.")
    pressed(page, "Save")
    expect(page.locator("#said")).to_have_text("Corrected.")
    pressed(card(page, "I own book 1." if known_by == "name" else "I own book 2."), "Forget")
    pressed(page.locator("#notices"), "Forget now")
    expect(page.locator("#notices")).to_contain_text("Forgotten for good")

    page = ann.go("why")
    page.get_by_label("A message").fill("What is my cat called?")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_role("heading", name="Parts of the prompt")).to_be_visible()
    for place in ("conversations/monday", "graph", "skills", "waiting", "usage"):
        ann.go(place)
        expect(page.get_by_role("alert")).to_have_count(0)
