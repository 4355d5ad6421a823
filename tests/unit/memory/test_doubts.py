"""A fact is in doubt about what speaks against it now: what it needs and is over, or what is believed beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.merging.doubts import with_doubts
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Fact

AT = datetime(2026, 3, 3, tzinfo=UTC)


def fact(id_: str, **fields: Any) -> Fact:
    return Fact(id=id_, text=f"I am {id_}.", said_at=AT, created_at=AT, session_id="s", agent_id="a", **fields)


async def doubts(one: Fact, *others: Fact) -> tuple[list[str], list[str]]:
    """Return what a fact is told to be in doubt about, and what its payload says."""
    store = InMemoryStore()
    for other in others:
        await store.aput(scope_namespace("ann", MemoryScope.SEMANTIC), other.id, other.to_value())
    item = MemoryResultItem(scope=MemoryScope.SEMANTIC, id=one.id, payload=one.to_value(), source="fact")
    [told] = await with_doubts(store, "ann", [item])
    return [doubt.id for doubt in told.doubts], list(told.payload["doubts"])


@pytest.mark.parametrize("current", [True, False])
@pytest.mark.parametrize("needed", [True, False])
async def test_a_doubt_counts_while_what_it_is_about_speaks_against_the_fact(current: bool, needed: bool) -> None:
    one = fact("one", doubts=("other",), needs=("other",) if needed else ())
    expected = ["other"] if current is not needed else []
    assert await doubts(one, fact("other", current=current)) == (expected, expected)


async def test_of_what_is_forgotten_nothing_is_told_but_that_there_is_a_doubt() -> None:
    assert await doubts(fact("one", doubts=("gone",))) == ([], ["gone"])


async def test_what_is_over_is_in_doubt_about_nothing() -> None:
    told, _ = await doubts(fact("one", doubts=("other",), current=False), fact("other"))
    assert told == []
