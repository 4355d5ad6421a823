"""Storage of tasks in the state scope, so that an interrupted one can be resumed in another conversation.

A task falls with the message that set it, and its steps with it; a step falls with the message that brought it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from react_mem.memory.model.receipt import Change
from react_mem.memory.model.states import Task, TaskStep
from react_mem.memory.reflect.tasks.resuming import meant
from react_mem.memory.reflect.tasks.task_steps import Step, TaskGraph, woven
from react_mem.memory.scopes.state import StateMemoryStore, moved
from react_mem.memory.store.transactions import transact

_MAX_OPEN = 50
"""Unfinished tasks that are looked through: older ones have been given up."""


@dataclass(frozen=True)
class KeptTask:
    """A task with the id of its record."""

    id: str
    graph: TaskGraph


@dataclass(frozen=True)
class TaskKeeper:
    """The tasks of one user with one agent, seen from one conversation.

    Args:
        state: Where they are kept.
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent.
    """

    state: StateMemoryStore
    user_id: str
    session_id: str
    agent_id: str

    async def find(self, request: str) -> KeptTask | None:
        """Return the unfinished task that a request wants to go on with.

        Args:
            request: What the user says.
        """
        tasks = await self._unfinished()
        place = meant(request, [task.text for task in tasks])
        return await self._left(tasks[place]) if place is not None else None

    async def latest(self) -> KeptTask | None:
        """Return the unfinished task that was worked on last, one of this conversation first."""
        tasks = await self._unfinished()
        return await self._left(tasks[0]) if tasks else None

    async def load(self, task_id: str) -> KeptTask | None:
        """Return a task, None where it has been forgotten.

        Args:
            task_id: The id of its record.
        """
        task, steps = await self.state.task(self.user_id, task_id)
        return _kept(task, steps) if task is not None else None

    async def save(self, task: KeptTask, source_id: str, *, new: bool = False) -> dict[str, str]:
        """Keep a task as it is now, in one batch.

        Args:
            task: The task.
            source_id: The message of this conversation that brought up what is new in it.
            new: Whether it has just been set. One that is not, and is not kept, has been forgotten, and stays so.

        Returns:
            The ids of the steps' records, by the steps' ids.
        """

        async def step() -> tuple[dict[str, str], list[Change]]:
            before, known = await self.state.task(self.user_id, task.id)
            if before is None and not new:
                return {}, []
            steps = self._records(task, {step.name: step for step in known}, source_id)
            record = before or Task(
                id=task.id, text="", session_id=self.session_id, agent_id=self.agent_id, source_ids=(source_id,)
            )
            record = record.model_copy(update={"text": task.graph.goal, "agent_id": self.agent_id})
            changes = self.state.task_changes(self.user_id, record, known, steps)
            return {step.name: step.id for step in steps}, changes

        return await transact(self.state.store, self.user_id, step)

    async def _unfinished(self) -> list[Task]:
        tasks = await self.state.open_tasks(self.user_id, self.agent_id, _MAX_OPEN)
        return sorted(tasks, key=lambda task: (task.session_id == self.session_id, task.worked_at), reverse=True)

    async def _left(self, task: Task) -> KeptTask | None:
        kept = _kept(task, await self.state.steps_of(self.user_id, task))
        # what was left to do may have been forgotten
        return None if kept.graph.is_over else kept

    def _records(self, task: KeptTask, kept: dict[str, TaskStep], source_id: str) -> list[TaskStep]:
        made = [self._record(task.id, step, kept.get(step.id), source_id) for step in task.graph.steps]
        ids = {step.name: step.id for step in made}
        return [
            record.model_copy(update={"depends_on": tuple(ids[before] for before in step.depends_on)})
            for record, step in zip(made, task.graph.steps, strict=True)
        ]

    def _record(self, task_id: str, step: Step, before: TaskStep | None, source_id: str) -> TaskStep:
        data = {"text": step.description, "status": step.status, "error": step.error, "tool": step.tool}
        here = {"session_id": self.session_id, "agent_id": self.agent_id, "source_ids": (source_id, task_id)}
        made = self.state.made(TaskStep, {"task_id": task_id, "name": step.id, **data, **here})
        return made if before is None else moved(before, made)


def _kept(task: Task, records: Sequence[TaskStep]) -> KeptTask:
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
    return KeptTask(task.id, woven(task.text, steps)[0])
