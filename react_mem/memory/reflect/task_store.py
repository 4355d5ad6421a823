"""Storage of tasks in the state scope, so that an interrupted one can be resumed in another conversation.

A task is forgotten with the message that set it, and a step with the message that introduced it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from react_mem.memory.language.folding import fold, normalise
from react_mem.memory.language.statements import cue_words, phrases
from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.operations import Change
from react_mem.memory.model.states import Task, TaskStatus, TaskStep
from react_mem.memory.scopes.state import OVER, StateMemoryStore, moved
from react_mem.memory.store.transactions import transact

# Detection of a wish to resume a task, by the phrases of the languages' files.

_CUE = re.compile(rf"^(?:{phrases('go_on_lead')}\s*)*{phrases('go_on')}|{phrases('left_off')}")
_FILLER = frozenset(index_terms(cue_words("go_on_filler")))
# Jaccard similarity of the words of a request and a goal: at 0.6 "book a trip to Hue in May" is the goal "book a trip
# to Hue", and "book a trip to Hanoi" is not
_MIN_ALIKE = 0.6


def asks_to_go_on(request: str) -> bool:
    """Return true if a request asks to continue and nothing else."""
    asks, said = _read(request)
    return asks and not said


def meant(request: str, goals: Sequence[str]) -> int | None:
    """Return the index of the goal that a request asks to continue, None for none; the latest goal first."""
    if not goals:
        return None
    asks, said = _read(request)
    wanted = [set(index_terms(goal)) for goal in goals]
    if asks:
        if not said:
            return 0
        best = max(range(len(goals)), key=lambda place: len(said & wanted[place]))
        return best if said & wanted[best] else None
    alike = [len(said & words) / len(said | words) if words else 0.0 for words in wanted]
    best = max(range(len(goals)), key=alike.__getitem__)
    return best if alike[best] >= _MIN_ALIKE else None


def _read(request: str) -> tuple[bool, set[str]]:
    """Return true if a request asks to continue, and its other words."""
    rest, cues = _CUE.subn(" ", re.sub(r"\W+", " ", fold(request)).strip())
    return bool(cues), set(index_terms(rest if cues else request)) - _FILLER


# A task's steps, which depend on each other: always without a cycle, and nothing that is done becomes undone.

MAX_STEPS = 20  # Steps of a task. Small models repeat themselves beyond; as lines they take some 400 tokens


@dataclass(frozen=True)
class Step:
    """One step, with the ids of the steps to do first, the error of the last attempt, and the tool that performs it."""

    id: str
    description: str
    depends_on: tuple[str, ...] = ()
    status: TaskStatus = "pending"
    error: str = ""
    tool: str = ""

    @property
    def is_over(self) -> bool:
        return self.status in OVER


@dataclass(frozen=True)
class TaskGraph:
    """A task, its steps in the order of their naming. Make one with `woven` or `merge`, which keep it acyclic."""

    goal: str
    steps: tuple[Step, ...] = ()
    id: str = ""  # of its record

    @property
    def is_over(self) -> bool:
        return all(step.is_over for step in self.steps)

    def step(self, id_: str | None) -> Step | None:
        return next((step for step in self.steps if step.id == id_), None)

    def frontier(self) -> tuple[Step, ...]:
        """Return the open steps with all dependencies over; a failed step can be retried."""
        over = {step.id for step in self.steps if step.is_over}
        return tuple(step for step in self.steps if not step.is_over and over.issuperset(step.depends_on))

    def marked(self, id_: str, status: TaskStatus, error: str = "") -> TaskGraph:
        """Return the graph with a new status of a step; a done step stays done."""
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
        steps = [{**vars(step), "depends_on": list(step.depends_on)} for step in self.steps]
        return {"goal": self.goal, "steps": steps}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TaskGraph:
        steps = [Step(**{**step, "depends_on": tuple(step["depends_on"])}) for step in value["steps"]]
        return cls(str(value["goal"]), tuple(steps))


def woven(goal: str, steps: Sequence[Step]) -> tuple[TaskGraph, list[str]]:
    """Return the steps, with unique ids, as an acyclic graph, and descriptions of the dropped dependencies."""
    known = {step.id for step in steps}
    kept: dict[str, list[str]] = {step.id: [] for step in steps}
    repairs: list[str] = []
    for step in steps:
        for before in dict.fromkeys(step.depends_on):
            if before not in known:
                repairs.append(f"step {step.id} depends on {before}, which there is not")
            elif before == step.id:
                repairs.append(f"step {step.id} depends on itself")
            else:
                kept[step.id].append(before)
                try:
                    TopologicalSorter(kept).prepare()
                except CycleError:
                    kept[step.id].remove(before)
                    repairs.append(f"steps {step.id} and {before} depend on each other")
    return TaskGraph(goal, tuple(replace(step, depends_on=tuple(kept[step.id])) for step in steps)), repairs


def merge(old: TaskGraph, new: TaskGraph) -> TaskGraph:
    """Merge a new plan into a task. Idempotent.

    Steps are matched by description, else by id while not over: a model that restarts its numbering does not rewrite
    completed steps. Done steps and steps missing from the new plan stay.
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
            free = (str(number) for number in range(1, len(order) + 2) if str(number) not in order)
            names[step.id] = step.id if step.id not in order else next(free)
            order.append(names[step.id])
    said = {names[step.id]: step for step in new.steps if step.id in names}
    steps = [_updated(id_, known.get(id_), said.get(id_), names) for id_ in order]
    return replace(woven(old.goal or new.goal, steps)[0], id=old.id)


