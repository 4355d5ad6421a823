"""The conversations on the page: from a summary down to the messages, and forgetting one."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from playwright.sync_api import expect

from tests.integration.page.conftest import Visitor, talk
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]

ANN_IS = {"authorization": "Bearer ann"}


def told(site: PageServer, session: str, messages: int) -> None:
    """Let ann have held a conversation."""
    talk(site, "ann", session, [f"Line {at} of {session}." for at in range(messages)])


def test_a_conversation_is_shown_from_its_summary_down_to_its_messages(visit: Visit) -> None:
    ann = visit()
    page = ann.go("conversations")
    page.get_by_role("link", name="I live in Hue, and I like the rain.").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("I live in Hue, and I like the rain.")
    tree = page.locator(".tree")
    expect(tree).to_contain_text("Hue, a cat, and markup.")
    expect(tree).to_contain_text("A talk about Hue and a cat.")
    expect(tree).not_to_contain_text("My cat is called Mimi.")
    opening = tree.get_by_text("turns 1 to 2")
    opening.focus()
    page.keyboard.press("Enter")
    expect(tree.get_by_role("list", name="turns 1 to 2").get_by_role("listitem")).to_have_count(2)
    expect(tree).to_contain_text("My cat is called Mimi.")
    asked = [url for url in ann.requests if "first_turn=0" in url]
    assert len(asked) == 1
    assert "limit=2" in asked[0]
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversations")


def test_a_long_conversation_comes_in_pages(visit: Visit, site: PageServer) -> None:
    told(site, "long talk & 100 %", 130)
    page = visit().go("conversations")
    page.get_by_role("link", name="Line 0 of long talk & 100 %.").click()
    lines = page.get_by_role("list", name="Messages").get_by_role("listitem")
    expect(lines).to_have_count(100)
    expect(page.locator(".more")).to_contain_text("100 of 130")
    page.get_by_role("button", name="More").click()
    expect(lines).to_have_count(130)


def test_a_conversation_is_forgotten_after_the_wait(visit: Visit, site: PageServer) -> None:
    told(site, "doomed", 2)
    ann = visit()
    ann.page.clock.install()
    page = ann.go("conversations/doomed")
    press = page.get_by_role("button", name="Forget this conversation")
    press.focus()
    page.keyboard.press("Enter")
    expect(press).to_be_disabled()
    expect(page.locator("#notices")).to_contain_text("waits to be forgotten for good while you are at these buttons")
    expect(page.locator("#notices").get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(press).to_be_focused()
    address = f"{site.url}/memory/v1/conversations/doomed"
    page.clock.fast_forward(20_000)
    assert httpx.get(address, headers=ANN_IS).status_code == 200
    press.click()
    page.clock.fast_forward(8_100)
    expect(page.locator("#notices")).to_contain_text("Forgotten for good: ")
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversations")
    expect(page.get_by_role("link", name="I live in Hue, and I like the rain.")).to_be_visible()
    expect(page.get_by_role("link", name="Line 0 of doomed.")).to_have_count(0)
    assert httpx.get(address, headers=ANN_IS).status_code == 404
