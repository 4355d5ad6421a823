"""A fact whose own last day has passed is read as history, and is not made twice when it is told again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.records import Fact, fact_id
from react_mem.memory.write.drawing import related_facts

SAID = datetime(2026, 3, 2, 9, tzinfo=UTC)
FRIDAY = datetime(2026, 3, 6, 23, 59, 59, tzinfo=UTC)
PARIS, TEA = "I am in Paris until Friday", "I like Paris"


async def tell(store: BaseStore, text: str, *, at: datetime = SAID, **fields: Any) -> None:
    operation = Operation(fields.pop("relation", "new"), text, source_ids=(f"m-{at.isoformat()}",), **fields)
    await write_facts(store, "ann", [operation], at=at, session_id="1", agent_id="a")


@pytest.fixture
async def memory(store: BaseStore) -> MemoryFacade:
    await tell(store, PARIS, valid_to=FRIDAY)
    await tell(store, TEA)
    return MemoryFacade(store)


async def read(memory: MemoryFacade, asked: str | None = "Paris", **query: Any) -> dict[str, bool]:
    """Return the facts that are read, and whether each is current."""
    found = await memory.read(
        MemoryQuery(user_id="ann", session_id="9", agent_id="a", scopes=[MemoryScope.SEMANTIC], query=asked, **query)
    )
    return {item.payload["text"]: item.payload["current"] for item in found}


def at(time: datetime, **extra: Any) -> dict[str, Any]:
    return {"extra": {"now": time.isoformat(), **extra}}


@pytest.mark.parametrize("asked", ["Paris", None])
async def test_it_is_current_until_its_last_day_is_over(memory: MemoryFacade, asked: str | None) -> None:
    assert await read(memory, asked, **at(FRIDAY)) == {PARIS: True, TEA: True}
    assert await read(memory, asked, **at(FRIDAY + timedelta(seconds=1))) == {TEA: True}
    assert await read(memory, asked, **at(FRIDAY + timedelta(days=1), history=True)) == {PARIS: False, TEA: True}


async def test_as_of_a_time_it_is_what_it_was_then(memory: MemoryFacade) -> None:
    assert await read(memory, as_of=FRIDAY) == {PARIS: True, TEA: True}
    assert await read(memory, as_of=FRIDAY + timedelta(days=1)) == {TEA: True}
    await tell(
        memory.store,
        "I am in Rome",
        at=FRIDAY + timedelta(days=9),
        relation="changes",
        target_id=fact_id("user", PARIS),
    )
    assert await read(memory, as_of=FRIDAY) == {PARIS: True, TEA: True}
    assert await read(memory, as_of=FRIDAY + timedelta(days=1)) == {TEA: True}


async def test_an_extraction_is_shown_what_is_over_by_its_own_dates_and_not_what_was_ended(
    memory: MemoryFacade,
) -> None:
    await tell(memory.store, "I lived in Paris until 2019", valid_to=datetime(2019, 12, 31, tzinfo=UTC))
    later = SAID + timedelta(hours=1)
    await tell(memory.store, "I am tired of Paris", at=later, relation="changes", target_id=fact_id("user", TEA))
    shown = await related_facts(memory.store, "ann", ["I lived in Paris once"])
    texts = {fact.text for fact in shown}
    assert {PARIS, "I lived in Paris until 2019"} <= texts
    assert TEA not in texts


async def facts(memory: MemoryFacade) -> dict[str, Fact]:
    return {fact.text: fact for fact in await memory.semantic.history(user_id="ann")}


async def test_what_is_told_again_later_is_true_again(memory: MemoryFacade) -> None:
    later = FRIDAY + timedelta(days=30)
    known = {"relation": "same", "target_id": fact_id("user", PARIS)}
    await tell(memory.store, "Paris is where I am", at=later, **known)
    assert set(await facts(memory)) == {PARIS, TEA}
    assert await read(memory, **at(later)) == {PARIS: True, TEA: True}
