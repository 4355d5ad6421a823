"""The components of the cards as a chat loads them: bundled as the documentation says, and drawn by a browser.

The bundler is npm's, which brings it from its registry or its cache; where it cannot, they are skipped. A chat brings
React; here a few lines stand in for it, so that nothing is loaded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tests.integration.page.conftest import HOSTILE
from tests.support.browser import opened_browser
from tests.support.dev_server import ROOT

[BUNDLER] = re.findall(r"npx -y (\S+) build", (ROOT / "Makefile").read_text(encoding="utf-8"))

HOST = """
const made = (type, { children, ...props } = {}) => {
  if (typeof type === "function") return made.draw(type(props));
  const element = document.createElement(type);
  for (const [name, value] of Object.entries(props)) {
    if (name === "dangerouslySetInnerHTML") element.innerHTML = value.__html;
    else if (name === "className") element.className = value;
    else if (value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...[children].flat(9).map(made.draw).filter(Boolean));
  return element;
};
made.draw = one => one instanceof Node ? one : one || one === 0 ? String(one) : null;
window[Symbol.for("LGUI_REQUIRE")] = () => ({ jsx: made, jsxs: made });
const respond = (_, component, into) => into.append(made(component, window.given) ?? "");
window[Symbol.for("LGUI_EXT_STORE")] = { respond };
window.card = (name, props) => {
  window.given = props;
  document.body.innerHTML = "<div id='place'></div>";
  document.getElementById("place").attachShadow({ mode: "open" });
  __LGUI_agent.render(name, "place");
};
"""
"""What a chat does with a bundle, and React with what its components return: text becomes text."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `make cards` makes."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("npm is not installed, whose bundler makes the components (`npx`)")
    folder = tmp_path_factory.mktemp("bundle")
    done = subprocess.run(
        [npx, "-y", BUNDLER, "build", "-o", str(folder)],
        cwd=ROOT,
        env={**os.environ, "LANGGRAPH_UI": json.dumps({"agent": "./react_mem/graphs/cards/cards.tsx"})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode and "npm error" in done.stderr:
        pytest.skip(f"{BUNDLER} cannot be installed here: {done.stderr.strip().splitlines()[-1][:200]}")
    assert done.returncode == 0, done.stderr
    [asset] = json.loads((folder / "schemas.json").read_text())["agent"]["assets"]
    return Path(folder, "public", "agent", asset).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chat(bundle: str) -> Iterator[Page]:
    with opened_browser() as browser:
        page = browser.new_page()
        page.set_content("<title>a chat</title>")
        page.add_script_tag(content=HOST + bundle)
        yield page


@pytest.fixture
def card(chat: Page) -> Callable[..., Locator]:
    """Draw a card."""

    def drawn(name: str, **props: Any) -> Locator:
        chat.evaluate("([name, props]) => window.card(name, props)", [name, props])
        return chat.locator("#place")

    return drawn


def memory(text: str, origin: str = "user", date: str = "2026-03-03T20:00:00+00:00") -> dict[str, str]:
    return {"text": text, "scope": "semantic", "origin": origin, "date": date}


def test_what_was_recalled_is_shown_with_whose_words_they_are_and_when(card: Callable[..., Locator]) -> None:
    shown = card("recalled", memories=[memory("I live in Hue."), memory("It rains in Hue.", "web", "")], more=3)
    assert shown.locator("summary").inner_text() == "Recalled"
    own, page, more = shown.locator("li").all_inner_texts()
    assert own.startswith("I live in Hue.your words, ")
    assert "2026" in own
    assert page == "It rains in Hue.from a web page"
    assert more == "and 3 more"


def test_text_is_text(card: Callable[..., Locator], chat: Page) -> None:
    shown = card("recalled", memories=[memory(HOSTILE)], more=0, page="javascript:document.title='taken over'")
    assert HOSTILE in shown.locator("li").inner_text()
    assert shown.locator("img, script, a").count() == 0
    drawn = card("remembered", state="read", stored=[HOSTILE], retired=[HOSTILE], page="//elsewhere.example")
    assert drawn.locator("li").count() == 2
    assert drawn.locator("img, script, a").count() == 0
    assert chat.title() == "a chat"


def test_what_was_kept_is_said_as_it_is(card: Callable[..., Locator]) -> None:
    assert "drawn behind the conversation" in card("remembered", state="reading").locator("section").inner_text()
    assert card("remembered", state="kept").locator("p").all_inner_texts() == ["Remembered", "Kept word for word."]
    drawn = card("remembered", state="read", stored=["I live in Hue."], retired=["I live in Rome."])
    assert drawn.locator("li").all_inner_texts() == ["I live in Hue.", "I live in Rome.no longer believed"]
    assert "Nothing new" in card("remembered", state="read", stored=[], retired=[]).locator("section").inner_text()


def test_the_page_of_memory_is_linked(card: Callable[..., Locator]) -> None:
    page = "http://127.0.0.1:2024/memory/ui#/memories"
    link = card("remembered", state="kept", page=page).locator("a")
    assert link.get_attribute("href") == page
    assert link.get_attribute("rel") == "noopener noreferrer"
