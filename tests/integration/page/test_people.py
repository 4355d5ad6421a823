"""Who is at the page: what it asks for, and that nothing of one person stays for the next."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable

import httpx
from playwright.sync_api import Locator, Page, Route, expect

from tests.integration.page.conftest import Visitor, card, pressed, tell_from_elsewhere
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]

SECRET = "My diary is under the bed."


def token_of(name: str, expires: float) -> str:
    """A token of somebody, as far as a page reads it."""
    parts = ({"alg": "none"}, {"sub": name, "exp": int(expires)})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".x"


def dialog_of(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Who I am")


def go_on_as(page: Page, token: str) -> None:
    dialog_of(page).get_by_label("Token").fill(token)
    pressed(dialog_of(page), "Use this")


def refuse_token(page: Page, token: str) -> None:
    """Let the server refuse a token from now on."""

    def refuse(route: Route) -> None:
        if route.request.headers.get("authorization") == f"Bearer {token}":
            route.fulfill(status=401, json={"detail": "this token is not accepted"})
        else:
            route.continue_()

    page.route("**/memory/v1/**", refuse)


def test_nothing_of_one_person_stays_for_the_next(visit: Visit, site: PageServer) -> None:
    id_ = tell_from_elsewhere(site, "ann of the diary", SECRET)
    ann = visit("ann of the diary")
    ann.page.clock.install()
    page = ann.go()
    page.get_by_label("Search what is remembered").fill("diary bed")
    page.keyboard.press("Enter")
    expect(card(page, SECRET).first).to_be_visible()
    page.get_by_role("link", name="Skills").click()
    page.get_by_role("link", name="What I know of you").click()
    pressed(card(page, SECRET), "Forget")
    page.get_by_role("button", name="Who I am").click()
    expect(dialog_of(page)).to_contain_text("has not been forgotten yet. If somebody else goes on here, it stays.")
    go_on_as(page, "bob of the diary")
    expect(page.locator("#notices")).to_contain_text("Somebody else is here now")
    expect(page.locator("#main")).to_contain_text("Nothing is remembered here yet.")
    page.clock.fast_forward(20_000)
    assert "diary" not in page.evaluate(
        "document.documentElement.outerHTML + JSON.stringify(Object.values(sessionStorage))"
    ).replace("bob of the diary", "")
    assert not [url for url in ann.requests if id_ in url]
    # nor behind the way back
    for _ in range(3):
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert "diary" not in page.url.replace("about:blank", "")
        expect(page.locator("#main")).not_to_contain_text("diary")
    asked = httpx.get(f"{site.url}/memory/v1/memories/{id_}", headers={"authorization": "Bearer ann of the diary"})
    assert asked.status_code == 200


def test_what_one_person_wanted_is_not_asked_for_as_another(visit: Visit, site: PageServer) -> None:
    tell_from_elsewhere(site, "ann of the key", "I keep a key.")
    ann = visit("ann of the key")
    page = ann.go()
    expect(card(page, "I keep a key.")).to_be_visible()
    refuse_token(page, "ann of the key")
    page.get_by_label("In your own words").fill("The key is under the stone.")
    pressed(page, "Remember")
    expect(dialog_of(page)).to_contain_text("does not accept this token any more; it may have expired")
    expect(page.locator("#alive")).to_have_attribute("data-state", "off")
    go_on_as(page, "bob of the key")
    expect(page.locator("#main")).to_contain_text("Nothing is remembered here yet.")
    expect(page.locator("#main")).not_to_contain_text("key")
    expect(page.locator("textarea")).to_have_value("")
    for name in ("ann of the key", "bob of the key"):
        known = httpx.get(f"{site.url}/memory/v1/memories", headers={"authorization": f"Bearer {name}"}).text
        assert "stone" not in known


def test_the_stream_goes_out_with_the_token(visit: Visit) -> None:
    ann = visit(token_of("ann of the hour", time.time() + 3_600))
    ann.page.clock.install()
    page = ann.go()
    expect(page.locator("#alive")).to_have_attribute("data-state", "on")
    page.clock.fast_forward(3_600_000)
    expect(page.locator("#alive")).to_have_attribute("data-state", "off")
