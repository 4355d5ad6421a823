"""A skill lives by what its uses come to."""

from __future__ import annotations

import random
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.merging.skill_life import (
    ENOUGH_COMPARED,
    WINDOW,
    WITHHELD,
    after_turn,
    after_use,
    is_outdone,
    is_useless,
    is_withheld,
    promise,
    worth,
)
from react_mem.memory.model.states import Skill, ToolUse

NEW = Skill(id="1", text="", use_when="", task_type="shop", session_id="", agent_id="")


def used(*uses: bool, skill: Skill = NEW) -> Skill:
    return reduce(after_use, uses, skill)


@given(st.lists(st.booleans(), max_size=100))
def test_counts_make_sense_and_what_is_archived_stays_so(uses: list[bool]) -> None:
    skill = NEW
    for success in uses:
        before, skill = skill, after_use(skill, success)
        assert 0 <= skill.successes <= skill.trials < WINDOW
        assert before.status != "archived" or skill.status == "archived"
        assert success or skill.status != "active" or before.status == "active"


@given(st.lists(st.booleans(), max_size=WINDOW - 2))
def test_one_more_success_promises_more_and_never_archives(uses: list[bool]) -> None:
    skill = used(*uses)
    better, worse = after_use(skill, True), after_use(skill, False)
    assert promise(worse) < promise(better)
    if skill.status != "archived":
        assert better.status != "archived"


@pytest.mark.parametrize("before", [0, 3, 10, 19, 100])
def test_what_never_works_is_archived_within_twenty_trials_however_well_it_did_before(before: int) -> None:
    skill = used(*[True] * before)
    trials = 0
    while skill.status != "archived":
        skill = after_use(skill, False)
        trials += 1
    assert trials <= 20


@pytest.mark.parametrize(("rate", "least", "most"), [(0.1, 0.99, 1), (0.2, 0.98, 1), (0.8, 0, 0.02), (0.9, 0, 0.01)])
def test_of_skills_the_bad_ones_are_archived_and_the_good_ones_not(rate: float, least: float, most: float) -> None:
    luck = random.Random(7)  # noqa: S311 - no secret
    skills = [used(*(luck.random() < rate for _ in range(20))) for _ in range(400)]
    assert least <= sum(skill.status == "archived" for skill in skills) / len(skills) <= most


def test_three_successes_make_a_skill_active() -> None:
    assert [used(*[True] * number).status for number in (2, 3)] == ["probation", "active"]


def test_what_is_doing_badly_gives_way_to_what_does_the_same_well() -> None:
    bad = used(False, False)
    good = used(True, True, True).model_copy(update={"tool_sops": ({"tool": "buy", "action": ""},)})
    assert is_outdone(bad, [bad, good])
    assert not is_outdone(bad, [bad])
    assert not is_outdone(bad, [good.model_copy(update={"task_type": "other"})])
    assert not is_outdone(NEW, [good])


LEARNT = NEW.model_copy(update={"source_ids": ("turn",), "tool_sops": (ToolUse(tool="buy", action=""),)})


def offered(rate: float, rate_without: float, offers: int, luck: random.Random) -> Skill:
    """Return a learnt skill after so many offers, or once it is archived."""
    skill = LEARNT
    for _ in range(offers):
        withheld = luck.random() < WITHHELD
        success = luck.random() < (rate_without if withheld else rate)
        skill = after_turn(skill, worth(success, 6), withheld=withheld)
        if skill.status == "archived":
            break
    return skill


@pytest.mark.parametrize(
    ("rate", "without", "least", "most"),
    [(0.97, 0.66, 0, 0.02), (0.9, 0.9, 0.9, 1), (0.8, 0.9, 0.95, 1), (0.4, 0.9, 1, 1)],
)
def test_a_skill_stays_only_where_turns_do_better_with_it_than_without(
    rate: float, without: float, least: float, most: float
) -> None:
    luck = random.Random(7)  # noqa: S311 - no secret
    skills = [offered(rate, without, 500, luck) for _ in range(150)]
    assert least <= sum(skill.status == "archived" for skill in skills) / len(skills) <= most


def test_a_skill_that_only_saves_steps_is_of_benefit() -> None:
    skill = LEARNT
    for _ in range(ENOUGH_COMPARED):
        skill = after_turn(skill, worth(True, 4), withheld=False)
        skill = after_turn(skill, worth(True, 12), withheld=True)
    assert skill.status == "probation"
    assert not is_useless(skill)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), max_size=300))
def test_what_is_compared_is_bounded_and_archived_for_good(turns: list[tuple[bool, float]]) -> None:
    skill = LEARNT
    for withheld, came_to in turns:
        before, skill = skill, after_turn(skill, came_to, withheld=withheld)
        for counts in (skill.shown, skill.withheld):
            assert 0 <= counts.squares <= counts.total <= counts.turns
        assert min(skill.shown.turns, skill.withheld.turns) < ENOUGH_COMPARED or is_useless(skill)
        assert before.status != "archived" or skill.status == "archived"


def test_a_tenth_of_its_offers_a_learnt_skill_is_kept_back_the_same_for_all_of_a_kind() -> None:
    other = LEARNT.model_copy(update={"id": "2"})
    turns = [f"turn {number}" for number in range(3_000)]
    kept_back = {turn for turn in turns if is_withheld(LEARNT, turn)}
    assert 0.08 < len(kept_back) / len(turns) < 0.12
    assert kept_back == {turn for turn in turns if is_withheld(other, turn)}
    assert not any(is_withheld(NEW, turn) for turn in turns), "what somebody gave by hand is what they want"
    known = LEARNT
    for _ in range(10):
        known = after_turn(after_turn(known, 1, withheld=False), 0, withheld=True)
    later = {turn for turn in turns if is_withheld(known, turn)}
    assert 0.01 < len(later) / len(turns) < 0.03
    assert later < kept_back
