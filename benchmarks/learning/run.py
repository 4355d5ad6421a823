"""Episodes over the real memory, and what is counted of them."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, median, stdev

from benchmarks.learning.agent import work
from benchmarks.learning.world import TOOLS, Episode, Task, bad_procedure, harmful_tasks, tasks
from benchmarks.progress import counted
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.skill_life import withhold
from react_mem.memory.model.changes import put
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.records import record_id
from react_mem.memory.model.skills import Skill
from react_mem.memory.reflect.driver import run
from react_mem.memory.reflect.skills.learner import Learning
from react_mem.memory.reflect.skills.outcomes import record_turn
from react_mem.memory.scopes import steps_to_experience

AGENT = "benchmark"
A_RUN = 20
"""Episodes between two runs of maintenance."""

_BIN = 50
"""Episodes of one point of the curve."""

_MAX_TRIALS = 20
"""Within which a bad skill has to be archived."""


@dataclass
class Tally:
    """Counts of a run.

    Args:
        offered: Of each episode, how many skills were offered.
        crossed: Skills offered to a user that come from another one.
        maintenance: Seconds of each run of maintenance; so of each read of skills and of each log of an outcome.
        bad_trials: By the id of a bad skill, how often it was followed.
        archived_after: By the id of a bad skill, after how many trials it was archived.
    """

    successes: list[bool] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    offered: list[int] = field(default_factory=list)
    crossed: int = 0
    maintenance: list[float] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)
    records: list[float] = field(default_factory=list)
    bad_trials: dict[str, int] = field(default_factory=dict)
    archived_after: dict[str, int] = field(default_factory=dict)

    def metrics(self) -> dict[str, float]:
        """Return the counts as metrics."""
        found: dict[str, float] = {
            "episodes": len(self.successes),
            "success_rate": round(fmean(self.successes), 4),
            "steps_per_task": round(fmean(self.steps), 3),
        }
        for start in range(0, len(self.successes), _BIN):
            end = min(start + _BIN, len(self.successes))
            name = f"episodes_{start + 1:03d}_{end:03d}"
            found[f"success_rate.{name}"] = round(fmean(self.successes[start:end]), 4)
            found[f"steps_per_task.{name}"] = round(fmean(self.steps[start:end]), 3)
        if self.maintenance:
            found |= {
                "episodes_with_a_skill": round(fmean(n > 0 for n in self.offered), 4),
                "skills_from_other_users": self.crossed,
                "maintenance_ms_p50": round(1000 * median(self.maintenance), 1),
                "maintenance_ms_max": round(1000 * max(self.maintenance), 1),
                "read_ms_p50": round(1000 * median(self.reads), 2),
                "record_ms_p50": round(1000 * median(self.records), 2),
            }
        if self.bad_trials:
            trials = list(self.archived_after.values())
            found |= {
                "bad_skills": len(self.bad_trials),
                "bad_skills_archived": len(trials),
                "bad_skills_archived_within_20_trials": sum(n <= _MAX_TRIALS for n in trials),
                "bad_skill_trials_p50": median(trials) if trials else 0,
                "bad_skill_trials_max": max(self.bad_trials.values()),
            }
        return found


def harm_of(learning: Tally, without: Tally) -> dict[str, float]:
    """Return the harm that learning does once it has seen half of the episodes.

    `harm.difference` is the share of successes without learning less that with it, over the same requests, `low` and
    `high` its 95 % interval; `harm` is what of it is certain: 0 where the interval holds 0 or learning is better.
    """
    half = len(without.successes) // 2
    pairs = zip(without.successes[half:], learning.successes[half:], strict=True)
    lost = [float(off) - float(on) for off, on in pairs]
    mean, error = fmean(lost), stdev(lost) / sqrt(len(lost))
    low, high = mean - 1.96 * error, mean + 1.96 * error
    found = {"harm": max(0.0, low), "harm.difference": mean, "low.harm.difference": low, "high.harm.difference": high}
    return {name: round(value, 4) for name, value in found.items()}


class Run:
    """A user's episodes in the world of a seed; without a memory nothing is learnt."""

    def __init__(self, memory: MemoryFacade | None, user_id: str, seed: int, *, harmful: bool = False) -> None:
        self.tally = Tally()
        self._memory = memory
        self._user_id = user_id
        self._seed = seed
        self._tasks = harmful_tasks(seed) if harmful else tasks(seed)

    async def poison(self) -> None:
        """Give the user one bad skill for each kind of task."""
        assert self._memory is not None
        for number, task in enumerate(self._tasks):
            sop = {
                "use_when": f"a task of the type {task.name}",
                "task_type": task.name,
                "tool_sops": [{"tool": tool, "action": "with {item}"} for tool in bad_procedure(task, number)],
            }
            skill = await self._memory.procedural.add_skill(sop, user_id=self._user_id, session_id=self._session(0))
            self.tally.bad_trials[skill.id] = 0

    async def episodes(self, number: int, name: str) -> None:
        """Work on so many requests, kinds of task in turn, with maintenance now and then."""
        order = random.Random(self._seed)
        for place in counted(range(1, number + 1), name, "requests"):
            task = order.choice(self._tasks)
            await self._episode(task, place)
            if self._memory is not None and place % A_RUN == 0:
                started = time.perf_counter()
                await run(Learning(self._memory, self._user_id, AGENT, TOOLS))
                self.tally.maintenance.append(time.perf_counter() - started)
                await self._look_at_the_bad()

    async def _episode(self, task: Task, place: int) -> None:
        skills, kept_back = await self._offered(task, place) if self._memory is not None else ([], [])
        procedure = next(([step.tool for step in skill.tool_sops] for skill in skills if skill.tool_sops), [])
        attempt = work(Episode(task, place, self._seed), procedure, random.Random(f"{self._seed} agent {place}"))
        self.tally.successes.append(attempt.succeeded)
        self.tally.steps.append(len(attempt.steps))
        if self._memory is None:
            return
        session_id = self._session(place)
        turn_id = record_id("turn", session_id)
        done = steps_to_experience(
            attempt.steps, session_id=session_id, agent_id=AGENT, turn_id=turn_id, task_type=task.name
        )
        await self._memory.apply([put(self._user_id, step, indexed=False) for step in done])
        started = time.perf_counter()
        used = await record_turn(
            self._memory,
            self._user_id,
            session_id=session_id,
            agent_id=AGENT,
            turn_id=turn_id,
            offered=[*(skill.id for skill in skills), *kept_back],
            steps=attempt.steps,
            success=attempt.succeeded,
            task_type=task.name,
            goal=f"please do {task.name} for {attempt.steps[0]['arguments']['item']}",
        )
        self.tally.records.append(time.perf_counter() - started)
        for skill in used:
            if skill.id in self.tally.bad_trials:
                self.tally.bad_trials[skill.id] += 1

    async def _offered(self, task: Task, place: int) -> tuple[list[Skill], list[str]]:
        assert self._memory is not None
        query = MemoryQuery(
            user_id=self._user_id,
            session_id=self._session(place),
            agent_id=AGENT,
            scopes=[MemoryScope.PROCEDURAL],
            query=f"please do {task.name}",
            task_type=task.name,
            extra={"tools": TOOLS},
        )
        started = time.perf_counter()
        found, kept_back = withhold(await self._memory.read(query), record_id("turn", self._session(place)))
        self.tally.reads.append(time.perf_counter() - started)
        skills = [Skill.from_value(item.payload) for item in found]
        self.tally.offered.append(len(skills))
        # a skill tells by its conversation from whom it is
        self.tally.crossed += sum(not skill.session_id.startswith(f"{self._user_id}/") for skill in skills)
        return skills, kept_back

    async def _look_at_the_bad(self) -> None:
        assert self._memory is not None
        known = await self._memory.records(self._user_id, MemoryScope.PROCEDURAL, self.tally.bad_trials)
        for id_, value in known.items():
            if value["status"] == "archived":
                self.tally.archived_after.setdefault(id_, self.tally.bad_trials[id_])

    def _session(self, place: int) -> str:
        return f"{self._user_id}/{place}"
