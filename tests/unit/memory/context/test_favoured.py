"""Memories of a kind that the question asks for."""

from __future__ import annotations

from react_mem.memory.context.memories import FoundMemory, render_found
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope

SOURCES = {MemoryScope.SEMANTIC: "fact", MemoryScope.EPISODIC: "episode", MemoryScope.DIALOG: "message"}
RESULTS = [
    MemoryResultItem(scope=scope, id=f"{scope}{n}", payload={"text": f"{scope} number {n} " + "x" * 40}, source=source)
    for scope, source in SOURCES.items()
    for n in range(4)
]


def shown(tokens: int, *favoured: str) -> list[str]:
    return [item.id for item in render_found(list(map(FoundMemory, RESULTS)), tokens, favoured).items]


def test_they_come_first_and_two_at_a_time() -> None:
    assert shown(1000, "dialog")[:5] == ["dialog0", "dialog1", "semantic0", "episodic0", "dialog2"]


def test_they_get_room_first_and_no_other_kind_is_starved() -> None:
    tight = shown(130, "dialog")
    assert sum(id_.startswith("dialog") for id_ in tight) > sum(id_.startswith("dialog") for id_ in shown(130))
    assert {"semantic0", "episodic0"} <= set(tight)


def test_what_fits_is_shown_whatever_is_favoured() -> None:
    assert sorted(shown(1000, "dialog")) == sorted(shown(1000))
