"""A world of tools: kinds of task with a procedure that nobody is told, flaky tools, and tools that do nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass

TASK_TYPES = 20

_VERBS = ("find", "check", "open", "compare", "update", "send", "reserve", "confirm")
_THINGS = ("order", "stock", "account", "ticket", "route")
TOOLS = tuple(f"{verb}_{thing}" for thing in _THINGS for verb in _VERBS)

_PROCEDURE = (3, 5)
"""Steps of a right procedure, at least and at most."""

_DISTRACTORS = 4
"""Tools beside those of the procedure that look as if they were for the task, and work without bringing it on."""

_FLAKY = 0.1
"""Share of calls that fail for no reason."""

HARMFUL_TYPES = 3
"""Kinds of task where every skill does harm."""

_OTHERWISE = 0.35
"""Share of the requests for such a task that take the other procedure: a skill for the first one works more often than
not, and looks good by itself."""

_READ = 0.9
"""Share of such requests in which an agent without a skill to follow sees which procedure it takes."""

_LOST = 1_000
"""Steps that a spoilt request lacks: nothing makes it good again."""


@dataclass(frozen=True)
class Task:
    """A kind of task.

    Args:
        name: What it is called.
        procedure: The tools that do it, in order; hidden from the agent.
        plausible: The tools that it looks as if one needed.
        otherwise: The procedure of some requests, which say so themselves: whoever reads them sees it most of the time,
            and whoever follows a procedure without reading spoils them. So every skill for such a task does harm.
    """

    name: str
    procedure: tuple[str, ...]
    plausible: tuple[str, ...]
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """Answer of a tool."""

    output: str = ""
    error: str = ""


class Episode:
    """One request for a task; that of a number is as lucky whoever works on it."""

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
        """Return whether the task is done."""
        return self._done == len(self._procedure)

    def call(self, tool: str) -> Result:
        """Use a tool."""
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
    """Return the kinds of task of a world; another seed makes another world, with the same tools."""
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
    """Return a procedure that does not do a task: in the wrong order, with a step left out, or beside the point."""
    right = task.procedure
    others = tuple(tool for tool in task.plausible if tool not in right)
    return (right[::-1], (*right[:1], *right[2:]), (*others[:2], right[-1]))[kind % 3]
