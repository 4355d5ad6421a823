"""Pictures of the page for the documentation, taken of the real page over what ann has told.

python -m tests.support.page_pictures

writes docs/pictures/page-*.png: a desktop, a desktop in the dark, and a phone.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore
from playwright.sync_api import Browser, Page, expect

from react_mem.memory.facade import MemoryFacade
from tests.support.browser import opened_browser
from tests.support.embedded import embedded_database
from tests.support.linking import record, store_records
from tests.support.page_server import page_server
from tests.support.telling import tell

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"

_DAY = datetime(2026, 11, 2, 9, tzinfo=UTC)

_TALKS = {
    "moving": [
        ("I moved to Hue in March, and I live near the Perfume River.", "I live in Hue, near the Perfume River."),
        ("I am allergic to peanuts.", "I am allergic to peanuts."),
        ("My cat Mimi came with me.", "My cat is called Mimi."),
    ],
    "work": [
        ("I am a nurse at the hospital of Hue.", "I work as a nurse at the hospital of Hue."),
        ("On Mondays I have the night shift.", "I have the night shift on Mondays."),
        ("I am learning the cello.", "I am learning the cello."),
    ],
    "journey": [
        ("In December I fly to Lisbon to see my sister Lan.", "I fly to Lisbon in December."),
        ("Lan has lived there for ten years.", "My sister Lan lives in Lisbon."),
        ("I like a window seat.", "I like a window seat on a flight."),
    ],
}


@dataclass(frozen=True)
class Shot:
    """A picture."""

    name: str
    section: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"


SHOTS = (
    Shot("desktop", "memories", 1280, 800),
    Shot("dark", "graph", 1280, 800, "dark"),
    Shot("phone", "why", 390, 844),
)


async def fill(store: BaseStore) -> None:
    """Let ann have talked: messages, the facts in them, summaries, an episode and a skill."""
    dialog = MemoryFacade(store).dialog
    for day, (thread, lines) in enumerate(_TALKS.items()):
        for turn, (said, fact) in enumerate(lines):
            [message] = await dialog.append("ann", thread, [HumanMessage(said, id=f"q{turn}")], agent_id="assistant")
            at = _DAY + timedelta(days=7 * day, minutes=turn)
            await tell(store, fact, source_ids=[message.id], session_id=thread, at=at)
        text = " ".join(fact for _, fact in lines)
        await store_records(
            store, record("summary", f"s-{thread}", message.id, session=thread, text=text, chain=True, last_turn=2)
        )
    await store_records(
        store,
        record("episode", "e", session="journey", text="Finding a flight to Lisbon with one stop."),
        record(
            "skill", "k", session="journey", text="Ask for dates before looking for flights.", trials=4, successes=3
        ),
    )


def take(browser: Browser, url: str, folder: Path) -> list[Path]:
    """Take the pictures of what ann is shown."""
    taken = []
    for shot in SHOTS:
        context = browser.new_context(
            viewport={"width": shot.width, "height": shot.height},
            color_scheme=shot.scheme,
            locale="en-GB",
            reduced_motion="reduce",
        )
        context.add_init_script("if (origin !== 'null') sessionStorage.setItem('react-mem.token', 'ann')")
        page = context.new_page()
        page.goto(f"{url}/memory/ui#/{shot.section}")
        expect(page.locator("#alive")).to_have_attribute("data-state", "on")
        _prepare(page, shot.section)
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        taken.append(folder / f"page-{shot.name}.png")
        page.screenshot(path=taken[-1])
        context.close()
    return taken


def _prepare(page: Page, section: str) -> None:
    """Have a section show what is worth a picture."""
    if section == "memories":
        page.locator("article.card").first.get_by_role("button", name="Details").click()
        expect(page.locator("article blockquote").first).to_be_visible()
        page.evaluate("scrollTo(0, 0)")
    elif section == "graph":
        expect(page.locator("canvas[data-settled]")).to_be_visible()
        left, top = page.evaluate("view.drawing.placeOf(view.drawing.nodes.find(node => node.kind === 'fact').id)")
        page.locator("canvas").click(position={"x": left, "y": top})
    elif section == "why":
        page.get_by_label("A message").fill("Can you book me a flight to my sister?")
        page.get_by_role("button", name="Show the prompt").click()
        expect(page.locator(".part").first).to_be_visible()
        page.locator("[data-part=memories] summary").click()
        expect(page.locator(".part article.card").first).to_be_visible()


def main() -> None:
    """Take them of a server of their own, and write them to the documentation."""
    expect.set_options(timeout=20_000)
    with tempfile.TemporaryDirectory() as data, asyncio.Runner() as runner:
        database = embedded_database(Path(data))
        url = runner.run(database.__aenter__())
        try:
            with page_server(url) as server:
                server.run(fill)
                with opened_browser() as browser:
                    for path in take(browser, server.url, FOLDER):
                        sys.stdout.write(f"{path.name}: {path.stat().st_size:,} bytes\n")
        finally:
            runner.run(database.__aexit__(None, None, None))


if __name__ == "__main__":
    main()
