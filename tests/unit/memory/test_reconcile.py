"""Reconcile: a fact is one fact, a change supersedes, the order of arrival does not matter, a retry changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from react_mem.memory.merging import forks as beliefs
from react_mem.memory.merging.reconcile import doubted, reconcile
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, fact_id
from tests.support.saying import said_on

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = {f"m{day}": START + timedelta(days=day) for day in range(10)}
"""The message m3 was said on the fourth day."""

MESSAGES = {id_: said_on(day) for id_, day in DAYS.items()}
OSLO, ROME, HUE, TEA = "I live in Oslo.", "I live in Rome.", "I live in Hue.", "I like tea."

Facts = dict[str, Fact]


def id_of(text: str, about: str = "user") -> str:
    return fact_id(about, text)


def say(text: str, source: str = "m1", relation: Any = "new", target: str | None = None, **fields: Any) -> Operation:
    """Return an operation whose target is the fact with a text."""
    return Operation(relation, text, target_id=id_of(target) if target else None, source_ids=(source,), **fields)


def apply(operations: Sequence[Operation], stored: Facts | None = None) -> Facts:
    facts = dict(stored or {})
    changed = reconcile(operations, facts, at=START + timedelta(days=99), session_id="s", agent_id="a", said=MESSAGES)
    assert len({fact.id for fact in changed}) == len(changed)
    return {**facts, **{fact.id: fact for fact in changed}}


def current(facts: Facts) -> list[str]:
    return sorted(fact.text for fact in facts.values() if fact.current)


# ---- new and same


@pytest.mark.parametrize("again", ["I live in Oslo.", "  i live  in OSLO", "Ｉ live in Oslo!"])
def test_the_same_words_are_one_fact_whose_support_grows(again: str) -> None:
    [fact] = apply([say(OSLO), say(again, "m2")]).values()
    assert (fact.text, fact.support, fact.source_ids, fact.said_at) == (OSLO, 2, ("m1", "m2"), DAYS["m2"])


def test_what_is_said_again_in_other_words_is_kept_as_a_wording() -> None:
    facts = apply([say(OSLO), say("Oslo is home.", "m2", "same", OSLO, reading="User lives in Oslo.")])
    [fact] = facts.values()
    assert (fact.text, fact.support, fact.reading) == (OSLO, 2, "User lives in Oslo.")
    assert [(wording.text, wording.source_ids) for wording in fact.wordings] == [("Oslo is home.", ("m2",))]


@pytest.mark.parametrize("origin", [one for one in Origin if one is not Origin.USER])
def test_only_the_users_own_words_add_support(origin: Origin) -> None:
    for again in (say(OSLO, "m2", origin=origin), say("Oslo is home.", "m2", "same", OSLO, origin=origin)):
        [fact] = apply([say(OSLO), again]).values()
        assert (fact.support, fact.origin) == (1, Origin.USER)


ORDERED = [(one, other) for one in Origin for other in list(Origin)[list(Origin).index(one) + 1 :]]


@pytest.mark.parametrize(("higher", "lower"), ORDERED, ids=[" before ".join(one) for one in ORDERED])
def test_whose_a_fact_is_does_not_depend_on_who_said_it_first(higher: Origin, lower: Origin) -> None:
    theirs = say(OSLO, "m2", origin=higher, valid_from=DAYS["m1"])
    others = say(OSLO, "m3", origin=lower, valid_to=DAYS["m9"], quote="Oslo, until Sunday")
    [first], [last] = apply([theirs, others]).values(), apply([others, theirs]).values()
    assert first.model_copy(update={"said_at": last.said_at}) == last
    assert (last.origin, last.source_ids, last.support, last.valid_to) == (higher, ("m2",), 1, None)
    # nobody else's message keeps up what somebody is said to have said, once theirs is gone
    [gone] = beliefs.believed({last.id: last}, ["m2"], DAYS, START)
    assert not gone.current


def test_a_verbatim_fact_that_a_model_has_read_is_verbatim_no_more() -> None:
    [kept] = apply([say(OSLO)]).values()
    stored = {kept.id: kept.model_copy(update={"verbatim": True, "unread": True})}
    [fact] = apply([say(OSLO, reading="User lives in Oslo.")], stored).values()
    assert (fact.verbatim, fact.unread, fact.reading, fact.support) == (False, False, "User lives in Oslo.", 1)


# ---- changes, corrects, ends, forget


def test_a_change_takes_the_place_of_what_was_so_until_then() -> None:
    facts = apply([say(ROME, "m3", "changes", OSLO)], apply([say(OSLO)]))
    was, now = facts[id_of(OSLO)], facts[id_of(ROME)]
    assert (was.current, was.valid_to, was.superseded_by, was.retired_at) == (
        False,
        DAYS["m3"],
        now.id,
        START + timedelta(days=99),
    )
    assert (now.current, now.superseded_by, now.doubts) == (True, None, ())


def test_what_is_corrected_never_was() -> None:
    facts = apply([say(ROME, "m3", "corrects", OSLO)], apply([say(OSLO)]))
    was = facts[id_of(OSLO)]
    assert (was.current, was.superseded_by) == (False, id_of(ROME))
    assert was.valid_to is not None
    assert was.valid_to <= was.said_at
    since = apply([say(OSLO, valid_from=START - timedelta(days=400))])
    was = apply([say(ROME, "m3", "corrects", OSLO)], since)[id_of(OSLO)]
    assert was.valid_to == was.valid_from


@pytest.mark.parametrize("relation", ["ends", "forget"])
def test_an_end_states_nothing(relation: str) -> None:
    facts = apply([say("", "m3", relation, OSLO)], apply([say(OSLO)]))
    [fact] = facts.values()
    assert (fact.current, fact.valid_to, fact.superseded_by, fact.ended_by) == (False, DAYS["m3"], None, ("m3",))


def test_an_end_is_dated_as_its_words_say() -> None:
    long_ago = START - timedelta(days=60)
    fact = apply([say(OSLO), say("", "m5", "ends", OSLO, valid_to=long_ago)])[id_of(OSLO)]
    assert (fact.current, fact.valid_to, fact.end_said_at) == (False, long_ago, DAYS["m5"])
    # not before it began, and not after it was said
    since = START - timedelta(days=30)
    begun = apply([say(OSLO, valid_from=since), say("", "m5", "ends", OSLO, valid_to=long_ago)])[id_of(OSLO)]
    assert begun.valid_to == since
    late = apply([say(OSLO), say("", "m5", "ends", OSLO, valid_to=DAYS["m9"])])[id_of(OSLO)]
    assert (late.valid_to, late.end_said_at) == (DAYS["m5"], None)


@pytest.mark.parametrize(("again", "believed"), [("m3", []), ("m6", [OSLO])])
def test_what_ended_earlier_than_it_was_said_to_is_true_again_only_if_said_after_that(
    again: str, believed: list[str]
) -> None:
    facts = apply([say(OSLO), say("", "m5", "ends", OSLO, valid_to=START - timedelta(days=60))])
    facts = apply([say(OSLO, again)], facts)
    assert current(facts) == believed
    assert believed == [] or (facts[id_of(OSLO)].valid_to, facts[id_of(OSLO)].end_said_at) == (None, None)


def test_what_has_ended_and_is_said_again_later_is_true_again() -> None:
    ended = apply([say(OSLO), say("", "m3", "ends", OSLO)])
    assert current(apply([say(OSLO, "m2")], ended)) == []
    again = apply([say(OSLO, "m5")], ended)[id_of(OSLO)]
    assert (again.current, again.valid_to, again.ended_by, again.support) == (True, None, (), 2)


@pytest.mark.parametrize("origin", [one for one in Origin if one is not Origin.USER])
@pytest.mark.parametrize("relation", ["changes", "corrects", "ends", "forget"])
def test_only_the_user_changes_ends_corrects_and_forgets(origin: Origin, relation: str) -> None:
    text = "" if relation in ("ends", "forget") else ROME
    facts = apply([say(text, "m3", relation, OSLO, origin=origin)], apply([say(OSLO)]))
    assert facts[id_of(OSLO)].current
    if text:
        # both stay, and each is in doubt about the other
        assert facts[id_of(ROME)].doubts == (id_of(OSLO),)
        assert facts[id_of(OSLO)].doubts == (id_of(ROME),)


@pytest.mark.parametrize("relation", ["changes", "corrects", "unsure"])
def test_facts_of_one_message_stand_beside_each_other(relation: str) -> None:
    facts = apply([say(OSLO, "m1"), say(ROME, "m1", relation, OSLO), say("", "m1", "ends", OSLO)])
    assert current(facts) == [OSLO, ROME]
    assert all(fact.doubts == () for fact in facts.values())


def test_a_change_of_what_was_changed_meanwhile_changes_what_took_its_place() -> None:
    known = apply([say(ROME, "m2", "changes", OSLO)], apply([say(OSLO)]))
    facts = apply([say(HUE, "m4", "changes", OSLO)], known)
    assert current(facts) == [HUE]
    assert facts[id_of(ROME)].superseded_by == id_of(HUE)


@pytest.mark.parametrize("relation", ["ends", "forget"])
def test_an_end_of_what_was_changed_meanwhile_ends_nothing_else(relation: str) -> None:
    known = apply([say(ROME, "m2", "changes", OSLO)], apply([say(OSLO)]))
    assert current(apply([say("", "m4", relation, OSLO)], known)) == [ROME]


def test_a_turn_that_is_read_late_overwrites_nothing_newer() -> None:
    facts = apply([say(OSLO, "m1", "changes", ROME)], apply([say(ROME, "m5")]))
    assert current(facts) == [ROME]
    assert facts[id_of(OSLO)].superseded_by == id_of(ROME)
    ended = apply([say("", "m1", "ends", ROME)], apply([say(ROME, "m5")]))
    assert current(ended) == [ROME]


# ---- unsure


def test_what_may_contradict_a_fact_is_in_doubt_with_it_both_ways() -> None:
    facts = apply([say(ROME, "m3", "unsure", OSLO)], apply([say(OSLO)]))
    assert {fact.text: (fact.current, fact.doubts) for fact in facts.values()} == {
        OSLO: (True, (id_of(ROME),)),
        ROME: (True, (id_of(OSLO),)),
    }


@pytest.mark.parametrize(
    ("again", "believed"),
    [
        (say("Rome is home.", "m5", "same", ROME), ROME),
        (say(OSLO, "m5"), OSLO),
    ],
)
def test_what_the_user_says_again_is_settled(again: Operation, believed: str) -> None:
    facts = apply([again], apply([say(OSLO), say(ROME, "m3", "unsure", OSLO)]))
    assert current(facts) == [believed]
    assert all(fact.doubts == () for fact in facts.values())
    [other] = [fact for fact in facts.values() if fact.text != believed]
    assert (other.superseded_by, other.valid_to) == (id_of(believed), DAYS["m5"])


@pytest.mark.parametrize(
    "again",
    [
        say(ROME, "m5", origin=Origin.ASSENT),
        say(ROME, "m5", "unsure", OSLO),
        say(OSLO, "m2"),
    ],
)
def test_nothing_else_settles_a_doubt(again: Operation) -> None:
    doubtful = apply([say(OSLO), say(ROME, "m3", "unsure", OSLO)])
    facts = apply([again], doubtful)
    assert {fact.text: fact.doubts for fact in facts.values()} == {OSLO: (id_of(ROME),), ROME: (id_of(OSLO),)}
    assert current(facts) == [OSLO, ROME]


# ---- needs


def test_what_needed_a_fact_that_has_ended_is_in_doubt_until_the_user_says_that_it_holds() -> None:
    commute = say("My commute is 20 minutes.", needs=(id_of(OSLO),))
    facts = apply([say(ROME, "m3", "changes", OSLO)], apply([say(OSLO), commute]))
    [doubtful] = doubted([facts[commute.id]], facts.values())
    assert (doubtful.current, doubtful.doubts) == (True, (id_of(OSLO),))
    assert doubted([doubtful], facts.values()) == []
    assert doubted([facts[commute.id]], [facts[id_of(ROME)]]) == []
    facts[commute.id] = doubtful
    by_tool = apply([say(commute.text, "m5", origin=Origin.TOOL)], facts)[commute.id]
    assert by_tool.doubts == (id_of(OSLO),)
    again = apply([say(commute.text, "m5")], facts)[commute.id]
    assert (again.current, again.doubts) == (True, ())


# ---- invariants

texts = st.sampled_from([OSLO, ROME, HUE, TEA])
sources = st.sampled_from(sorted(DAYS))
independent = st.lists(st.builds(say, texts, sources), max_size=8)


@st.composite
def histories(draw: Any) -> list[Operation]:
    """Draw operations in the order in which they were said, a message each, against facts that were known by then."""
    operations: list[Operation] = []
    for source in sorted(draw(st.sets(sources, min_size=1))):
        known = sorted(fact.text for fact in apply(operations).values())
        relation = draw(st.sampled_from(["new", "same", "changes", "ends", "corrects", "unsure", "forget"]))
        target = draw(st.sampled_from(known)) if known and relation != "new" else None
        text = "" if relation in ("ends", "forget") else draw(texts)
        if not text and target is None:
            continue
        origin = draw(st.sampled_from([Origin.USER, Origin.USER, Origin.ASSENT, Origin.TOOL]))
        needs = (id_of(draw(st.sampled_from(known))),) if known and text and draw(st.booleans()) else ()
        operations.append(replace(say(text, source, relation if target else "new", target), origin=origin, needs=needs))
    return operations


def believed(facts: Facts) -> set[tuple[Any, ...]]:
    return {(f.text, f.current, f.support, frozenset(f.source_ids), f.said_at) for f in facts.values()}


@example(
    [
        say(OSLO, "m1"),
        say(ROME, "m3", "changes", OSLO),
        say(OSLO, "m5", "changes", ROME),
        say(ROME, "m7", "changes", OSLO),
    ]
)
@example(
    [
        say(HUE, "m0", origin=Origin.TOOL),
        say("", "m1", "ends", HUE),
        say(OSLO, "m2"),
        say(OSLO, "m4", "same", HUE, origin=Origin.ASSENT),
        say(HUE, "m5", origin=Origin.ASSENT),
    ]
)
@settings(max_examples=40)
@given(histories())
def test_a_retry_changes_nothing(operations: list[Operation]) -> None:
    once = apply(operations)
    assert apply(operations, once) == once


@given(independent, st.randoms(use_true_random=False))
def test_any_order_of_arrival_of_independent_facts_ends_in_the_same_memory(
    operations: list[Operation], random: Any
) -> None:
    shuffled = list(operations)
    random.shuffle(shuffled)
    assert believed(apply(operations)) == believed(apply(shuffled))


@settings(max_examples=40)
@given(histories())
def test_what_is_believed_is_sound(operations: list[Operation]) -> None:
    facts = apply(operations)
    by_user = [one for one in operations if one.origin is Origin.USER]
    for fact in facts.values():
        assert fact.text in {operation.text for operation in operations}
        assert fact.current or fact.retired_at or fact.valid_to
        assert (fact.superseded_by is None and not fact.ended_by) or not fact.current
        heir = facts.get(fact.superseded_by or "")
        assert fact.superseded_by is None or (heir is not None and heir.id != fact.id)
        ended = {id_ for one in by_user if one.relation in ("ends", "forget") for id_ in one.source_ids}
        assert set(fact.ended_by) <= ended
        assert fact.id not in (*fact.needs, *fact.doubts)
        for id_ in fact.doubts:
            # in doubt about what it needed, or both are
            assert id_ in fact.needs or fact.id in facts[id_].doubts
        for id_ in fact.needs:
            assert fact.id in facts[id_].needed_by
    if not any(one.relation in ("changes", "corrects", "ends", "forget") for one in by_user):
        settled = any(one.relation == "unsure" or one.origin is not Origin.USER for one in operations)
        assert settled or current(facts) == sorted(fact.text for fact in facts.values())
