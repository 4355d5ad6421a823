"""Correcting a fact: what is said instead is believed, however often it changes."""

from __future__ import annotations

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Fact, fact_id
from tests.support.telling import tell

HUE, HANOI = "I live in Hue", "I live in Hanoi"


async def facts(store: InMemoryStore) -> dict[str, Fact]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), filter={"kind": "fact"}, limit=10)
    return {fact.text: fact for fact in (Fact.from_value(item.value) for item in found)}


async def test_what_is_said_instead_takes_its_place_and_stays_about_the_same() -> None:
    store = InMemoryStore()
    await tell(store, "She lives in Hue", about="Lan", source_ids=["m1"])
    new = await MemoryFacade(store).correct("ann", fact_id("Lan", "She lives in Hue"), "She lives in Hanoi")
    kept = await facts(store)
    old = kept["She lives in Hue"]
    assert (old.current, old.superseded_by, old.valid_to) == (False, new.id, new.said_at)
    assert (new.about, new.current, new.verbatim, kept[new.text]) == ("Lan", True, False, new)


async def test_what_is_corrected_back_and_forth_is_believed_each_time() -> None:
    store = InMemoryStore()
    await tell(store, HUE, source_ids=["m1"])
    for before, after in ((HUE, HANOI), (HANOI, HUE), (HUE, HANOI)):
        await MemoryFacade(store).correct("ann", fact_id("user", before), after)
        assert [fact.text for fact in (await facts(store)).values() if fact.current] == [after]


async def test_what_depends_on_what_is_corrected_is_in_doubt() -> None:
    store = InMemoryStore()
    await tell(store, HUE, source_ids=["m1"])
    await tell(store, "I take the bus to work", needs=[HUE], source_ids=["m1"])
    await MemoryFacade(store).correct("ann", fact_id("user", HUE), HANOI)
    assert (await facts(store))["I take the bus to work"].doubts == (fact_id("user", HUE),)


STATES_NOTHING = [
    "Where do I live?",
    "hello",
    "Forget my tram.",
    "If I lived in Rome I would be happy.",
    "Always answer in Vietnamese.",
    "> I live in Rome.",
    "\x00",
    "我住在哪里？",
]


@pytest.mark.parametrize("text", STATES_NOTHING)
async def test_what_states_nothing_takes_the_place_of_nothing(text: str) -> None:
    store = InMemoryStore()
    await tell(store, HUE, source_ids=["m1"])
    before = await facts(store)
    with pytest.raises(ValueError, match=r"states nothing|asks to forget"):
        await MemoryFacade(store).correct("ann", fact_id("user", HUE), text)
    assert await facts(store) == before


@pytest.mark.parametrize(
    ("text", "believed"),
    [
        ("No, I live in Hanoi. Is that clear?", "No, I live in Hanoi."),
        ("我住在河内。我五月搬来的。", "我住在河内。我五月搬来的。"),
        ("I live in Ha\x00noi", "I live in Ha�noi"),
    ],
)
async def test_what_is_stated_is_believed_word_for_word_and_nothing_else(text: str, believed: str) -> None:
    store = InMemoryStore()
    await tell(store, HUE, source_ids=["m1"])
    assert (await MemoryFacade(store).correct("ann", fact_id("user", HUE), text)).text == believed


async def test_nobody_has_to_put_it_better_than_it_was() -> None:
    store = InMemoryStore()
    await tell(store, "two cats", source_ids=["m1"])
    three = await MemoryFacade(store).correct("ann", fact_id("user", "two cats"), "three cats")
    own = await MemoryFacade(store).correct("ann", three.id, "I have four cats.")
    with pytest.raises(ValueError, match="states nothing"):
        await MemoryFacade(store).correct("ann", own.id, "five cats")
    # it is corrected back to what it was
    assert (await MemoryFacade(store).correct("ann", own.id, "two cats")).text == "two cats"
    assert (
        await MemoryFacade(store).correct("ann", fact_id("user", "two cats"), "six cats", vouched=True)
    ).text == "six cats"
