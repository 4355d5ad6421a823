"""The product stays within its budgets; `make house` measures the stories too."""

from __future__ import annotations

from tests.house import rooms


def test_every_room_is_within_its_budget() -> None:
    assert rooms.over_budget(rooms.measure()) == []


def test_the_page_on_contributing_has_every_room_and_its_budget() -> None:
    page = rooms.PAGE.read_text(encoding="utf-8")
    assert page == rooms.written(page), "run `make house`"
