"""The page on a real server that authenticates its users: what is changed there changes the next answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.browser import browser_path, opened_browser
from tests.support.dev_server import ROOT, DevServer, database_for_a_server, dev_server
from tests.support.people import ANN, BOB, GUARDED, token_of

pytestmark = pytest.mark.e2e

CAT, SNAKE = "My cat is called Mimi.", "My snake is called quagga-4711."


@pytest.fixture(scope="module")
def server(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server as `langgraph.deploy.json` has it, without a language model."""
    browser_path()  # where there is none, nobody waits for a server
    built = json.loads((ROOT / "langgraph.deploy.json").read_text(encoding="utf-8"))
    config = {key: built[key] for key in ("auth", "http", "checkpointer") if key in built}
    with (
        database_for_a_server(database_server) as url,
        dev_server(tmp_path_factory.mktemp("page"), {"DATABASE_URL": url, **GUARDED}, config) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def browser(server: DevServer) -> Iterator[Browser]:
    """A browser; after the server, which no event loop of the browser's may run beside."""
    expect.set_options(timeout=20_000)
    with opened_browser() as opened:
        yield opened


class Person:
    """Somebody who talks to the agent and looks at the page.

    Args:
        server: The server.
        browser: Their browser.
        identity: Who they are.
    """

    def __init__(self, server: DevServer, browser: Browser, identity: str) -> None:
        self.url = server.url
        self.http = httpx.Client(
            base_url=server.url, headers={"authorization": f"Bearer {token_of(identity)}"}, timeout=60
        )
        self._context = browser.new_context(locale="en-GB")
        self._context.add_init_script(
            f"if (origin !== 'null') sessionStorage.setItem('react-mem.token', {token_of(identity)!r})"
        )
        self.page = self._context.new_page()

    def say(self, text: str) -> str:
        """Say something in a new conversation; return the answer."""
        thread = self.http.post("/threads", json={}).raise_for_status().json()["thread_id"]
        body = {"assistant_id": "react_mem", "input": {"messages": [{"role": "user", "content": text}]}}
        answer = self.http.post(f"/threads/{thread}/runs/wait", json=body).raise_for_status().json()
        return str(answer["messages"][-1]["content"])

    def facts(self) -> dict[str, str]:
        """Return the facts that are believed: their ids, by what they say."""
        listed = self.http.get("/memory/v1/memories", params={"kind": "fact"}).raise_for_status().json()
        return {item["text"]: item["id"] for item in listed["items"]}

    def knows(self, *texts: str) -> None:
        """Wait until these are facts, looking whenever the server says that memory has changed."""
        with self.http.stream("GET", "/memory/v1/events") as events:
            for line in events.iter_lines():
                if line.startswith("data: ") and set(texts) <= self.facts().keys():
                    return
        raise AssertionError(f"the stream of changes has ended, and these are no facts: {texts}")

    def go(self, place: str = "memories") -> Page:
        """Open a section of the page."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/memory/ui#/{place}")
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        return self.page

    def close(self) -> None:
        """Leave."""
        self._context.close()
        self.http.close()


@pytest.fixture
def ann(server: DevServer, browser: Browser) -> Iterator[Person]:
    """A user with something to lose."""
    person = Person(server, browser, ANN)
    yield person
    person.close()


@pytest.fixture
def bob(server: DevServer, browser: Browser) -> Iterator[Person]:
    """Another user."""
    person = Person(server, browser, BOB)
    yield person
    person.close()


def card(page: Page, text: str) -> Locator:
    return page.locator("article.card", has=page.locator(".text", has_text=re.compile(f"^{re.escape(text)}$")))


def pressed(place: Locator | Page, name: str) -> None:
    place.get_by_role("button", name=name).first.click()


def test_what_is_corrected_and_forgotten_changes_the_next_answer(ann: Person, bob: Person) -> None:
    ann.say(CAT)
    ann.say(SNAKE)
    ann.knows(CAT, SNAKE)
    assert "Mimi" in ann.say("What is my cat called?")
    assert "quagga-4711" in ann.say("What is my snake called?")
    ids = ann.facts()

    page = ann.go()
    pressed(card(page, CAT), "Correct")
    page.locator("article textarea").fill("My cat is called Tom.")
    pressed(page, "Save")
    expect(page.locator("#said")).to_have_text("Corrected.")
    pressed(card(page, SNAKE), "Forget")
    pressed(page.locator("#notices"), "Forget now")
    expect(page.locator("#notices")).to_contain_text("Forgotten for good")
    expect(card(page, SNAKE)).to_have_count(0)

    answers: dict[str, Any] = {name: ann.say(f"What is my {name} called?") for name in ("cat", "snake")}
    assert "Tom" in answers["cat"], answers
    assert "quagga-4711" not in answers["snake"], answers
    assert "quagga-4711" not in ann.http.get("/memory/v1/export").text

    # another user sees none of it, also by its id
    page = bob.go()
    expect(page.locator("#main")).to_contain_text("Nothing is remembered here yet.")
    page = bob.go(f"memories/{ids[CAT]}")
    expect(page.get_by_role("alert")).to_contain_text("There is no such thing in your memory.")
    assert bob.http.get(f"/memory/v1/memories/{ids[CAT]}").status_code == 404
    assert bob.http.patch(f"/memory/v1/memories/{ids[CAT]}", json={"text": "My cat is dead."}).status_code == 404
    assert bob.http.delete(f"/memory/v1/memories/{ids[CAT]}").status_code == 404
    assert "My cat is called Tom." in ann.facts()
