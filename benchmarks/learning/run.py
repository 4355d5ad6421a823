"""A world of tools, a scripted agent that works in it with or without skills, and the counts of its episodes."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, median, stdev
from typing import Any

from benchmarks.progress import counted
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.skill_life import withhold
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import record_id
from react_mem.memory.model.states import Skill
from react_mem.memory.reflect.driver import run
from react_mem.memory.reflect.skill_learner import Learning, record_turn
from react_mem.memory.scopes import steps_to_experience

TASK_TYPES = 20

_VERBS = ("find", "check", "open", "compare", "update", "send", "reserve", "confirm")
_THINGS = ("order", "stock", "account", "ticket", "route")
TOOLS = tuple(f"{verb}_{thing}" for thing in _THINGS for verb in _VERBS)

_PROCEDURE = (3, 5)  # minimum and maximum steps of a right procedure

_DISTRACTORS = 4  # plausible tools outside of the procedure; they work without progress

_FLAKY = 0.1  # share of calls that fail at random

HARMFUL_TYPES = 3  # kinds of task where every skill does harm

_OTHERWISE = 0.35
"""Share of the requests for such a task that need the other procedure: a skill for the first one succeeds more often
than not, and looks good by itself.
"""

_READ = 0.9  # share of such requests that an agent without a skill reads correctly

_LOST = 1_000  # missing steps of a spoilt request, beyond any repair


@dataclass(frozen=True)
class Task:
    """A kind of task: the tools that do it, in an order hidden from the agent, among other plausible tools.

    Some requests need the `otherwise` procedure and say so. An agent that reads them notices mostly; one that follows a
    skill without reading spoils them. So every skill for such a task does harm.
    """

    name: str
    procedure: tuple[str, ...]
    plausible: tuple[str, ...]
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    output: str = ""
    error: str = ""


class Episode:
    """One request for a task, with the same luck for every agent."""

    def __init__(self, task: Task, number: int, seed: int) -> None:
        self.task = task
        self.item = f"item{seed}x{number}"
        self._luck = random.Random(f"{seed} {number}")
        self._done = 0
        self._procedure, wrong = task.procedure, task.otherwise
        if task.otherwise and self._luck.random() < _OTHERWISE:
            self._procedure, wrong = wrong, self._procedure
        self._spoiling = set(wrong) - set(self._procedure)
        read = task.otherwise and self._luck.random() < _READ
        self.hint = self._procedure if read else ()

    @property
    def is_done(self) -> bool:
        return self._done == len(self._procedure)

    def call(self, tool: str) -> Result:
        if self._luck.random() < _FLAKY:
            return Result(error="temporarily unavailable")
        if tool in self._spoiling:
            # nothing tells that it was the wrong thing to do
            self._done = -_LOST
            return Result(output=f"{tool} of {self.item}: done")
        rest = self._procedure[self._done :] if self._done >= 0 else ()
        if rest and tool == rest[0]:
            self._done += 1
            return Result(output=f"{tool} of {self.item}: done")
        if tool in rest:
            return Result(error="something has to be done first")
        return Result(output="nothing to do")


def tasks(seed: int) -> list[Task]:
    """Return the kinds of task of a world; another seed makes another world with the same tools."""
    luck = random.Random(seed)
    made = []
    for number in range(TASK_TYPES):
        length = luck.randint(*_PROCEDURE)
        plausible = luck.sample(TOOLS, length + _DISTRACTORS)
        made.append(Task(f"task_{number:02d}", tuple(plausible[:length]), tuple(sorted(plausible))))
    return made


def harmful_tasks(seed: int) -> list[Task]:
    """Return kinds of task where every skill does harm."""
    luck = random.Random(f"{seed} harmful")
    made = []
    for number in range(HARMFUL_TYPES):
        first, other, common, *idle = luck.sample(TOOLS, 5)
        plausible = tuple(sorted((first, other, common, *idle)))
        made.append(Task(f"harmful_{number:02d}", (first, common), plausible, (other, common)))
    return made


def bad_procedure(task: Task, kind: int) -> tuple[str, ...]:
    """Return a wrong procedure: in the wrong order, with a missing step, or beside the point."""
    right = task.procedure
    others = tuple(tool for tool in task.plausible if tool not in right)
    return (right[::-1], (*right[:1], *right[2:]), (*others[:2], right[-1]))[kind % 3]


BUDGET = 14  # steps of the agent for a request

_RETRIES = 2  # retries of a skill's step: tools are flaky


@dataclass
class Attempt:
    """The agent's steps for one request, in the form of working memory."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    succeeded: bool = False


def work(episode: Episode, procedure: Sequence[str], luck: random.Random) -> Attempt:
    """Work on a request by a skill's tools, or by exploring, until it is done or the budget is spent."""
    attempt = Attempt()

    def use(tool: str) -> bool:
        result = episode.call(tool)
        attempt.steps.append(
            {"action": tool, "arguments": {"item": episode.item}, "observation": result.output, "error": result.error}
        )
        attempt.succeeded = episode.is_done
        return not result.error

    def is_over() -> bool:
        return episode.is_done or len(attempt.steps) >= BUDGET

    done: set[str] = set()
    # what the request itself says is read only where there is no procedure to follow
    for tool in procedure or episode.hint:
        if not any(use(tool) for _ in range(_RETRIES + 1) if not is_over()):
            break
        done.add(tool)
    # what has worked is not tried again; what has failed, once something else has worked
    failed: set[str] = set()
    while not is_over():
        open_ = [tool for tool in episode.task.plausible if tool not in done]
        tool = luck.choice([tool for tool in open_ if tool not in failed] or open_ or list(episode.task.plausible))
        if use(tool):
            done.add(tool)
            failed.clear()
        else:
            failed.add(tool)
    return attempt


AGENT = "benchmark"
A_RUN = 20  # episodes between two runs of maintenance

_BIN = 50  # episodes of one point of the curve

_MAX_TRIALS = 20  # uses within which a bad skill has to be archived


@dataclass
class Tally:
    """Counts of a run, by episode or in seconds; for bad skills by id, the uses and the time of archiving.

    `crossed` counts skills offered to another user than their own.
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
    """Return the harm of learning in the second half: the lower bound of `harm.difference`.

    The difference is the success rate without learning less the rate with it, over the same requests, in its 95 %
    interval.
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
        """Work on requests of all kinds of task, with maintenance now and then."""
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
