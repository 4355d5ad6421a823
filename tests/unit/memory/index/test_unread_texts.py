"""Texts without words: found a part at a time, in work that does not grow with what is left."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.store import owner_index as unread_texts
from react_mem.memory.store.owner_index import unread_keys
from react_mem.memory.store.owner_texts import OwnerTexts
from tests.support.sql_recall import IndexedRow, columns

PREFIX = "memory.ann.dialog"


def known_of(rows: list[IndexedRow]) -> OwnerTexts:
    namespaces = {PREFIX: IndexedTexts.of(columns(rows, 2))}
    return OwnerTexts("ann", "test", 1, datetime(2024, 1, 1, tzinfo=UTC), 1, namespaces)


def row(number: int, name: str = "text", *, unread: bool = True) -> IndexedRow:
    return IndexedRow(f"k{number}", name, {}, None if unread else frozenset({"tea"}), None, 1, number, None)


def test_items_are_named_once_and_those_left_out_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread_texts, "_READ_AT_ONCE", 3)
    known = known_of([row(0), row(0, "more"), row(1, unread=False), row(2), row(3), row(4), row(5)])
    assert unread_keys(known, PREFIX, ()) == ["k0", "k2", "k3"]
    assert unread_keys(known, PREFIX, {"k0", "k3"}) == ["k2", "k4", "k5"]
    assert unread_keys(known, "memory.bob.dialog", ()) == []


def test_one_part_takes_no_more_work_the_more_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread_texts, "_READ_AT_ONCE", 10)
    known, key = known_of([row(number) for number in range(500)]), IndexedTexts.key
    asked: list[int] = []

    def counted(texts: IndexedTexts, text: int) -> str:
        asked.append(text)
        return key(texts, text)

    monkeypatch.setattr(IndexedTexts, "key", counted)
    assert len(unread_keys(known, PREFIX, {"k0"})) == 10
    assert len(asked) == 11
