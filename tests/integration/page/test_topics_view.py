"""The list of memories narrowed by topic, origin and day, over all memories and not those that are loaded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.base import BaseStore
from playwright.sync_api import expect

from react_mem.memory.model.origins import Origin
from tests.integration.page.conftest import Visitor, card, pressed
from tests.support.linking import record, store_records
from tests.support.page_server import PageServer
from tests.support.telling import tell

Visit = Callable[..., Visitor]

ANN = "ann of the topics"


async def fill(store: BaseStore) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=400)
    for text in ("I live in Hue.", "The river of Hue is wide.", "I was born in Lisbon.", "It is far to Lisbon."):
        await tell(store, text, user_id=ANN, at=long_ago)
    await store_records(store, *(record("fact", f"n{n}", text=f"I own book {n}.") for n in range(210)), user_id=ANN)
    await store_records(store, record("fact", "w", text="Hue has a bridge.", origin=Origin.WEB), user_id=ANN)


@pytest.fixture(scope="module", autouse=True)
def topics(site: PageServer) -> None:
    """What ann of the topics has told."""
    site.run(fill)


def test_topics_origins_and_days_are_asked_of_the_server(visit: Visit) -> None:
    page = visit(ANN).go()
    # they are older than what is loaded
    expect(page.locator("article.card")).to_have_count(200)
    topics = page.get_by_role("group", name="Topics")
    pressed(topics, "Lisbon")
    expect(page.locator("article.card")).to_have_count(2)
    expect(page.locator(".more")).to_contain_text("2 of 2")
    expect(topics.get_by_role("button", name="Lisbon")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.locator("article.card")).to_have_count(2)
    pressed(topics, "Lisbon")
    expect(page.locator("article.card")).to_have_count(200)
    page.get_by_label("Until").fill((datetime.now(UTC) - timedelta(days=399)).date().isoformat())
    expect(card(page, "I live in Hue.")).to_be_visible()
    expect(page.locator("article.card")).to_have_count(4)
    page.get_by_label("Until").fill("")
    page.get_by_role("combobox", name="From").select_option("web")
    expect(page.locator("article.card")).to_have_count(1)
    expect(page.locator("article.card")).to_contain_text("bridge")
    page.get_by_label("Since").fill("2099-01-01")
    expect(page.locator(".empty")).to_have_text("Nothing fits these filters.")