def _updated(id_: str, old: Step | None, new: Step | None, names: Mapping[str, str]) -> Step:
    if new is None or (old is not None and old.status == "done"):
        assert old is not None  # noqa: S101 - a step of one of the two
        return old
    tool = new.tool or (old.tool if old else "")
    new = replace(new, id=id_, depends_on=tuple(names[one] for one in new.depends_on if one in names), tool=tool)
    # `pending` is what a model says that knows nothing of how far a step is
    return replace(new, status=old.status, error=old.error) if old is not None and new.status == "pending" else new


_MAX_OPEN = 50  # Unfinished tasks that are searched; older ones count as abandoned


@dataclass(frozen=True)
class TaskKeeper:
    """The tasks of one user with one agent, seen from one conversation."""

    state: StateMemoryStore
    user_id: str
    session_id: str
    agent_id: str

    async def find(self, request: str) -> TaskGraph | None:
        """Return the unfinished task that a request asks to continue."""
        tasks = await self.state.open_tasks(self.user_id, self.agent_id, _MAX_OPEN)
        tasks = sorted(tasks, key=lambda task: (task.session_id == self.session_id, task.worked_at), reverse=True)
        place = meant(request, [task.text for task in tasks])
        if place is None:
            return None
        kept = _kept(tasks[place], await self.state.steps_of(self.user_id, tasks[place]))
        # what was left to do may have been forgotten
        return None if kept.is_over else kept

    async def load(self, task_id: str) -> TaskGraph | None:
        task, steps = await self.state.task(self.user_id, task_id)
        return _kept(task, steps) if task is not None else None

    async def save(self, task: TaskGraph, source_id: str, *, new: bool = False) -> dict[str, str]:
        """Store the present state of a task; return the record ids by step. Only a `new` one may be missing."""

        async def step() -> tuple[dict[str, str], list[Change]]:
            before, known = await self.state.task(self.user_id, task.id)
            if before is None and not new:
                return {}, []
            steps = self._records(task, {step.name: step for step in known}, source_id)
            here = {"session_id": self.session_id, "source_ids": (source_id,)}
            told = {"text": task.goal, "agent_id": self.agent_id}
            record = before.model_copy(update=told) if before else Task(id=task.id, **here, **told)
            changes = self.state.task_changes(self.user_id, record, known, steps)
            return {step.name: step.id for step in steps}, changes

        return await transact(self.state.store, self.user_id, step)

    def _records(self, task: TaskGraph, kept: dict[str, TaskStep], source_id: str) -> list[TaskStep]:
        here = {"session_id": self.session_id, "agent_id": self.agent_id, "source_ids": (source_id, task.id)}
        made = []
        for step in task.steps:
            data = {"text": step.description, "status": step.status, "error": step.error, "tool": step.tool}
            record = self.state.made(TaskStep, {"task_id": task.id, "name": step.id, **data, **here})
            made.append(moved(kept[step.id], record) if step.id in kept else record)
        ids = {step.name: step.id for step in made}
        return [
            record.model_copy(update={"depends_on": tuple(ids[before] for before in step.depends_on)})
            for record, step in zip(made, task.steps, strict=True)
        ]


def _kept(task: Task, records: Sequence[TaskStep]) -> TaskGraph:
    names = {record.id: record.name for record in records}
    steps = [
        Step(
            id=record.name,
            description=record.text,
            # of a step that has been forgotten nothing is left, no dependency either
            depends_on=tuple(names[before] for before in record.depends_on if before in names),
            status=record.status,
            error=record.error,
            tool=record.tool,
        )
        for record in records
    ]
    return replace(woven(task.text, steps)[0], id=task.id)
