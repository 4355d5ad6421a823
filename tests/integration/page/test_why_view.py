"""Why an answer was given, and what a prompt would be, on the page."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.integration.page.conftest import HOSTILE, Visitor
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]


def test_the_prompt_for_a_message_is_shown_part_by_part(visit: Visit) -> None:
    ann = visit()
    page = ann.go("why")
    page.get_by_label("A message").fill("What is my cat called?")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_role("heading", name="Parts of the prompt")).to_be_focused()
    parts = page.locator(".part")
    sizes = [int(text.split()[0].replace(",", "")) for text in parts.locator("summary .number").all_inner_texts()]
    told = page.locator("main").get_by_text("The prompt takes").inner_text()
    assert f"takes {sum(sizes):,} of" in told
    # one scale for all of them, which is said
    expect(page.get_by_text(f"each part as its share of these {sum(sizes):,} tokens")).to_be_visible()
    bars = parts.locator(".bar > span").evaluate_all("all => all.map(one => parseInt(one.style.width))")
    assert bars == [round(100 * size / sum(sizes)) for size in sizes]

    # what is the deployment's is no user's; what is the user's is there, and can be corrected
    page.locator("[data-part=system] summary").click()
    expect(page.locator("[data-part=system] pre")).to_have_text("[instructions of the agent]")
    memories = page.locator("[data-part=memories]")
    memories.locator("summary").first.focus()
    page.keyboard.press("Enter")
    expect(memories.locator("pre")).to_contain_text("My cat is called Mimi.")
    cat = memories.locator("article.card").filter(has_text="My cat is called Mimi.").first
    expect(cat.get_by_role("button", name="Correct")).to_be_visible()
    cat.get_by_role("button", name="Details").click()
    expect(cat.locator("blockquote").first).to_contain_text("My cat is called Mimi.")
    page.get_by_text("The whole prompt").click()
    expect(page.locator(".whole pre").last).to_have_text("What is my cat called?")


def test_a_prompt_goes_on_a_conversation_where_one_comes_from_it(visit: Visit) -> None:
    page = visit().go("conversations/monday")
    page.get_by_role("link", name="The prompt of the next message").click()
    page.get_by_label("A message").fill("And my cat?")
    page.get_by_role("button", name="Show the prompt").click()
    page.locator("[data-part=conversation] summary").click()
    expect(page.locator("[data-part=conversation] pre")).to_contain_text("I live in Hue, and I like the rain.")
    expect(page.locator("[data-part=conversation] pre")).to_contain_text(HOSTILE)


def test_an_answer_tells_which_memories_stood_in_its_prompt(visit: Visit, site: PageServer) -> None:
    page = visit().go("conversations/monday")
    page.get_by_role("link", name="Why this answer? Your cat is Mimi.").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Why that answer")
    cards = page.locator("article.card")
    expect(cards).to_have_count(1)
    expect(cards).to_contain_text("My cat is called Mimi.")
    expect(cards).to_contain_text("you said it")
    expect(page.locator("#main")).to_contain_text("1 more is not there any more.")
    bob = visit("bob").go("why/monday/a1")
    expect(bob.get_by_role("alert")).to_contain_text("There is no such thing in your memory.")
    expect(bob.locator("#main")).not_to_contain_text("Mimi")
