"""The page for everybody: their words, their colours, their windows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from react_mem.memory.model.interface import Arm
from react_mem.memory.model.kinds import KINDS
from tests.integration.page.conftest import Visitor

Visit = Callable[..., Visitor]


# --- words ---


def test_every_kind_and_arm_has_a_word_in_both_languages(visit: Visit) -> None:
    page = visit().go()
    wanted = [f"{form}_{kind}" for kind in KINDS for form in ("kind", "one")] + [f"arm_{arm}" for arm in Arm]
    missing = page.evaluate("keys => keys.filter(key => !WORDS.en[key] || !WORDS.vi[key])", wanted)
    assert missing == []


@pytest.mark.parametrize(
    ("locale", "told", "behind"),
    [
        ("en-GB", "This states nothing that could be remembered.", "What the server says"),
        ("vi-VN", "Nội dung này không khẳng định điều gì để ghi nhớ.", "Máy chủ nói (tiếng Anh)"),
    ],
)
def test_an_error_is_told_in_the_language_of_the_page(locale: str, told: str, behind: str, visit: Visit) -> None:
    page = visit(locale=locale).go()
    field = page.locator(".teller textarea")
    field.fill("Where do I live?")
    page.locator(".teller button.main").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(told)
    expect(alert.get_by_text("states nothing: it asks")).to_be_hidden()
    alert.get_by_text(behind).click()
    expect(alert.get_by_text("states nothing: it asks")).to_be_visible()
    assert field.input_value() == "Where do I live?"


# --- colours ---


# --- windows ---
