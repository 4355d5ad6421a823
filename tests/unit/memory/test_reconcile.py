"""Reconcile: a fact is one fact, a change supersedes, the order of arrival does not matter, a retry changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import Operation
from memory.reconcile import Said, reconcile
from memory.records import Fact

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = {f"m{day}": START + timedelta(days=day) for day in range(10)}
"""The message m3 was said on the fourth day."""

MESSAGES = {id_: Said("", day) for id_, day in DAYS.items()} | {
    "also": Said("I have a cat. I also live in Saigon.", START + timedelta(days=2))
}

Facts = dict[str, Fact]


def say(
    object_: str,
    *,
    predicate: str = "likes",
    source: str = "m1",
    op: str = "add",
    target: str | None = None,
    subject: str = "user",
    text: str = "",
) -> Operation:
    return Operation(op, target, subject, predicate, object_, text or f"User {predicate} {object_}.", (source,))  # type: ignore[arg-type]


def apply(operations: Sequence[Operation], stored: Facts | None = None) -> Facts:
    facts = dict(stored or {})
    changed = reconcile(operations, facts, at=START + timedelta(days=99), session_id="s", agent_id="a", said=MESSAGES)
    return {**facts, **{fact.id: fact for fact in changed}}


def current(facts: Facts) -> list[str]:
    return sorted(fact.object for fact in facts.values() if fact.current)


def id_of(facts: Facts, object_: str) -> str:
    [id_] = [fact.id for fact in facts.values() if fact.object == object_]
    return id_


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (say("Cà phê sữa đá"), say("  cà  phê sữa đá. ")),
        (say("Hanoi", predicate="lives_in"), say("Hà Nội", predicate="resides in")),
        (say("peanuts", predicate="allergic_to"), say("peanut", predicate="has allergy to")),
        (say("black coffee without sugar", predicate="drinks"), say("coffee, black, no sugar", predicate="drink")),
        (say("nurse", predicate="works_as"), say("a nurse", predicate="occupation")),
        (say("tea", subject="user"), say("tea", subject="tôi")),
        (say("Da Nang", predicate="lives_in"), say("Da Nang, Vietnam", predicate="lives_in")),
    ],
)
def test_the_same_fact_in_other_words_is_one_fact(one: Operation, other: Operation) -> None:
    again = Operation(other.op, None, other.subject, other.predicate, other.object, other.text, ("m2",))
    [fact] = apply([one, again]).values()
    assert (fact.support, set(fact.source_ids), fact.current) == (2, {"m1", "m2"}, True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (say("má"), say("ma", source="m2")),
        (say("tea"), say("tea ceremonies", source="m2")),
        (say("Hanoi", predicate="lives_in"), say("Hanoi", predicate="born_in", source="m2")),
        (say("Hanoi", predicate="lives_in"), say("Hue", predicate="lives_in", subject="Lan", source="m2")),
        (
            say("Hanoi", predicate="lives_in", text="User lives in Hanoi."),
            say("Hue", predicate="lives_in", text="User's sister lives in Hue.", source="m2"),
        ),
        (say("bike", predicate="bought"), say("bike", predicate="sold", source="m2")),
        (say("Rex", predicate="has_pet"), say("Mimi", predicate="has_pet", source="m2")),
        (
            say("the bank", predicate="works_at"),
            say("a school", predicate="works_at", text="User also works at a school.", source="m2"),
        ),
    ],
)
def test_facts_that_only_look_alike_stay_two(one: Operation, other: Operation) -> None:
    assert [fact.current for fact in apply([one, other]).values()] == [True, True]


@pytest.mark.parametrize(
    ("predicate", "old", "new"),
    [
        ("lives_in", "Hanoi", "Da Nang"),
        ("works_as", "nurse", "doctor"),
        ("favorite_color", "red", "blue"),
        ("age", "30", "31"),
    ],
)
def test_what_one_has_one_of_is_superseded_by_the_new(predicate: str, old: str, new: str) -> None:
    facts = apply([say(new, predicate=predicate, source="m2")], apply([say(old, predicate=predicate)]))
    was, now = facts[id_of(facts, old)], facts[id_of(facts, new)]
    assert (was.current, was.valid_to, was.superseded_by) == (False, DAYS["m2"], now.id)
    assert (now.current, now.superseded_by) == (True, None)


def test_a_denial_ends_what_it_denies_and_nothing_else() -> None:
    facts = apply([say("coffee", predicate="drinks"), say("tea", predicate="drinks")])
    facts = apply([say("coffee", predicate="no_longer_drinks", source="m2")], facts)
    assert [(f.object, f.affirmed) for f in facts.values() if f.current] == [("tea", True), ("coffee", False)]


def test_the_past_ends_what_was_current_and_is_not_believed_to_be_now() -> None:
    facts = apply([say("Hanoi", predicate="lives_in")])
    assert current(apply([say("Hanoi", predicate="used_to_live_in", source="m2")], facts)) == []


@pytest.mark.parametrize(
    ("text", "object_"),
    [
        ("User lived in Huế until 2019.", "Huế"),
        ("User used to live in Huế.", "Huế"),
        ("Trước đây người dùng sống ở Huế.", "Huế"),
        ("Người dùng sống ở Huế từ 2015 đến 2019.", "Huế"),
    ],
)
def test_what_is_said_to_be_over_does_not_replace_what_is(text: str, object_: str) -> None:
    facts = apply([say("Hanoi", predicate="lives_in")])
    facts = apply([say(object_, predicate="lives_in", text=text, source="m2")], facts)
    assert current(facts) == ["Hanoi"]
    if "2019" in text:
        assert facts[id_of(facts, object_)].valid_to == datetime(2019, 12, 31, tzinfo=UTC)


def test_an_update_the_model_names_supersedes_across_slots() -> None:
    facts = apply([say("a red car", predicate="drives")])
    facts = apply([say("a bike", predicate="rides", source="m2", op="update", target=id_of(facts, "a red car"))], facts)
    assert current(facts) == ["a bike"]


def test_a_retraction_ends_the_fact_and_adds_none() -> None:
    facts = apply([say("tea")])
    facts = apply([say("tea", op="retract", target=id_of(facts, "tea"), source="m2")], facts)
    [fact] = facts.values()
    assert (fact.current, fact.valid_to, fact.superseded_by) == (False, DAYS["m2"], None)
    assert current(apply([say("tea", source="m3")], facts)) == ["tea"]


def test_a_turn_that_is_read_late_overwrites_nothing_newer() -> None:
    facts = apply([say("Da Nang", predicate="lives_in", source="m5")])
    facts = apply([say("Hanoi", predicate="lives_in", source="m1")], facts)
    assert current(facts) == ["Da Nang"]
    assert facts[id_of(facts, "Hanoi")].superseded_by == id_of(facts, "Da Nang")


objects = st.sampled_from(["Hanoi", "Hà Nội", "Da Nang", "Huế"])
predicates = st.sampled_from(["lives_in", "resides_in", "likes", "dislikes", "visited"])
sources = st.sampled_from(sorted(DAYS))
writes = st.lists(
    st.builds(lambda o, p, s: say(o, predicate=p, source=s), objects, predicates, sources),
    max_size=7,
    # two things said in one message in contradiction have no order to keep
    unique_by=lambda operation: operation.source_ids,
)


def believed(facts: Facts) -> set[tuple[Any, ...]]:
    return {(f.slot, f.affirmed, f.current, f.support, frozenset(f.source_ids), f.said_at) for f in facts.values()}


@given(writes)
def test_a_retry_changes_nothing(operations: list[Operation]) -> None:
    once = apply(operations)
    assert apply(operations, once) == once


@given(writes, st.randoms(use_true_random=False))
def test_any_order_of_arrival_ends_in_the_same_memory(operations: list[Operation], random: Any) -> None:
    shuffled = list(operations)
    random.shuffle(shuffled)
    assert believed(apply(operations)) == believed(apply(shuffled))


@given(writes, st.integers(0, 7))
def test_cutting_the_writes_in_two_changes_nothing(operations: list[Operation], cut: int) -> None:
    parts = apply(operations[cut:], apply(operations[:cut]))
    assert believed(parts) == believed(apply(operations))


def test_what_the_user_says_to_hold_as_well_ends_nothing() -> None:
    facts = apply([say("Hanoi", predicate="lives_in")])
    assert current(apply([say("Saigon", predicate="lives_in", source="also")], facts)) == ["Hanoi", "Saigon"]


@given(writes)
def test_one_place_to_live_at_most(operations: list[Operation]) -> None:
    homes = [fact for fact in apply(operations).values() if fact.slot == "user|lives_in" and fact.current]
    assert len(homes) <= 1
