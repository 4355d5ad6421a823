"""Forgetting on the page: it waits for whoever uses keys, loses no wish and no focus, and says of what it speaks."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from playwright.sync_api import Page, Route, expect

from tests.integration.page.conftest import Visitor, card, pressed
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]

ANN_IS = {"authorization": "Bearer ann"}


def status_of(site: PageServer, id_: str | None) -> int:
    return httpx.get(f"{site.url}/memory/v1/memories/{id_}", headers=ANN_IS).status_code


def forget_by_key(page: Page, text: str) -> str | None:
    """Press the button of a fact by a key; return the id of the fact."""
    fact = card(page, text)
    fact.get_by_role("button", name="Forget").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notices").get_by_role("button", name="Undo")).to_be_focused()
    return fact.get_attribute("data-id")


def test_it_waits_while_a_key_could_take_it_back_and_says_so(visit: Visit, site: PageServer) -> None:
    ann = visit()
    ann.page.clock.install()
    page = ann.go()
    id_ = forget_by_key(page, "I own book 20.")
    notice = page.locator("#notices")
    expect(notice).to_contain_text("waits to be forgotten for good while you are at these buttons. Forget now does it")
    expect(notice.get_by_role("group")).to_have_attribute("aria-label", notice.locator("p").inner_text())
    page.clock.fast_forward(30_000)
    expect(notice).to_contain_text("waits to be forgotten")
    assert status_of(site, id_) == 200
    # who goes on has decided
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#said")).to_contain_text("will be forgotten for good in 8 seconds")
    page.clock.fast_forward(8_100)
    expect(card(page, "I own book 20.")).to_have_count(0)
    assert status_of(site, id_) == 404


def test_without_the_server_a_wish_stays_and_is_carried_out_once_it_is_back(visit: Visit, site: PageServer) -> None:
    ann = visit()
    page = ann.go()
    fact = card(page, "I own book 25.")
    id_ = fact.get_attribute("data-id")
    page.context.set_offline(True)
    pressed(fact, "Forget")
    pressed(page.locator("#notices"), "Forget now")
    expect(page.locator("#notices")).to_contain_text(
        "“I own book 25.” is not forgotten yet. The server cannot be reached."
    )
    page.get_by_role("link", name="Skills").click()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    assert status_of(site, id_) == 200
    page.context.set_offline(False)
    expect(page.get_by_role("table")).to_contain_text("Ask for dates.")
    expect(page.locator("#notices")).to_contain_text("Forgotten for good")
    expect(page.locator("#notices")).not_to_contain_text("is not forgotten yet")
    assert status_of(site, id_) == 404


def test_a_server_that_comes_back_is_asked_again_by_itself(visit: Visit) -> None:
    ann = visit()
    ann.page.clock.install()
    down = [True]

    def answer(route: Route) -> None:
        if down:
            route.abort()
        else:
            route.continue_()

    ann.page.route("**/memory/v1/**", answer)
    page = ann.go()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    down.clear()
    page.clock.fast_forward(3_100)
    expect(card(page, "I live in Hue.")).to_be_visible()


def test_what_is_refused_is_named(visit: Visit) -> None:
    ann = visit()
    refusals = [423, 412]

    def refuse(route: Route) -> None:
        if route.request.method == "DELETE":
            route.fulfill(status=refusals.pop(), json={"detail": "no"})
        else:
            route.continue_()

    ann.page.route("**/memory/v1/memories/*", refuse)
    page = ann.go()
    for told in ("has changed meanwhile and was not forgotten", "was not forgotten. This is under a legal hold"):
        pressed(card(page, "I own book 26."), "Forget")
        pressed(page.locator("#notices"), "Forget now")
        expect(page.locator("#notices")).to_contain_text(f"“I own book 26.” {told}")
        expect(card(page, "I own book 26.").get_by_role("button", name="Forget")).to_be_enabled()
        pressed(page.locator("#notices"), "Close")
        assert page.evaluate("document.activeElement !== document.body")
