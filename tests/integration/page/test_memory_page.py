"""The page of what is remembered, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.integration.page.conftest import FACTS, HOSTILE, Visitor, card, pressed
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]

SECTIONS = (
    "memories",
    "conversations",
    "conversations/monday",
    "why",
    "why/monday/a1",
    "graph",
    "skills",
    "waiting",
    "usage",
)

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def explained(page: Page, message: str = "What is my cat called?") -> None:
    """Ask for a prompt, and open all of its parts."""
    page.get_by_label("A message").fill(message)
    pressed(page, "Show the prompt")
    expect(page.locator(".part")).not_to_have_count(0)
    page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true; })")
    expect(page.locator(".part article.card").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


# --- what everybody is served ---


def test_the_page_is_for_anybody_and_has_nothing_in_it(site: PageServer) -> None:
    answer = httpx.get(f"{site.url}/memory/ui")
    assert answer.status_code == 200
    assert "Mimi" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    kept_out = {"frame-ancestors 'none'", "connect-src 'self'", "require-trusted-types-for 'script'"}
    assert kept_out <= set(policy.split("; "))
    assert answer.headers["x-frame-options"] == "DENY"
    assert not re.search(r"https?://|@import|\bsrc=|innerHTML|insertAdjacent|document\.write|\beval\(", answer.text)
    again = httpx.get(f"{site.url}/memory/ui", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert httpx.post(f"{site.url}/memory/ui").status_code == 405
    assert httpx.get(f"{site.url}/memory/v1/memories").status_code == 401


def test_who_has_no_token_is_asked_for_one_which_goes_with_the_tab(visit: Visit) -> None:
    page = visit("").go()
    dialog = page.get_by_role("dialog", name="Who I am")
    expect(dialog).to_contain_text("wants to know who you are")
    dialog.get_by_label("Token").fill("ann")
    pressed(dialog, "Use this")
    expect(card(page, "I live in Hue.")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    page.reload()
    expect(card(page, "I live in Hue.")).to_be_visible()


def test_nothing_is_asked_of_another_host_and_never_more_than_a_page(visit: Visit, site: PageServer) -> None:
    ann = visit()
    page = ann.go()
    expect(page.locator("article.card")).to_have_count(FACTS + 3)
    pressed(page, "Everything")
    expect(page.locator("article.card")).to_have_count(50)
    pressed(page, "More")
    expect(page.locator("article.card")).not_to_have_count(50)
    asked = [url for url in ann.requests if "/memories" in url]
    assert ["limit=200" in url for url in asked] == [True, False, False]
    assert all("limit=50" in url for url in asked[1:])
    assert all(url.startswith((site.url, "data:", "about:")) for url in ann.requests)


# --- seeing, correcting, forgetting ---


def test_a_fact_is_shown_with_the_words_that_say_it(visit: Visit) -> None:
    page = visit().go()
    fact = card(page, "I live in Hue.")
    expect(fact).to_contain_text("you said it")
    pressed(fact, "Details")
    expect(fact.locator("blockquote")).to_contain_text("I live in Hue, and I like the rain.")


def test_a_fact_is_corrected_and_the_correction_undone_by_the_keyboard_alone(visit: Visit) -> None:
    page = visit().go()
    fact = card(page, "I own book 1.")
    fact.get_by_role("button", name="Correct").focus()
    page.keyboard.press("Enter")
    expect(page.locator("textarea:focus")).to_have_value("I own book 1.")
    page.keyboard.press("Escape")
    expect(fact.get_by_role("button", name="Correct")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("I own no book.")
    page.keyboard.press("ControlOrMeta+Enter")
    changed = card(page, "I own no book.")
    expect(changed.get_by_role("button", name="Correct")).to_be_focused()
    expect(page.locator("#said")).to_have_text("Corrected.")
    pressed(changed, "Details")
    expect(changed).to_contain_text("I own book 1. since")
    pressed(page.locator("#notices"), "Undo")
    expect(card(page, "I own book 1.")).to_be_visible()
    expect(page.locator("#said")).to_have_text("Changed back.")


def test_what_changed_meanwhile_is_not_overwritten(visit: Visit, site: PageServer) -> None:
    page = visit().go()
    fact = card(page, "I own book 2.")
    pressed(fact, "Correct")
    address = f"{site.url}/memory/v1/memories/{page.locator('article:has(textarea)').get_attribute('data-id')}"
    ann = {"authorization": "Bearer ann"}
    httpx.patch(address, json={"text": "I sold book 2."}, headers=ann).raise_for_status()
    page.locator("article textarea").fill("I lost book 2.")
    pressed(page, "Save")
    form = page.locator("article form")
    expect(form.get_by_role("alert")).to_contain_text("It has changed meanwhile. Now it says:")
    expect(form.locator("blockquote")).to_have_text("I sold book 2.")
    # what was written stays, and whoever wrote it stays at it
    expect(form.get_by_label("How it is")).to_have_value("I lost book 2.")
    expect(form.get_by_label("How it is")).to_be_focused()
    known = httpx.get(f"{site.url}/memory/v1/memories", params={"kind": "fact", "limit": 200}, headers=ann).json()
    texts = [item["text"] for item in known["items"]]
    assert "I sold book 2." in texts
    assert "I lost book 2." not in texts
    pressed(form, "Save again")
    expect(card(page, "I lost book 2.")).to_be_visible()
    expect(card(page, "I sold book 2.")).to_have_count(0)
    expect(page.locator("[data-act=edit]:focus")).to_have_count(1)


def test_forgetting_waits_and_is_done_after_the_wait(visit: Visit, site: PageServer) -> None:
    ann = visit()
    ann.page.clock.install()
    page = ann.go()
    fact = card(page, "I own book 3.")
    id_ = fact.get_attribute("data-id")
    pressed(fact, "Forget")
    expect(page.locator("#notices")).to_contain_text("will be forgotten for good in 8 seconds")
    pressed(page.locator("#notices"), "Undo")
    expect(fact.get_by_role("button", name="Forget")).to_be_enabled()
    page.clock.fast_forward(20_000)
    address, ann_is = f"{site.url}/memory/v1/memories/{id_}", {"authorization": "Bearer ann"}
    assert httpx.get(address, headers=ann_is).status_code == 200
    pressed(fact, "Forget")
    page.clock.fast_forward(8_100)
    expect(fact).to_have_count(0)
    expect(page.locator("#notices")).to_contain_text("Forgotten for good")
    assert httpx.get(address, headers=ann_is).status_code == 404


def test_a_search_shows_what_found_it(visit: Visit) -> None:
    page = visit().go()
    lit = page.locator("[data-kind][aria-pressed=true]")
    expect(lit).to_have_text("Facts")
    page.get_by_label("Search what is remembered").fill("cat Mimi")
    page.keyboard.press("Enter")
    found = card(page, "My cat is called Mimi.").first
    # it is of all kinds, and facts come first
    expect(lit).to_have_text("Everything")
    expect(found.locator(".chip").first).to_have_text("Fact")
    expect(page.locator("main h2").last).to_have_text(re.compile("^Messages"))
    expect(found.locator(".arm .number").first).to_contain_text("%")
    expect(found).to_contain_text("Found by")
    expect(found.get_by_role("list", name="Found by")).to_contain_text("words")
    # a kind leaves the search, and so does the way back
    pressed(page, "Messages")
    expect(page.locator("article.card .chip").first).to_have_text("Message")
    expect(page.get_by_label("Search what is remembered")).to_have_value("cat Mimi")
    assert page.url.endswith("#/memories?q=cat+Mimi&kind=message")
    page.reload()
    expect(lit).to_have_text("Messages")
    page.go_back()
    expect(found).to_be_visible()
    expect(lit).to_have_text("Everything")
    page.get_by_label("Search what is remembered").fill("")
    expect(page.locator(".lines article.card").first).to_be_visible()
    expect(lit).to_have_text("Facts")


# --- others, and what others wrote ---


@pytest.mark.parametrize("section", SECTIONS)
def test_what_somebody_wrote_is_never_markup(section: str, visit: Visit) -> None:
    page = visit().go(section)
    if section == "memories":
        fact = card(page, HOSTILE)
        pressed(fact, "Details")
        expect(fact.locator("blockquote")).to_contain_text(HOSTILE)
        page.get_by_label("Search what is remembered").fill("img onerror document title taken over")
        page.keyboard.press("Enter")
        expect(page.locator(".reasons").first).to_be_visible()
    if section == "why":
        explained(page, HOSTILE)
        expect(page.locator(".part pre").filter(has_text=HOSTILE).first).to_be_visible()
    if section in ("skills", "waiting"):
        expect(page.locator("table")).to_contain_text(HOSTILE)
    if section == "conversations/monday":
        expect(page.locator(".messages")).to_contain_text(HOSTILE)
        expect(page.locator(".tree")).to_contain_text(HOSTILE)
    assert page.locator("main img, main script, main iframe").count() == 0
    assert "taken over" not in page.title()


# --- by everybody ---


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_axe_finds_nothing_that_keeps_anybody_out(size: str, scheme: str, visit: Visit) -> None:
    ann = visit(size=size, scheme=scheme)
    for section in SECTIONS:
        page = ann.go(section)
        if section == "memories":
            pressed(page.locator("article.card").nth(1), "Details")
            expect(page.locator(".more-of-it blockquote, .more-of-it .dim").first).to_be_visible()
            pressed(page.locator("article.card").nth(2), "Correct")
        if section == "why":
            explained(page)
        found = Axe().run(page, options={"runOnly": RULES}).response
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]] == []
        assert len(found["passes"]) > 10
        expect(page.locator("main")).not_to_contain_text(re.compile("undefined|NaN|\\[object"))
        # nothing is wider than the window
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), section


def test_it_speaks_vietnamese_where_the_browser_does_and_english_where_one_asks(visit: Visit) -> None:
    page = visit(locale="vi-VN").go()
    expect(page.locator("html")).to_have_attribute("lang", "vi")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tôi biết gì về bạn")
    expect(card(page, "I live in Hue.")).to_contain_text("chính bạn nói")
    page.get_by_label("Ngôn ngữ").select_option("en")
    expect(page.get_by_role("heading", level=1)).to_have_text("What I know of you")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_both_languages_have_every_word(visit: Visit) -> None:
    page = visit().go()
    english, vietnamese = page.evaluate("[Object.keys(WORDS.en), Object.keys(WORDS.vi)]")
    assert english == vietnamese
    places = page.evaluate(
        """Object.keys(WORDS.en).filter(key => {
            const named = text => (text.match(/\\{\\w+\\}/g) || []).sort().join();
            return named(WORDS.en[key]) !== named(WORDS.vi[key]);
        })"""
    )
    assert places == []


def test_who_leaves_before_it_is_forgotten_is_told_that_it_stayed(visit: Visit) -> None:
    page = visit().go()
    pressed(card(page, "I own book 4."), "Forget")
    page.reload()
    expect(page.locator("#notices")).to_contain_text("You left the page before “I own book 4.” was forgotten")
    expect(card(page, "I own book 4.")).to_be_visible()
