"""A plan as a model writes it -> a task graph, repaired where that is safe, refused with a reason where it is not."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from react_mem.errors import InvalidOutput
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.answers import as_json
from react_mem.memory.model.states import TaskStatus
from react_mem.memory.reflect.tasks.task_steps import MAX_STEPS, Step, TaskGraph, woven

MAX_CHARS = 200
"""Of a description: a line. A model that writes more has begun to do the step."""

_MAX_ID = 20
_NO_ID = re.compile(r"[^\w.-]+")
_STATUSES = frozenset(get_args(TaskStatus))


@dataclass(frozen=True)
class Plan:
    """A plan that can be used.

    Args:
        graph: The graph; without steps where the request needs none.
        goes_on: Whether it is about the task that was known.
        repairs: What was wrong with it, and was left out.
        proofs: The words that are quoted to show that a step is done, by the steps' ids.
    """

    graph: TaskGraph
    goes_on: bool = False
    repairs: tuple[str, ...] = ()
    proofs: Mapping[str, str] = field(default_factory=dict)


def parse(answer: Mapping[str, Any], tools: Collection[str] = ()) -> Plan:
    """Read a plan.

    Args:
        answer: What the model sent:
            `{"goal", "goes_on", "steps": [{"id", "description", "depends_on", "status", "proof", "tool"}]}`.
        tools: The tools there are.

    Raises:
        InvalidOutput: If it is not a plan.

    >>> plan = parse({"goal": "tea", "steps": [{"id": 1, "description": "boil water", "depends_on": [7]}]})
    >>> plan.graph.steps[0].depends_on, plan.repairs
    ((), ('step 1 depends on 7, which there is not',))
    """
    rows = answer.get("steps")
    if not isinstance(rows, list):
        raise InvalidOutput("the model's answer is not a plan: it has no steps", as_json(answer))
    reader = _PlanReader(tools)
    for row in rows[:MAX_STEPS]:
        reader.read(row)
    if rows and not reader.steps:
        raise InvalidOutput("the model's answer is not a plan: none of its steps says what to do", as_json(answer))
    if len(rows) > MAX_STEPS:
        reader.repairs.append(f"more than {MAX_STEPS} steps")
    goal = _line(answer.get("goal"))
    graph, repairs = woven(goal or reader.first(), reader.resolved())
    return Plan(graph, answer.get("goes_on") is True, (*reader.repairs, *repairs), reader.proofs)


def continues(plan: Plan, task: TaskGraph) -> bool:
    """Return whether a plan goes on with a task that the user did not name: it says so, and repeats what is known.

    Args:
        plan: The plan.
        task: The task that its planner was shown.
    """
    known = {normalise(task.goal), *(normalise(step.description) for step in task.steps)}
    said = {normalise(plan.graph.goal), *(normalise(step.description) for step in plan.graph.steps)}
    return plan.goes_on and (not plan.graph.steps or not known.isdisjoint(said))


class _PlanReader:
    """Reads steps one by one; a later one that repeats an earlier one is that one."""

    def __init__(self, tools: Collection[str]) -> None:
        self.steps: dict[str, Step] = {}
        self.repairs: list[str] = []
        self.proofs: dict[str, str] = {}
        self._tools = tools
        self._by_text: dict[str, str] = {}
        self._same: dict[str, str] = {}

    def read(self, row: Any) -> None:
        description = _line(row.get("description")) if isinstance(row, Mapping) else ""
        text = normalise(description)
        if not isinstance(row, Mapping) or not text:
            self.repairs.append("a step that says nothing")
            return
        said = _name(row.get("id"))
        if text in self._by_text:
            self._same.setdefault(said, self._by_text[text])
            self.repairs.append(f"step {said or '?'} says what step {self._by_text[text]} says")
            return
        id_ = said
        if not id_ or id_ in self.steps:
            if id_:
                self.repairs.append(f"two steps are called {id_}")
            id_ = next(str(n) for n in range(1, MAX_STEPS + 2) if str(n) not in self.steps)
        self._by_text[text] = id_
        if isinstance(proof := row.get("proof"), str) and proof.strip():
            self.proofs[id_] = proof
        before = row.get("depends_on")
        status = row.get("status", "pending")
        tool = row.get("tool") or ""
        if status not in _STATUSES:
            self.repairs.append(f"step {id_} has a status that there is not")
        if tool and tool not in self._tools:
            self.repairs.append(f"step {id_} names a tool that there is not")
        self.steps[id_] = Step(
            id=id_,
            description=description,
            depends_on=tuple(map(str, before)) if isinstance(before, list) else (),
            status=status if status in _STATUSES else "pending",
            error=_line(row.get("error")) if status == "failed" else "",
            tool=tool if tool in self._tools else "",
        )

    def first(self) -> str:
        """Return what the first step says; empty without one."""
        return next((step.description for step in self.steps.values()), "")

    def resolved(self) -> list[Step]:
        """Return the steps, their dependencies by id: models name them by what they say as well."""
        return [
            Step(**{**vars(step), "depends_on": tuple(map(self._id_of, step.depends_on))})
            for step in self.steps.values()
        ]

    def _id_of(self, name: str) -> str:
        id_ = _name(name)
        return id_ if id_ in self.steps else self._same.get(id_) or self._by_text.get(normalise(_line(name)), id_)


def _name(value: Any) -> str:
    return _NO_ID.sub("_", str(value).strip())[:_MAX_ID] if isinstance(value, str | int) else ""


def _line(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    line = " ".join(value.split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"
