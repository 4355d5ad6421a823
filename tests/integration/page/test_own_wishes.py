"""The page's controls of a user over memory: pause, forgetting many or everything, and undo of the last change."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from axe_playwright_python.sync_playwright import Axe
from langgraph.store.base import BaseStore
from playwright.sync_api import Route, expect

from react_mem.graphs.memory_api.forget_api import EraseAnswer
from react_mem.memory.facade import MemoryFacade
from tests.integration.page.conftest import Visitor, card, pressed, tell_from_elsewhere
from tests.integration.page.test_memory_page import RULES
from tests.support.page_server import PageServer

Visit = Callable[..., Visitor]


def paused(site: PageServer, user: str) -> bool:
    async def ask(store: BaseStore) -> bool:
        return await MemoryFacade(store).paused(user)

    return site.run(ask)


def test_the_header_says_whose_memory_it_is_and_pauses_it_by_the_keyboard(visit: Visit, site: PageServer) -> None:
    page = visit("eve").go()
    expect(page.locator("#whose")).to_have_text("Memory of eve")
    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Paused: nothing that you say is remembered.")).to_be_visible()
    assert paused(site, "eve")
    assert not paused(site, "ann")
    found = Axe().run(page, options={"runOnly": RULES}).response
    assert [rule["id"] for rule in found["violations"]] == []
    page.reload()
    expect(page.locator("#paused")).to_be_visible()
    page.get_by_label("In your own words").fill("I live in Hue.")
    pressed(page.locator(".teller"), "Remember")
    expect(page.get_by_role("alert")).to_contain_text("nothing that you say is remembered")
    expect(page.get_by_role("button", name="Remember again")).to_be_visible()
    pressed(page, "Remember again")
    expect(page.locator("#paused")).to_be_hidden()
    assert not paused(site, "eve")


def test_several_are_chosen_and_forgotten_at_once(visit: Visit, site: PageServer) -> None:
    for text in ("I have a boat.", "I have a kite.", "I have a drum."):
        tell_from_elsewhere(site, "mia", text)
    page = visit("mia").go()
    for text in ("I have a boat.", "I have a kite."):
        card(page, text).get_by_role("checkbox").check()
    bar = page.get_by_role("group", name="Chosen memories")
    expect(bar).to_contain_text("2 chosen")
    pressed(bar, "Forget them")
    pressed(page.locator("#notices"), "Undo")
    expect(page.locator("article.card:not(.doomed)")).to_have_count(3)
    for text in ("I have a boat.", "I have a kite."):
        card(page, text).get_by_role("checkbox").check()
    pressed(bar, "Forget them")
    pressed(page.locator("#notices"), "Forget now")
    expect(page.locator("article.card")).to_have_count(1)
    expect(bar).to_be_hidden()
    expect(card(page, "I have a drum.")).to_be_visible()


def test_the_first_step_the_last_change_and_everything(visit: Visit, site: PageServer) -> None:
    page = visit("noa").go()
    expect(page.locator(".empty")).to_contain_text("Tell something in the field above")
    page.get_by_label("In your own words").fill("I live in Hue.")
    pressed(page.locator(".teller"), "Remember")
    expect(card(page, "I live in Hue.")).to_be_visible()
    pressed(page, "Undo the last change")
    expect(page.locator("#notices")).to_contain_text("Taken back: I live in Hue.")
    expect(page.locator("article.card")).to_have_count(0)
    pressed(page, "Undo the last change")
    expect(page.locator("#notices")).to_contain_text("There is nothing to undo.")

    tell_from_elsewhere(site, "noa", "I have a boat.")

    def erase(route: Route) -> None:
        # the threads of a server are not there
        async def everything(store: BaseStore) -> EraseAnswer:
            memory = MemoryFacade(store)
            spoken = await memory.forget_user("noa", proof=True)
            return EraseAnswer(receipt=await memory.signed("noa", spoken.receipt), threads=[*spoken], problems=[])

        assert route.request.post_data_json == {"confirm": "erase everything"}
        route.fulfill(json=site.run(everything).model_dump(mode="json"))

    page.route("**/memory/v1/erase", erase)
    page.goto(f"{site.url}/memory/ui#/usage")
    pressed(page, "Forget everything")
    dialog = page.get_by_role("dialog", name="Forget everything")
    expect(dialog).to_contain_text("Memory of noa")
    # not without saying so
    pressed(dialog, "Forget everything")
    expect(dialog).to_be_visible()
    dialog.get_by_role("checkbox").check()
    pressed(dialog, "Forget everything")
    receipt = page.locator("#receipt")
    expect(receipt).to_contain_text("Everything is forgotten")
    with page.expect_download() as saved:
        pressed(receipt, "Save the receipt")
    assert saved.value.suggested_filename == "receipt.json"
    left = httpx.get(f"{site.url}/memory/v1/memories", headers={"authorization": "Bearer noa"}).json()
    assert left["total"] == 0
