"""What changes in memory appears on the page by itself, and where it cannot, the page says so."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from react_mem.graphs.memory_api import holdings_api as events_api
from tests.integration.page.conftest import Visitor, tell_from_elsewhere
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]

LIVE, NOT_LIVE = "Live: changes appear by themselves", "Not connected: changes do not appear by themselves"


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let streams look at the revision without waiting for seconds."""
    monkeypatch.setattr(events_api, "LOOK_SECONDS", 0.05)


def lit(page: Page) -> Page:
    expect(page.locator("#alive")).to_have_text(LIVE)
    return page


def text_of(page: Page, text: str) -> Locator:
    return page.locator("article.card .text").get_by_text(text, exact=True)


def test_a_fact_that_a_chat_has_left_appears_and_goes_by_itself(visit: Visit, site: PageServer) -> None:
    ann = visit()
    page = lit(ann.go())
    count = len([url for url in ann.requests if "/memories?" in url])
    # somebody is in the middle of correcting one, and looking into another
    page.locator("article.card").nth(3).get_by_role("button", name="Details").click()
    page.locator("article.card").nth(5).get_by_role("button", name="Correct").click()
    page.locator("article textarea").fill("Half a sentence")
    told = tell_from_elsewhere(site, "ann", "I keep a quagga.")
    expect(text_of(page, "I keep a quagga.")).to_be_visible()
    expect(page.locator("#said")).to_have_text("1 new")
    expect(page.locator("article textarea")).to_have_value("Half a sentence")
    expect(page.locator("article textarea")).to_be_focused()
    expect(page.locator("[data-act=details][aria-expanded=true]")).to_have_count(1)
    expect(page.locator(".more")).to_contain_text("64 of 64")
    headers = {"authorization": "Bearer ann"}
    address = f"{site.url}/memory/v1/memories/{told}"
    corrected = httpx.patch(address, json={"text": "I keep two quaggas."}, headers=headers).raise_for_status().json()
    expect(text_of(page, "I keep two quaggas.")).to_be_visible()
    expect(text_of(page, "I keep a quagga.")).to_have_count(0)
    httpx.delete(f"{site.url}/memory/v1/memories/{corrected['id']}", headers=headers).raise_for_status()
    expect(text_of(page, "I keep two quaggas.")).to_have_count(0)
    # one request for each change that was told, and nothing of anybody else's is told
    asked = len([url for url in ann.requests if "/memories?" in url])
    assert 2 <= asked - count <= 6
    tell_from_elsewhere(site, "bob", "I keep a dodo.")
    last = tell_from_elsewhere(site, "ann", "I keep a goose.")
    expect(text_of(page, "I keep a goose.")).to_be_visible()
    assert len([url for url in ann.requests if "/memories?" in url]) - asked <= 2
    httpx.delete(f"{site.url}/memory/v1/memories/{last}", headers=headers).raise_for_status()


def test_a_stream_that_is_refused_or_fails_is_told_and_asked_for_again(visit: Visit, site: PageServer) -> None:
    ann = visit()
    ann.page.clock.install()
    refusals = [429]

    def refuse(route: Route) -> None:
        if refusals:
            route.fulfill(status=refusals.pop(), json={"detail": "there are 5 streams of this user already"})
        else:
            route.continue_()

    ann.page.route("**/memory/v1/events", refuse)
    page = ann.go()
    expect(page.locator("#alive")).to_have_text(NOT_LIVE)
    expect(page.locator("article.card").first).to_be_visible()
    page.clock.fast_forward(3_100)
    lit(page)
    asked = [url for url in ann.requests if url.endswith("/events")]
    assert len(asked) == 2


def test_a_tab_that_is_closed_leaves_no_stream(visit: Visit) -> None:
    # more, one after the other, than a user may have at once
    for _ in range(events_api.MOST_STREAMS + 1):
        ann = visit("ann of the streams")
        lit(ann.go())
        ann.page.close()
