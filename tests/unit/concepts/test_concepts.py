"""Which names are one concept, in any order; and undoing what was merged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from memory.changes import put, write
from memory.concepts import concept_changes, find_concepts, load_concepts, merge, refresh_concepts, unmerge
from memory.concepts.names import Names
from memory.concepts.records import Concept
from memory.interface import MemoryScope
from memory.records import Fact
from memory.transactions import transact
from tests.unit.concepts.facts import fact

ANNA = fact("user", "has_friend", "Anna")
SCHMIDT = fact("user", "has_colleague", "Anna Schmidt")
MULLER = fact("user", "has_neighbour", "Anna Müller")


async def write_facts(store: InMemoryStore, *facts: Fact, user: str = "ann") -> None:
    async def step() -> tuple[None, list[object]]:
        changes = [put(user, MemoryScope.SEMANTIC, one) for one in facts]
        return None, [*changes, *await concept_changes(store, user, facts)]

    await transact(store, user, step)  # type: ignore[arg-type]


async def names(store: InMemoryStore, user: str = "ann") -> set[frozenset[str]]:
    """The concepts of a user, by the names they go by."""
    found = (await load_concepts(store, user)).values()
    return {frozenset(alias.name for alias in concept.aliases) for concept in found}


def groups(*facts: Fact) -> set[frozenset[str]]:
    found = Names.in_facts(facts, Names()).concepts()
    return {frozenset(alias.name for alias in concept.aliases) for concept in found}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(
            [
                fact("user", "lives_in", "Hà Nội"),
                fact("user", "visited", "Hanoi"),
                fact("user", "likes", "food in Hà Nội"),
            ],
            [{"Hà Nội", "Hanoi"}],
            id="one city, with marks or without",
        ),
        pytest.param(
            [fact("user", "has_friend", "Hoàng"), fact("user", "has_boss", "Hoảng"), fact("user", "has_son", "Hoang")],
            [{"Hoàng"}, {"Hoảng"}, {"Hoang"}],
            id="what marks tell apart is not one, and nobody knows who is meant without them",
        ),
        pytest.param([fact("user", "has_friend", "Ma"), fact("user", "has_boss", "Má")], [{"Ma"}, {"Má"}], id="má, ma"),
        pytest.param(
            [fact("user", "owns", "a VinFast"), fact("user", "sold", "a Vin Fast")],
            [{"VinFast", "Vin Fast"}],
            id="spaces",
        ),
        pytest.param(
            [fact("user", "owns", "iPhone 14"), fact("user", "sold", "iPhone 15")],
            [{"iPhone 14"}, {"iPhone 15"}],
            id="numbers",
        ),
        pytest.param([ANNA, SCHMIDT], [{"Anna", "Anna Schmidt"}], id="a first name, and the one who has it"),
        pytest.param(
            [ANNA, SCHMIDT, MULLER], [{"Anna"}, {"Anna Schmidt"}, {"Anna Müller"}], id="two of one first name"
        ),
        pytest.param(
            [fact("user", "has_friend", "Nam"), fact("user", "has_boss", "Nguyễn Văn Nam")],
            [{"Nam", "Nguyễn Văn Nam"}],
            id="in Vietnamese the last word is the first name",
        ),
        pytest.param(
            [fact("user", "lives_in", "New York"), fact("user", "reads", "New York Times")],
            [{"New York"}, {"New York Times"}],
            id="only people are called by a part of their name",
        ),
        pytest.param(
            [
                fact("user", "has_daughter", "Paris"),
                fact("user", "lives_in", "Paris"),
                fact("user", "loves", "my Paris"),
            ],
            [{"Paris"}, {"Paris"}, {"Paris"}],
            id="a daughter and a city, and who knows whom the third means",
        ),
        pytest.param(
            [fact("Elizabeth", "nickname", "Liz"), fact("user", "has_aunt", "Liz")],
            [{"Elizabeth", "Liz"}],
            id="what a fact says is one",
        ),
        pytest.param(
            [fact("user", "has_friend", "Nguyễn Văn An"), fact("user", "has_boss", "Nguyễn Văn Anh")],
            [{"Nguyễn Văn An"}, {"Nguyễn Văn Anh"}],
            id="alike and not the same",
        ),
    ],
)
def test_names_of_one_are_one(facts: Sequence[Fact], expected: Sequence[set[str]]) -> None:
    found = Names.in_facts(facts, Names()).concepts()
    assert sorted(sorted({alias.name for alias in concept.aliases}) for concept in found) == sorted(
        map(sorted, expected)
    )


_PLACES = ["Hà Nội", "Hanoi", "Ha Noi", "Huế", "Paris"]
_PEOPLE = ["Anna", "Anna Schmidt", "Anna Müller", "Schmidt", "Paris", "Lan", "Nguyễn Thị Lan", "Lân", "🌸 Lan"]
FACTS = st.one_of(
    st.builds(fact, st.just("user"), st.sampled_from(["lives_in", "visited", "likes"]), st.sampled_from(_PLACES)),
    st.builds(fact, st.just("user"), st.sampled_from(["has_friend", "met", "likes"]), st.sampled_from(_PEOPLE)),
    st.builds(fact, st.sampled_from(_PEOPLE), st.just("nickname"), st.sampled_from(["Lulu", "Lan", "Anna"])),
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


@settings(max_examples=40, deadline=None)
@given(facts=st.lists(FACTS, unique_by=lambda one: one.id, min_size=1, max_size=8), data=st.data())
async def test_a_fact_in_other_words_leaves_what_is_made_anew(facts: list[Fact], data: st.DataObject) -> None:
    store = InMemoryStore()
    await write_facts(store, *facts)
    for _ in range(3):
        told = data.draw(st.sampled_from(facts))
        other = data.draw(FACTS)
        said = {name: getattr(other, name) for name in ("subject", "predicate", "object", "text")}
        await write_facts(store, told.model_copy(update=said))

        kept = await load_concepts(store, "ann")
        assert {concept.id: concept for concept in await refresh_concepts(store, "ann")} == kept


@settings(max_examples=40, deadline=None)
@given(facts=st.lists(FACTS, unique_by=lambda one: one.id, min_size=2, max_size=8), data=st.data())
async def test_a_merge_is_undone_without_a_trace(facts: list[Fact], data: st.DataObject) -> None:
    store = InMemoryStore()
    await write_facts(store, *facts)
    before = await load_concepts(store, "ann")
    if len(before) < 2:
        return
    one, other = data.draw(st.permutations(sorted(before)))[:2]

    whole = await merge(store, "ann", one, other)
    merged = await load_concepts(store, "ann")
    moved = data.draw(st.sampled_from([alias.name for alias in before[other].aliases]))
    await unmerge(store, "ann", whole.id, moved)

    assert {*whole.source_ids} >= {*before[one].source_ids, *before[other].source_ids}
    assert merged[whole.id] == whole
    assert await load_concepts(store, "ann") == before


async def test_a_name_that_is_set_apart_stays_apart() -> None:
    store = InMemoryStore()
    await write_facts(store, ANNA, SCHMIDT)
    [whole] = (await load_concepts(store, "ann")).values()

    alone = await unmerge(store, "ann", whole.id, "Anna")
    await write_facts(store, fact("Anna", "works_as", "nurse"))
    await refresh_concepts(store, "ann")

    assert [alias.name for alias in alone.aliases] == ["Anna"]
    assert await names(store) == {frozenset({"Anna"}), frozenset({"Anna Schmidt"})}
    again = await merge(store, "ann", *(await load_concepts(store, "ann")))
    assert {alias.name for alias in again.aliases} == {"Anna", "Anna Schmidt"}


async def test_concepts_of_one_user_are_no_one_elses() -> None:
    store = InMemoryStore()
    await write_facts(store, ANNA, user="ann")
    await write_facts(store, SCHMIDT, user="bob")
    [anna], [schmidt] = await load_concepts(store, "ann"), await load_concepts(store, "bob")

    with pytest.raises(ValueError, match="no concept"):
        await merge(store, "ann", anna, schmidt)
    assert await names(store, "ann") == {frozenset({"Anna"})}


async def test_a_fact_that_says_otherwise_takes_its_name_back() -> None:
    store = InMemoryStore()
    said = fact("Elizabeth", "nickname", "Liz")
    await write_facts(store, said, fact("user", "has_aunt", "Liz"))
    assert await names(store) == {frozenset({"Elizabeth", "Liz"})}

    await write_facts(store, said.model_copy(update={"current": False}))

    assert await names(store) == {frozenset({"Elizabeth"}), frozenset({"Liz"})}


async def test_a_concept_is_found_by_any_of_its_names_and_has_its_facts() -> None:
    store = InMemoryStore()
    home, trip = fact("user", "lives_in", "Hà Nội", day=2), fact("user", "visited", "Hanoi", day=1)
    await write_facts(store, home, trip)

    [found] = await find_concepts(store, "ann", "hanoi")

    assert (found.name, found.type, set(found.source_ids)) == ("Hà Nội", "place", {home.id, trip.id})
    assert found.created_at == trip.created_at
    assert Concept.from_value(found.to_value()) == found
    assert await find_concepts(store, "ann", "Hạ Nội") == []


async def test_nothing_is_written_where_no_one_is_named() -> None:
    store = InMemoryStore()
    assert await concept_changes(store, "ann", [fact("user", "likes", "tea")]) == []
    await write(store, [])


def test_what_one_name_says_does_not_depend_on_another_user_of_it() -> None:
    assert groups(ANNA, fact("user", "met", "Anna")) == {frozenset({"Anna"})}
