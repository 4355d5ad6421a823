"""Reconcile: the same fact is one fact, a changed fact supersedes the old one, retries change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import Operation
from memory.reconcile import fact_id, reconcile, touched_ids
from memory.records import Fact

AT = datetime(2026, 1, 1, tzinfo=UTC)


def say(
    object_: str, *, source: str = "m1", op: str = "add", target: str | None = None, predicate: str = "likes"
) -> Operation:
    return Operation(op, target, "user", predicate, object_, f"User {predicate} {object_}.", (source,))  # type: ignore[arg-type]


def apply(operations: Sequence[Operation], stored: dict[str, Fact] | None = None) -> dict[str, Fact]:
    stored = dict(stored or {})
    known = {id_: stored[id_] for id_ in touched_ids(operations) if id_ in stored}
    for fact in reconcile(operations, known, at=AT, session_id="s", agent_id="a"):
        stored[fact.id] = fact
    return stored


def test_the_same_fact_in_other_spelling_is_one_fact_with_more_support() -> None:
    facts = apply([say("Cà phê sữa đá"), say("  cà  phê sữa đá. ", source="m2")])
    [fact] = facts.values()
    assert (fact.support, fact.source_ids) == (2, ("m1", "m2"))


def test_vietnamese_words_that_differ_in_their_marks_are_two_facts() -> None:
    assert len(apply([say("má"), say("ma")])) == 2


def test_an_update_supersedes_and_keeps_the_old_as_history() -> None:
    old = say("Hanoi", predicate="lives_in")
    stored = apply([old])
    new = say("Da Nang", source="m2", op="update", target=fact_id(old), predicate="lives_in")
    facts = apply([new], stored)
    was, now = facts[fact_id(old)], facts[fact_id(new)]
    assert (was.current, was.valid_to, was.superseded_by) == (False, AT, now.id)
    assert (now.current, now.superseded_by) == (True, None)


def test_an_update_that_says_the_same_retires_nothing() -> None:
    old = say("Hanoi", predicate="lives_in")
    facts = apply([say("hanoi", source="m2", op="update", target=fact_id(old), predicate="lives_in")], apply([old]))
    [fact] = facts.values()
    assert (fact.current, fact.support) == (True, 2)


def test_a_retraction_ends_the_fact_and_adds_none() -> None:
    old = say("tea")
    facts = apply([say("tea", op="retract", target=fact_id(old), source="m2")], apply([old]))
    [fact] = facts.values()
    assert (fact.current, fact.retired_at, fact.superseded_by) == (False, AT, None)


def test_what_was_retracted_can_be_said_again() -> None:
    old = say("tea")
    retracted = apply([say("tea", op="retract", target=fact_id(old), source="m2")], apply([old]))
    assert apply([say("tea", source="m3")], retracted)[fact_id(old)].current


def test_the_words_of_the_retraction_do_not_revive_the_fact_on_a_retry() -> None:
    old = say("tea")
    operations = [old, say("tea", op="retract", target=fact_id(old), source="m2")]
    once = apply(operations)
    assert apply(operations, once) == once


objects = st.sampled_from(["tea", "Tea.", "coffee", "trà", "tra"])
sources = st.sampled_from(["m1", "m2", "m3"])
additions = st.lists(st.builds(say, objects, source=sources), max_size=8)


@given(additions)
def test_a_retry_changes_nothing(operations: list[Operation]) -> None:
    once = apply(operations)
    assert apply(operations, once) == once


@given(additions, st.randoms())
def test_the_order_of_additions_does_not_matter(operations: list[Operation], random: object) -> None:
    shuffled = list(operations)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = apply(operations), apply(shuffled)
    assert {i: (f.support, set(f.source_ids)) for i, f in one.items()} == {
        i: (f.support, set(f.source_ids)) for i, f in other.items()
    }


@given(additions, st.integers(0, 8))
def test_cutting_a_batch_in_two_changes_nothing(operations: list[Operation], cut: int) -> None:
    whole = apply(operations)
    parts = apply(operations[cut:], apply(operations[:cut]))
    assert {i: f.support for i, f in whole.items()} == {i: f.support for i, f in parts.items()}
