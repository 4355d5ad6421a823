"""A skill lives by what its uses come to."""

from __future__ import annotations

import random
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.merging.skill_life import (
    WINDOW,
    WITHHELD,
    after_turn,
    after_use,
    is_withheld,
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


@pytest.mark.parametrize(("rate", "least", "most"), [(0.2, 0.98, 1), (0.8, 0, 0.02)])
def test_of_skills_the_bad_ones_are_archived_and_the_good_ones_not(rate: float, least: float, most: float) -> None:
    luck = random.Random(7)  # noqa: S311 - no secret
    skills = [used(*(luck.random() < rate for _ in range(20))) for _ in range(200)]
    assert least <= sum(skill.status == "archived" for skill in skills) / len(skills) <= most


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
    [(0.97, 0.66, 0, 0.02), (0.9, 0.9, 0.9, 1), (0.8, 0.9, 0.95, 1)],
)
def test_a_skill_stays_only_where_turns_do_better_with_it_than_without(
    rate: float, without: float, least: float, most: float
) -> None:
    luck = random.Random(7)  # noqa: S311 - no secret
    skills = [offered(rate, without, 400, luck) for _ in range(60)]
    assert least <= sum(skill.status == "archived" for skill in skills) / len(skills) <= most


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
