"""Life cycle of a skill: on probation, then active, archived where it fails; by the outcomes of its uses alone.

Each use that succeeds or fails moves a Beta distribution of how often the skill succeeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, sqrt

from react_mem.memory.model.skills import Skill

PRIOR_SUCCESSES, PRIOR_FAILURES = 2, 1
"""A skill is learnt from three successes or given by somebody who knows: that is credit, worth one use more than the
uniform prior."""

WORTH_IT = 0.5
"""A skill that fails more often than not misleads: the agent loses the steps of the procedure and then starts over."""

CONFIDENCE = 0.95
"""Confidence of a change of status. Simulated with the above, 1,000 skills each: of skills that succeed never, once in
ten and once in five, all, all and 99.6 % are archived within 20 uses, those that never succeed after 6; of skills that
succeed eight times in ten, 0.2 % are archived within 400. Three successes in a row make a skill active."""

WINDOW = 20
"""Uses that count: then both counts are halved, so that a procedure that worked for years and no longer does is
archived within as many uses as a new one. A skill that at this point has failed more often than not, is as well."""


def after_use(skill: Skill, success: bool) -> Skill:
    """Return a skill after one more use.

    Args:
        skill: The skill.
        success: Outcome of the use.
    """
    trials, successes = skill.trials + 1, skill.successes + success
    update = {"trials": trials, "successes": successes, "status": _status(skill, trials, successes)}
    if trials >= WINDOW:
        update |= {"trials": trials // 2, "successes": min(trials // 2, (successes + 1) // 2)}
    return skill.model_copy(update=update)


def promise(skill: Skill) -> float:
    """Return how much may be hoped of a skill: how often it succeeds, plus one standard deviation.

    What has hardly been used is hoped more of than what is known to be middling, and less than what is known to be
    good: exploring by optimism, the same for the same counts.

    >>> new = Skill(id="1", text="", use_when="", session_id="", agent_id="")
    >>> known = [new.model_copy(update={"trials": 20, "successes": n}) for n in (8, 19)]
    >>> promise(known[0]) < promise(new) < promise(known[1])
    True
    """
    good, bad = _beta(skill.trials, skill.successes)
    mean = good / (good + bad)
    return mean + sqrt(mean * (1 - mean) / (good + bad + 1))


def is_outdone(skill: Skill, rivals: Iterable[Skill]) -> bool:
    """Return whether a skill on probation has failed more often than not, where another one does the same task well.

    Nobody would follow it any more, so that further uses cannot decide.

    Args:
        skill: The skill.
        rivals: Other skills.
    """
    good, bad = _beta(skill.trials, skill.successes)
    if skill.status != "probation" or not skill.task_type or good >= WORTH_IT * (good + bad):
        return False
    return any(one.status == "active" and one.tool_sops and one.task_type == skill.task_type for one in rivals)


def _status(skill: Skill, trials: int, successes: int) -> str:
    good, bad = _beta(trials, successes)
    doubt = _below(WORTH_IT, good, bad)
    undecided = trials >= WINDOW and good < WORTH_IT * (good + bad)
    if skill.status == "archived" or doubt >= CONFIDENCE or undecided:
        return "archived"
    return "active" if 1 - doubt >= CONFIDENCE else skill.status


def _beta(trials: int, successes: int) -> tuple[int, int]:
    return PRIOR_SUCCESSES + successes, PRIOR_FAILURES + max(0, trials - successes)


def _below(rate: float, good: int, bad: int) -> float:
    """Return the probability that a Beta distribution with whole parameters is below a rate."""
    total = good + bad - 1
    return sum(comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(good, total + 1))
