"""A skill lives by what its uses come to."""

from __future__ import annotations

import random
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.merging.skill_life import WINDOW, after_use, is_outdone, promise
from react_mem.memory.model.skills import Skill

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
