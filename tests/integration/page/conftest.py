"""A browser, and the page over what ann has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import httpx
import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.states import PendingTurn
from tests.support.browser import opened_browser
from tests.support.linking import record, store_records
from tests.support.page_server import PageServer, page_server
from tests.support.telling import tell

HOSTILE = "<img src=x onerror=\"document.title='taken over'\"><script>document.title='taken over'</script>"
"""What a user said, and a browser is not to read as markup."""

FACTS = 60
"""More than a page of the list."""

SIZES = {"desktop": (1280, 800), "tablet": (820, 1180), "phone": (390, 844), "small phone": (360, 740)}


async def fill(store: BaseStore) -> None:
    """Remember facts with their messages, a summary, an episode, skills."""
    said = [
        record("message", "m1", text="I live in Hue, and I like the rain."),
        record("message", "m2", text="My cat is called Mimi.", minute=1),
        record("message", "m3", text=HOSTILE, minute=2),
    ]
    whole = {"chain": True, "first_turn": 0, "last_turn": 2}
    await store_records(store, *said)
    await store_records(
        store,
        record("summary", "s1", "m1", "m2", text=f"A talk about Hue and a cat. {HOSTILE}", **{**whole, "last_turn": 1}),
        record("summary", "s2", "m3", text="A piece of markup.", **{**whole, "first_turn": 2}),
        record("summary", "s3", "s1", "s2", text="Hue, a cat, and markup.", level="2", **whole),
        record("episode", "e1", "m1", minute=3, text=f"Moving to Hue. {HOSTILE}"),
        record("skill", "k1", text=f"Answer with sources. {HOSTILE}", trials=4, successes=3, status="active"),
        record("skill", "k2", text="Ask for dates."),
        *(record("fact", f"f{place}", text=f"I own book {place}.", minute=-place) for place in range(FACTS)),
    )
    await tell(store, HOSTILE, source_ids=["m3"])
    [cat] = await tell(store, "My cat is called Mimi.", source_ids=["m2"])
    await tell(store, "I live in Hue.", source_ids=["m1"])
    answer = record("message", "a1", text="Your cat is Mimi.", minute=4, used=(cat.id, "forgotten-since"))
    waits = PendingTurn(
        id="p1",
        text=f"I moved. {HOSTILE}",
        session_id="monday",
        agent_id="a",
        attempts=5,
        failures=5,
        last_error="no model",
    )
    await MemoryFacade(store).apply(
        [put("ann", answer.model_copy(update={"role": "assistant", "origin": Origin.ASSISTANT})), put("ann", waits)]
    )


def card(page: Page, text: str) -> Locator:
    """The card of a memory."""
    return page.locator("article.card", has=page.locator(".text", has_text=re.compile(f"^{re.escape(text)}$")))


def pressed(place: Locator | Page, name: str) -> None:
    """Press the first button of a name."""
    place.get_by_role("button", name=name).first.click()


def tell_from_elsewhere(site: PageServer, user: str, text: str) -> str:
    """Let a user tell something without the page; return the id of the fact."""
    headers = {"authorization": f"Bearer {user}"}
    answer = httpx.post(f"{site.url}/memory/v1/memories", json={"text": text}, headers=headers).raise_for_status()
    return str(answer.json()["memory"]["id"])


def talk(site: PageServer, user: str, thread: str, lines: Sequence[str]) -> None:
    """Let a user go on with a conversation without the page."""

    async def append(store: BaseStore) -> None:
        said = [HumanMessage(line, id=f"{thread} {line}") for line in lines]
        await MemoryFacade(store).dialog.append(user, thread, said, agent_id="assistant")

    site.run(append)


@pytest.fixture(scope="module")
def site(database_server: str) -> Iterator[PageServer]:
    """The page's server, with what ann has."""
    with page_server(database_server) as server:
        server.run(fill)
        yield server


@pytest.fixture(scope="module")
def chromium(site: PageServer) -> Iterator[Browser]:
    """A browser."""
    expect.set_options(timeout=20_000)
    with opened_browser() as browser:
        yield browser


class Visitor:
    """Somebody at the page.

    Args:
        context: Their browser.
        url: The server's.
    """

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.page: Page = context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._hear)

    def _hear(self, message: object) -> None:
        text = str(getattr(message, "text", message))
        # the browser itself logs every answer that is an error; what the page makes of it is what tests look at
        if getattr(message, "type", "") == "error" and "Failed to load resource" not in text:
            self.problems.append(text)

    def go(self, place: str = "memories") -> Page:
        """Open a section, and wait until it has what it shows, or asks who it is that asks."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/memory/ui#/{place}")
        self.page.locator("body:not(:has([aria-busy=true])), dialog[open]").first.wait_for()
        return self.page


@pytest.fixture
def visit(site: PageServer, chromium: Browser) -> Iterator[Callable[..., Visitor]]:
    """Let somebody visit the page: `visit("ann", size="phone")`; what goes wrong on it fails the test at its end."""
    contexts: list[BrowserContext] = []
    visitors: list[Visitor] = []

    def visiting(
        name: str = "ann",
        *,
        known_by: Literal["token", "user"] = "token",
        size: str = "desktop",
        scheme: str = "light",
        locale: str = "en-GB",
        forced_colors: Literal["active", "none"] = "none",
    ) -> Visitor:
        width, height = SIZES[size]
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            locale=locale,
            reduced_motion="reduce",
            forced_colors=forced_colors,
        )
        contexts.append(context)
        if name:
            context.add_init_script(f"if (origin !== 'null') sessionStorage.setItem('react-mem.{known_by}', {name!r})")
        visitors.append(Visitor(context, site.url))
        return visitors[-1]

    yield visiting
    for context in contexts:
        context.close()
    assert [problem for visitor in visitors for problem in visitor.problems] == []
