"""Layers that a request asks for show all that was found in them, the others their best, the profile always all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.retrieval.outline import BESIDE, shown_of

SCOPES = (MemoryScope.PROFILE, MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.DIALOG)


def found(scopes: list[MemoryScope]) -> list[MemoryResultItem]:
    return [
        MemoryResultItem(scope=scope, id=str(place), source="fact", payload={}) for place, scope in enumerate(scopes)
    ]


@given(st.lists(st.sampled_from(SCOPES), max_size=30), st.sets(st.sampled_from(SCOPES)))
def test_what_is_asked_for_is_whole_and_the_best_of_the_rest_stays(
    scopes: list[MemoryScope], layers: set[MemoryScope]
) -> None:
    items = found(scopes)
    shown = shown_of(items, layers)
    assert shown == [item for item in items if item in shown]
    for scope in SCOPES:
        there = [item for item in items if item.scope is scope]
        whole = not layers or scope in layers or scope is MemoryScope.PROFILE
        assert [item for item in shown if item.scope is scope] == (there if whole else there[:BESIDE])
