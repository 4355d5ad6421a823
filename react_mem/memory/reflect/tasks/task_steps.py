"""A task's steps, which depend on each other: always without a cycle, and nothing that is done becomes undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from react_mem.memory.language.text import normalise
from react_mem.memory.model.states import TaskStatus
from react_mem.memory.scopes.state import OVER

MAX_STEPS = 20
"""Steps of a task. What a small model plans beyond that repeats itself; as lines they take some 400 tokens."""


@dataclass(frozen=True)
class Step:
    """One step.

    Args:
        id: What its graph calls it.
        description: What is to be done.
        depends_on: The ids of the steps that come first.
        status: How far it is.
        error: Why it failed, the last time.
        tool: The tool that takes it; empty where none does.
    """

    id: str
    description: str
    depends_on: tuple[str, ...] = ()
    status: TaskStatus = "pending"
    error: str = ""
    tool: str = ""

    @property
    def is_over(self) -> bool:
        """Return whether nothing is left to do of it."""
        return self.status in OVER


@dataclass(frozen=True)
class TaskGraph:
    """A task. Make one with `woven` or `merge`, which keep it without a cycle.

    Args:
        goal: What is wanted.
        steps: Its steps, in the order in which they were named.
    """

    goal: str
    steps: tuple[Step, ...] = ()

    @property
    def is_over(self) -> bool:
        """Return whether nothing is left to do."""
        return all(step.is_over for step in self.steps)

    def step(self, id_: str | None) -> Step | None:
        """Return a step, None where there is none of that id."""
        return next((step for step in self.steps if step.id == id_), None)

    def frontier(self) -> tuple[Step, ...]:
        """Return the steps that can be taken now: all that they depend on is over. A failed one can be tried again.

        >>> task = TaskGraph("trip", (Step("1", "find a flight"), Step("2", "book it", ("1",))))
        >>> [step.id for step in task.frontier()]
        ['1']
        """
        over = {step.id for step in self.steps if step.is_over}
        return tuple(step for step in self.steps if not step.is_over and over.issuperset(step.depends_on))

    def needed_by(self, ids: Iterable[str]) -> list[Step]:
        """Return what steps depend on, directly or not, the nearest first."""
        known = {step.id: step for step in self.steps}
        seen = dict.fromkeys(ids)
        level = list(seen)
        found: list[Step] = []
        while level:
            level = list(dict.fromkeys(d for id_ in level for d in known[id_].depends_on if d not in seen))
            seen |= dict.fromkeys(level)
            found += [known[id_] for id_ in level]
        return found

    def marked(self, id_: str, status: TaskStatus, error: str = "") -> TaskGraph:
        """Return the graph with a step's status; a step that is done stays so."""
        return replace(
            self,
            steps=tuple(
                replace(step, status=status, error=error if status == "failed" else "")
                if step.id == id_ and step.status != "done"
                else step
                for step in self.steps
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the graph as JSON, for a checkpoint."""
        steps = [{**vars(step), "depends_on": list(step.depends_on)} for step in self.steps]
        return {"goal": self.goal, "steps": steps}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TaskGraph:
        """Read a graph back from `to_json`."""
        steps = [Step(**{**step, "depends_on": tuple(step["depends_on"])}) for step in value["steps"]]
        return cls(str(value["goal"]), tuple(steps))


def woven(goal: str, steps: Sequence[Step]) -> tuple[TaskGraph, list[str]]:
    """Return steps as a graph, without the dependencies that cannot be.

    Args:
        goal: What is wanted.
        steps: The steps, each id once.

    Returns:
        The graph, and what was left out and why.
    """
    known = {step.id for step in steps}
    kept: dict[str, list[str]] = {step.id: [] for step in steps}
    repairs: list[str] = []
    for step in steps:
        for before in dict.fromkeys(step.depends_on):
            if before not in known:
                repairs.append(f"step {step.id} depends on {before}, which there is not")
            elif before == step.id:
                repairs.append(f"step {step.id} depends on itself")
            elif _reaches(kept, before, step.id):
                repairs.append(f"steps {step.id} and {before} depend on each other")
            else:
                kept[step.id].append(before)
    return TaskGraph(goal, tuple(replace(step, depends_on=tuple(kept[step.id])) for step in steps)), repairs


def merge(old: TaskGraph, new: TaskGraph) -> TaskGraph:
    """Return a graph with what another one knows again: merging the same again changes nothing.

    A step is known again by what it says, else by its id while it is not over: a model that begins its numbers again
    does not rewrite what is done. What is done stays as it is; what the new graph says nothing of stays, too.

    Args:
        old: The graph so far.
        new: What is said of the task now.
    """
    known = {step.id: step for step in old.steps}
    by_text = {normalise(step.description): step.id for step in old.steps}
    names = {s.id: by_text[normalise(s.description)] for s in new.steps if normalise(s.description) in by_text}
    for step in new.steps:
        same = known.get(step.id)
        if step.id not in names and same is not None and not same.is_over and step.id not in names.values():
            names[step.id] = step.id
    order = list(known)
    for step in new.steps:
        if step.id not in names and len(order) < MAX_STEPS:
            names[step.id] = _free(step.id, order)
            order.append(names[step.id])
    said = {names[step.id]: step for step in new.steps if step.id in names}
    steps = [_updated(id_, known.get(id_), said.get(id_), names) for id_ in order]
    return woven(old.goal or new.goal, steps)[0]


def _updated(id_: str, old: Step | None, new: Step | None, names: Mapping[str, str]) -> Step:
    if old is not None and (new is None or old.status == "done"):
        return old
    assert new is not None  # noqa: S101 - narrows for the type checker
    depends_on = tuple(names[before] for before in new.depends_on if before in names)
    if old is None or new.status != "pending":
        return replace(new, id=id_, depends_on=depends_on, tool=new.tool or (old.tool if old else ""))
    # `pending` is what a model says that knows nothing of how far a step is
    return replace(old, description=new.description, depends_on=depends_on, tool=new.tool or old.tool)


def _free(wanted: str, taken: Sequence[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(str(number) for number in range(1, len(taken) + 2) if str(number) not in taken)


def _reaches(edges: Mapping[str, Sequence[str]], start: str, end: str) -> bool:
    seen, left = {start}, [start]
    while left:
        for before in edges[left.pop()]:
            if before == end:
                return True
            if before not in seen:
                seen.add(before)
                left.append(before)
    return False
