"""Correcting a fact: what is said instead is believed, however often it changes."""

from __future__ import annotations

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Fact, fact_id
from react_mem.memory.rights.correcting import correct_fact
from tests.support.telling import tell

HUE, HANOI = "I live in Hue", "I live in Hanoi"


async def facts(store: InMemoryStore) -> dict[str, Fact]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), filter={"kind": "fact"}, limit=10)
    return {fact.text: fact for fact in (Fact.from_value(item.value) for item in found)}


async def test_what_is_said_instead_takes_its_place_and_stays_about_the_same() -> None:
    store = InMemoryStore()
    await tell(store, "She lives in Hue", about="Lan", source_ids=["m1"])
    new = await correct_fact(store, "ann", fact_id("Lan", "She lives in Hue"), "She lives in Hanoi")
    kept = await facts(store)
    old = kept["She lives in Hue"]
    assert (old.current, old.superseded_by, old.valid_to) == (False, new.id, new.said_at)
    assert (new.about, new.current, new.verbatim, kept[new.text]) == ("Lan", True, False, new)


async def test_what_is_corrected_back_and_forth_is_believed_each_time() -> None:
    store = InMemoryStore()
    await tell(store, HUE, source_ids=["m1"])
    for before, after in ((HUE, HANOI), (HANOI, HUE), (HUE, HANOI)):
        await correct_fact(store, "ann", fact_id("user", before), after)
        assert [fact.text for fact in (await facts(store)).values() if fact.current] == [after]


async def test_what_depends_on_what_is_corrected_is_in_doubt() -> None:
    store = InMemoryStore()
    await tell(store, HUE, source_ids=["m1"])
    await tell(store, "I take the bus to work", needs=[HUE], source_ids=["m1"])
    await correct_fact(store, "ann", fact_id("user", HUE), HANOI)
    assert (await facts(store))["I take the bus to work"].doubts == (fact_id("user", HUE),)


async def test_nothing_else_can_be_corrected() -> None:
    store = InMemoryStore()
    await tell(store, HUE, source_ids=["m1"])
    for id_, text, cause in (
        ("none", HANOI, "only a fact"),
        (fact_id("user", HUE), "i live in hue.", "says already"),
        (fact_id("user", HUE), " ", "is empty"),
    ):
        with pytest.raises(ValueError, match=cause):
            await correct_fact(store, "ann", id_, text)
    await correct_fact(store, "ann", fact_id("user", HUE), HANOI)
    with pytest.raises(ValueError, match="not believed any more"):
        await correct_fact(store, "ann", fact_id("user", HUE), "I live in Huế city")
