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


@dataclass(frozen=True)
class Task:
    """A kind of task.

    Args:
        name: What it is called.
        procedure: The tools that do it, in order; hidden from the agent.
        plausible: The tools that it looks as if one needed.
    """

    name: str
    procedure: tuple[str, ...]
    plausible: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """Answer of a tool."""

    output: str = ""
    error: str = ""


class Episode:
    """One request for a task.

    Args:
        task: The kind of task.
        number: Which request; the same one is as lucky whoever works on it.
        seed: The world's.
    """

    def __init__(self, task: Task, number: int, seed: int) -> None:
        self.task = task
        self.item = f"item{seed}x{number}"
        self._luck = random.Random(f"{seed} {number}")  # noqa: S311 - no secret
        self._done = 0

    @property
    def is_done(self) -> bool:
        """Return whether the task is done."""
        return self._done == len(self.task.procedure)

    def call(self, tool: str) -> Result:
        """Use a tool."""
        if self._luck.random() < _FLAKY:
            return Result(error="temporarily unavailable")
        rest = self.task.procedure[self._done :]
        if rest and tool == rest[0]:
            self._done += 1
            return Result(output=f"{tool} of {self.item}: done")
        if tool in rest:
            return Result(error="something has to be done first")
        return Result(output="nothing to do")


def tasks(seed: int) -> list[Task]:
    """Return the kinds of task of a world.

    Args:
        seed: Another one makes another world, with the same tools.
    """
    luck = random.Random(seed)  # noqa: S311 - no secret
    made = []
    for number in range(TASK_TYPES):
        length = luck.randint(*_PROCEDURE)
        plausible = luck.sample(TOOLS, length + _DISTRACTORS)
        made.append(Task(f"task_{number:02d}", tuple(plausible[:length]), tuple(sorted(plausible))))
    return made


def bad_procedure(task: Task, kind: int) -> tuple[str, ...]:
    """Return a procedure that does not do a task: in the wrong order, with a step left out, or beside the point.

    Args:
        task: The kind of task.
        kind: Which of these, by its rest.
    """
    right = task.procedure
    others = tuple(tool for tool in task.plausible if tool not in right)
    return (right[::-1], (*right[:1], *right[2:]), (*others[:2], right[-1]))[kind % 3]
