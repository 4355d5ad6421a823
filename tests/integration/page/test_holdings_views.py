"""Skills, what waits, usage, health and exports, on the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.integration.page.conftest import Visitor
from tests.support.people import ADMIN

Visit = Callable[..., Visitor]


def test_skills_are_shown_with_how_often_they_have_worked(visit: Visit) -> None:
    page = visit().go("skills")
    used, unused = (page.get_by_role("row", name=name) for name in ("Answer with sources.", "Ask for dates."))
    expect(used.get_by_role("cell")).to_have_text(["4", "3", "75 %", "in use"])
    expect(unused.get_by_role("cell").nth(2)).to_have_text("not used yet")
    assert used.locator(".bar > span").evaluate("one => one.style.width") == "75%"
    used.get_by_role("link").click()
    expect(page.locator("article.card")).to_contain_text("Answer with sources.")


def test_what_waits_is_shown_with_the_cause(visit: Visit) -> None:
    page = visit().go("waiting")
    row = page.get_by_role("row", name="I moved.")
    expect(row).to_contain_text("no model")
    expect(row).to_contain_text("Could not be read")
    expect(row).to_contain_text("tried 5 times")
    expect(visit("bob").go("waiting").locator("#main")).to_contain_text("Nothing waits.")


def test_usage_is_everybodys_and_health_an_administrators(visit: Visit) -> None:
    page = visit().go("usage")
    expect(page.get_by_role("row", name="Skills")).to_contain_text("2")
    expect(page.get_by_role("heading", name="Health")).to_have_count(0)
    root = visit(ADMIN).go("usage")
    health = root.get_by_role("region", name="Health")
    expect(health.get_by_role("row", name="Database")).to_contain_text("PostgreSQL")
    expect(health.get_by_role("row", name="Embedder")).to_contain_text("yes")
    expect(health.get_by_role("row", name="Queue of all users")).to_contain_text(
        "1 waits, 1 was tried in vain, 1 could not be read"
    )
    expect(visit(ADMIN, locale="vi-VN").go("usage").get_by_role("heading", name="Tình trạng")).to_be_visible()


@pytest.mark.parametrize("status", [403])
def test_what_a_server_does_not_tell_is_no_error_of_the_users(status: int, visit: Visit) -> None:
    ann = visit()

    def refuse(route: Route) -> None:
        route.fulfill(status=status, json={"detail": "not for you"})

    for section, path in (("skills", "skills"), ("waiting", "pending"), ("usage", "usage")):
        ann.page.route(f"**/memory/v1/{path}", refuse)
        page = ann.go(section)
        expect(page.locator("#main")).to_contain_text("This server does not tell.")
        expect(page.get_by_role("alert")).to_have_count(0)


def test_everything_is_taken_along_as_a_file(visit: Visit, tmp_path: Path) -> None:
    page = visit().go("usage")
    with page.expect_download() as coming:
        page.get_by_role("button", name="All of it (JSON Lines)").click()
    coming.value.save_as(tmp_path / "memory.jsonl")
    assert coming.value.suggested_filename == "memory.jsonl"
    assert "I live in Hue." in (tmp_path / "memory.jsonl").read_text(encoding="utf-8")
    expect(page.locator("#said")).to_have_text("memory.jsonl is saved.")
