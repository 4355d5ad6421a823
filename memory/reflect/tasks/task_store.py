"""Where tasks are kept: in the state scope, so that what was interrupted can be gone on with in another conversation.

A task falls with the message that set it, and its steps with it; a step falls with the message that brought it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.model.changes import Change, delete, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import now
from react_mem.memory.model.states import Task, TaskStep
from react_mem.memory.reflect.tasks.resuming import meant
from react_mem.memory.reflect.tasks.task_graph import MAX_STEPS, Step, TaskGraph, woven
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
        store: The store.
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent.
    """

    store: BaseStore
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
        item = await self.store.aget(scope_namespace(self.user_id, MemoryScope.STATE), task_id)
        return await self._with_steps(Task.from_value(item.value)) if item is not None else None

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
            namespace = scope_namespace(self.user_id, MemoryScope.STATE)
            item = await self.store.aget(namespace, task.id)
            before = Task.from_value(item.value) if item is not None else None
            if before is None and not new:
                return {}, []
            kept = {step.name: step for step in await self._steps(before.steps if before else ())}
            records = self._records(task, kept, source_id)
            record = Task(
                id=task.id,
                text=task.graph.goal,
                steps=tuple(step.id for step in records),
                open=not task.graph.is_over,
                session_id=before.session_id if before else self.session_id,
                agent_id=self.agent_id,
                source_ids=before.source_ids if before else (source_id,),
                created_at=before.created_at if before else now(),
            )
            moved = [made for made in records if made != kept.get(made.name)]
            changes = [put(self.user_id, made) for made in [record, *moved]]
            left = {step.id for step in kept.values()} - set(record.steps)
            changes += [delete(self.user_id, MemoryScope.STATE, id_) for id_ in sorted(left)]
            return {step.name: step.id for step in records}, changes

        return await transact(self.store, self.user_id, step)

    async def _unfinished(self) -> list[Task]:
        namespace = scope_namespace(self.user_id, MemoryScope.STATE)
        found = await self.store.asearch(
            namespace, filter={"kind": "task", "open": True, "agent_id": self.agent_id}, limit=_MAX_OPEN
        )
        tasks = [Task.from_value(item.value) for item in found]
        return sorted(tasks, key=lambda task: (task.session_id == self.session_id, task.worked_at), reverse=True)

    async def _left(self, task: Task) -> KeptTask | None:
        kept = await self._with_steps(task)
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
        said = {"status": step.status, "error": step.error, "tool": step.tool}
        if before is not None:
            # what a later conversation says of it goes with that conversation; that it is done stays
            told = before.text == step.description and step.error in ("", before.error)
            sources = before.source_ids if told else tuple(dict.fromkeys([*before.source_ids, source_id]))
            return before.model_copy(update={**said, "text": step.description, "source_ids": sources})
        return TaskStep(
            id=TaskStep.identity(self.session_id, task_id, step.description),
            text=step.description,
            task_id=task_id,
            name=step.id,
            session_id=self.session_id,
            agent_id=self.agent_id,
            source_ids=(source_id, task_id),
            **said,
        )

    async def _with_steps(self, task: Task) -> KeptTask:
        records = await self._steps(task.steps)
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

    async def _steps(self, ids: Sequence[str]) -> list[TaskStep]:
        namespace = scope_namespace(self.user_id, MemoryScope.STATE)
        found = await self.store.abatch([GetOp(namespace, id_) for id_ in ids[:MAX_STEPS]]) if ids else []
        return [TaskStep.from_value(item.value) for item in cast("list[Item | None]", found) if item is not None]
