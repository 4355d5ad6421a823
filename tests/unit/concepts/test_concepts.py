"""Names that are one concept, in any order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.merging.concept_store import (
    Names,
    concept_changes,
    concepts_without,
    load_concepts,
    refresh_concepts,
)
from react_mem.memory.model.concepts import Concept, alias_id
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import put, write
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact
from react_mem.memory.store.transactions import transact
from tests.support.naming import concepts_named
from tests.unit.concepts.facts import START, fact


async def write_facts(store: InMemoryStore, *facts: Fact, user: str = "ann") -> None:
    async def step() -> tuple[None, list[object]]:
        changes = [put(user, one) for one in facts]
        return None, [*changes, *await concept_changes(store, user, facts)]

    await transact(store, user, step)  # type: ignore[arg-type]


async def names(store: InMemoryStore, user: str = "ann") -> set[frozenset[str]]:
    """The concepts of a user, by the names they go by."""
    found = (await load_concepts(store, user)).values()
    return {frozenset(alias.name for alias in concept.aliases) for concept in found}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(
            [fact("Tôi sống ở Hà Nội"), fact("I was in Hanoi"), fact("I like the food in Hà Nội")],
            [{"Hà Nội", "Hanoi"}],
            id="one city, with marks or without",
        ),
        pytest.param(
            [fact("bạn tôi là Hoàng"), fact("sếp tôi là Hoảng"), fact("con tôi là Hoang")],
            [{"Hoàng"}, {"Hoảng"}, {"Hoang"}],
            id="what marks tell apart is not one, and nobody knows who is meant without them",
        ),
        pytest.param(
            [fact("I own a VinFast"), fact("I sold a Vin Fast")], [{"VinFast", "Vin Fast"}], id="written together"
        ),
        pytest.param(
            [fact("I live in New York"), fact("I read the New York Times")],
            [{"New York"}, {"New York Times"}],
            id="a part of a name",
        ),
    ],
)
def test_names_of_one_are_one(facts: Sequence[Fact], expected: Sequence[set[str]]) -> None:
    found = Names.in_facts(facts, Names()).concepts()
    assert sorted(sorted({alias.name for alias in concept.aliases}) for concept in found) == sorted(
        map(sorted, expected)
    )


_PLACES = ["Hà Nội", "Hanoi", "Ha Noi", "Huế", "Paris"]
_PEOPLE = ["Anna", "Anna Schmidt", "Schmidt", "Paris", "Lan", "Nguyễn Thị Lan", "Lân", "LAN"]
_ORIGINS = st.sampled_from([Origin.USER, Origin.ASSENT, Origin.TOOL])
FACTS = st.one_of(
    st.builds(
        lambda said, name, origin: fact(f"{said} {name}", origin=origin),
        st.sampled_from(["I live in", "tôi đến", "my friend is"]),
        st.sampled_from([*_PLACES, *_PEOPLE]),
        _ORIGINS,
    ),
    st.builds(
        lambda name, other, day: fact(f"she knows {other}", about=name, day=day),
        st.sampled_from(_PEOPLE),
        st.sampled_from(_PEOPLE),
        st.just(0),
    ),
)


@settings(max_examples=40, deadline=None)
@given(facts=st.lists(FACTS, unique_by=lambda one: one.id, max_size=8), data=st.data())
async def test_in_whatever_order_facts_come_the_concepts_are_the_same(facts: list[Fact], data: st.DataObject) -> None:
    stores = InMemoryStore(), InMemoryStore()
    for one in facts:
        await write_facts(stores[0], one)
    mixed = data.draw(st.permutations(facts))
    cut = data.draw(st.integers(0, len(facts)))
    for part in (mixed[:cut], mixed[cut:]):
        await write_facts(stores[1], *part)

    first, second = [await load_concepts(store, "ann") for store in stores]

    assert first == second
    assert {concept.id: concept for concept in await refresh_concepts(stores[0], "ann")} == first


async def test_a_concept_is_vouched_for_as_little_as_the_least_of_its_facts() -> None:
    store = InMemoryStore()
    said, found = fact("I live in Hue"), fact("the best hotel of Hue is closed", origin=Origin.WEB)
    await write_facts(store, said, found)
    [concept] = (await load_concepts(store, "ann")).values()
    assert concept.origin is Origin.WEB

    items = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), filter={"kind": "concept"})
    await write(store, concepts_without(items, {found.id}))

    [concept] = (await load_concepts(store, "ann")).values()
    assert (concept.origin, concept.source_ids) == (Origin.USER, (said.id,))


async def test_a_concept_is_found_by_any_of_its_names_and_has_its_facts() -> None:
    store = InMemoryStore()
    home, trip = fact("Tôi sống ở Hà Nội", day=2), fact("I was in Hanoi", day=1)
    await write_facts(store, home, trip)

    [found] = await concepts_named(store, "ann", "hanoi")

    assert (found.name, set(found.source_ids)) == ("Hà Nội", {home.id, trip.id})
    assert found.created_at == trip.created_at
    assert Concept.from_value(found.to_value()) == found
    assert await concepts_named(store, "ann", "Hạ Nội") == []


class TestFromWhenNamesHadTypes:
    """Concepts as they were stored when facts had predicates, which told what something is."""

    LIZ, ELIZABETH, PARIS = fact("Liz came"), fact("my aunt is Elizabeth"), fact("I love Paris and Liz")

    def concept(self, *named: tuple[str, str, Fact], merges: Sequence[Any] = (), apart: Sequence[Any] = ()) -> Any:
        aliases = [
            {"name": name, "type": type_, "since": START, "source_ids": [told.id]} for name, type_, told in named
        ]
        at = {"session_id": "", "agent_id": "", "created_at": START}
        sources = [told.id for _, _, told in named]
        told = {
            "name": named[0][0],
            "text": named[0][0],
            "type": named[0][1],
            "source_ids": sources,
            "aliases": aliases,
        }
        id_ = alias_id(named[0][0], named[0][1])
        decided = {"merged_from": list(merges), "apart": list(apart)}
        value = {"id": id_, "kind": "concept", "current": False, **at, **told, **decided}
        return PutOp(scope_namespace("ann", MemoryScope.SEMANTIC), id_, _plain(value), index=False)

    async def kept(self, store: InMemoryStore, *changes: Any) -> None:
        puts = [put("ann", one) for one in (self.LIZ, self.ELIZABETH, self.PARIS)]
        await write(store, [*puts, *changes])

    @pytest.mark.parametrize("by", ["user", "model", "said"])
    async def test_what_was_decided_is_kept(self, by: str) -> None:
        store = InMemoryStore()
        ids = alias_id("Elizabeth", "person"), alias_id("Liz", "person")
        merged = {"kept": ids[0], "moved": [ids[1]], "by": by, "at": START}
        if by == "said":
            merged["source_ids"] = [self.ELIZABETH.id]
        named = ("Elizabeth", "person", self.ELIZABETH), ("Liz", "person", self.PARIS)
        await self.kept(store, self.concept(*named, merges=[merged]))

        assert frozenset({"Elizabeth", "Liz"}) in await names(store)
        anew = await refresh_concepts(store, "ann")

        assert frozenset({"Elizabeth", "Liz"}) in await names(store)
        assert {concept.id: concept for concept in anew} == await load_concepts(store, "ann")
        await write_facts(store, self.ELIZABETH.model_copy(update={"current": False}))
        assert (frozenset({"Elizabeth", "Liz"}) in await names(store)) is (by != "said")


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda at: at.isoformat()))
