"""Themes: what several memories speak of that has no name is a concept too."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.concept_store import load_concepts, refresh_concepts, themes
from react_mem.memory.model.kinds import CONCEPT
from react_mem.memory.model.records import Episode, Fact
from tests.support.linking import links, record, store_records


def fact(text: str, **more: Any) -> Fact:
    made = record("fact", text, text=text, **more)
    assert isinstance(made, Fact)
    return made


def named(*facts: Fact, episodes: list[Episode] | None = None) -> dict[str, set[str]]:
    return {theme.name: set(theme.source_ids) for theme in themes(facts, episodes or [], [])}


@pytest.mark.parametrize(
    ("one", "other", "theme"),
    [
        ("I prefer a cool climate.", "My lungs need the cool climate of the hills", "cool climate"),
        ("Tôi thích khí hậu mát mẻ", "Sa Pa có khí hậu mát mẻ", "khí hậu mát"),
        ("我喜欢手冲咖啡", "她每天喝手冲咖啡", "手冲咖"),
    ],
)
def test_what_two_facts_speak_of_is_a_theme_in_any_language(one: str, other: str, theme: str) -> None:
    assert named(fact(one), fact(other)).get(theme) == {one, other}


def test_what_is_only_told_or_wished_is_none() -> None:
    assert named(fact("The hills have a cool climate"), fact("I'd like a black coffee")) == {}


def test_a_fact_and_an_episode_have_a_theme_and_a_single_word_needs_three() -> None:
    town = record("episode", "e", text="Find a town with a cool climate")
    assert isinstance(town, Episode)
    assert named(fact("I prefer a cool climate."), episodes=[town]) == {
        "cool climate": {"I prefer a cool climate.", "e"}
    }
    coffee = [fact("I roast coffee"), fact("Coffee keeps me awake"), fact("My shop sells coffee")]
    assert named(*coffee[:2]) == {}
    assert set(named(*coffee)) == {"coffee"}


def test_what_is_over_or_unread_or_has_a_name_is_no_theme() -> None:
    said = [fact("The old mill is quiet"), fact("We met at the old mill")]
    assert named(*said) != {}
    assert named(said[0], said[1].model_copy(update={"current": False})) == {}
    assert named(said[0], said[1].model_copy(update={"verbatim": True})) == {}
    [mill] = [one for one in themes(said, [], []) if one.name == "old mill"]
    assert "old mill" not in {one.name for one in themes(said, [], [mill])}


async def kept(store: InMemoryStore) -> dict[str, set[str]]:
    found = await store.asearch(CONCEPT.namespace("ann"), filter={"kind": "concept", "theme": True}, limit=100)
    return {item.value["name"]: set(item.value["source_ids"]) for item in found}


async def test_themes_are_kept_apart_from_names_and_go_with_what_speaks_of_them() -> None:
    memory = MemoryFacade(InMemoryStore())
    assert isinstance(memory.store, InMemoryStore)
    said = [
        record("message", "m1", session="monday"),
        record("message", "m2", session="tuesday"),
        record("experience", "step", "m1", session="monday"),
        record("fact", "f1", "m1", text="I prefer a cool climate.", session="monday"),
        record("fact", "f2", "m2", text="My lungs need a cool climate.", session="tuesday"),
    ]
    await store_records(memory.store, *said)
    assert [concept.name for concept in await refresh_concepts(memory.store, "ann")] == []
    assert await kept(memory.store) == {"cool climate": {"f1", "f2"}}
    assert await load_concepts(memory.store, "ann") == {}
    [theme] = (await memory.store.asearch(CONCEPT.namespace("ann"), filter={"theme": True}))[:1]
    assert {(theme.key, "support", "f1"), (theme.key, "support", "step")} <= await links(memory.store)
    copy = [line async for line in memory.export_user("ann")]
    await memory.import_user("bob", copy)

    # made anew from the same, nothing changes
    await refresh_concepts(memory.store, "ann")
    assert await kept(memory.store) == {"cool climate": {"f1", "f2"}}
    receipt = await memory.delete_session("ann", "tuesday")
    assert receipt.problems == ()
    assert await kept(memory.store) == {}
