"""State scope: a flow and its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from langgraph.store.base import GetOp, Op
from pydantic_core import PydanticSerializationError, to_jsonable_python

from react_mem.memory.graph.links import capped
from react_mem.memory.index.recall import Question, RecallOp
from react_mem.memory.language.folding import normalise
from react_mem.memory.llm.causes import checked
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.kinds import STATE, TASK, TASK_STEP
from react_mem.memory.model.operations import Change, delete, put
from react_mem.memory.model.records import Record, now, written_in
from react_mem.memory.model.states import FlowState, Task, TaskStatus, TaskStep
from react_mem.memory.scopes.scope import ScopeStore
from react_mem.memory.store.transactions import transact

OVER = frozenset({"done", "skipped"})
"""Statuses of finished steps."""


class StateMemoryStore(ScopeStore):
    """The state scope: looked up by flow and conversation, never searched by meaning."""

    scope = MemoryScope.STATE

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Look the flow's state up; a query without a flow has none."""
        if not query.flow_id:
            return []
        return [GetOp(self.namespace(query.user_id), STATE.id(query.flow_id, query.session_id))]

    async def get_state(self, flow_id: str, session_id: str, *, user_id: str) -> dict[str, Any] | None:
        """Return the state of a flow in a conversation, None where none was saved."""
        id_ = STATE.id(flow_id, session_id)
        found = await self.get(user_id, [id_])
        return FlowState.from_value(found[id_]).state if found else None

    async def save_state(
        self, flow_id: str, session_id: str, state_dict: Mapping[str, Any], *, user_id: str, agent_id: str = ""
    ) -> None:
        """Save the state of a flow in a conversation, JSON, in place of the previous one.

        A ValueError names the place of what is not JSON.
        """
        data = {"flow_id": flow_id, "state": state_dict, "session_id": session_id, "agent_id": agent_id}
        await self._keep(user_id, [self.made(FlowState, data)], dated=False)

    @checked(status="")
    async def log_task_step(
        self,
        task_id: str,
        step: str,
        status: TaskStatus,
        error: str | None = None,
        *,
        user_id: str,
        session_id: str,
        agent_id: str = "",
    ) -> TaskStep:
        """Record the status of a task's step, in place of the previous one; a stored task gets the step.

        A ValueError says that there is no such status.
        """
        data = {"task_id": task_id, "text": step, "status": status, "error": error or ""}
        record = self.made(TaskStep, {**data, "session_id": session_id, "agent_id": agent_id})
        return await self._noted(user_id, record)

    async def task(self, user_id: str, task_id: str) -> tuple[Task | None, list[TaskStep]]:
        """Return a task by its record's id with its steps, in order; None and no steps where it is not stored."""
        found = await self.get(user_id, [task_id])
        if task_id not in found:
            return None, []
        task = Task.from_value(found[task_id])
        return task, await self.steps_of(user_id, task)

    async def steps_of(self, user_id: str, task: Task) -> list[TaskStep]:
        """Return the stored steps of a task, in order."""
        kept = await self.get(user_id, task.steps) if task.steps else {}
        return [TaskStep.from_value(kept[id_]) for id_ in task.steps if id_ in kept]

    async def open_tasks(self, user_id: str, agent_id: str, limit: int) -> list[Task]:
        """Return the unfinished tasks of an agent with a user, in the store's order."""
        asked = {"kind": TASK.name, "open": True, "agent_id": agent_id}
        found = await self.store.asearch(self.namespace(user_id), filter=asked, limit=limit, refresh_ttl=False)
        return [Task.from_value(item.value) for item in found]

    async def task_steps(self, task_id: str, *, user_id: str, session_id: str) -> list[TaskStep]:
        """Return the steps of a task in a conversation, in the order in which they were first noted."""
        found = await self.every(user_id, kind=TASK_STEP.name, task_id=task_id, session_id=session_id)
        return sorted(map(TaskStep.from_value, found), key=lambda step: step.created_at)

    def task_changes(
        self, user_id: str, task: Task | None, before: Sequence[TaskStep], after: Sequence[TaskStep]
    ) -> list[Change]:
        """Return the writes of a task in progress, if it is stored, and of its steps; missing ones are removed."""
        records: list[Record] = [step for step in after if step not in before]
        if task is not None:
            steps = tuple(step.id for step in after)
            open_ = any(step.status not in OVER for step in after)
            records.append(task.model_copy(update={"steps": steps, "open": open_, "worked_at": now()}))
        gone = sorted({step.id for step in before} - {step.id for step in after})
        return [
            *(put(user_id, one) for one in self._discreet(records)),
            *(delete(user_id, TASK_STEP, id_) for id_ in gone),
        ]

    async def _noted(self, user_id: str, record: TaskStep) -> TaskStep:
        await self._room(user_id, [record])

        async def change() -> tuple[TaskStep, list[Change]]:
            task, known = await self.task(user_id, record.task_id)
            if task is None:
                known = await self.task_steps(record.task_id, user_id=user_id, session_id=record.session_id)
            before = next((one for one in known if normalise(one.text) == normalise(record.text)), None)
            names = {one.name for one in known}
            free = next(str(number) for number in count(1) if str(number) not in names)
            named = record.model_copy(update={"name": record.name or free})
            [after] = await capped(self.store, user_id, [named if before is None else moved(before, record)])
            if after == before:
                return after, []
            steps = [after if one is before else one for one in known] if before is not None else [*known, after]
            return after, self.task_changes(user_id, task, known, steps)

        return await transact(self.store, user_id, change)

    async def _keep(self, user_id: str, records: Sequence[Record], *, dated: bool = True) -> None:
        for record in records:
            if isinstance(record, TaskStep):
                await self._noted(user_id, record)
            else:
                await super()._keep(user_id, [record], dated=dated)

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Derive missing fields of {"state": ...} of a flow, a task, or {"task_id", "text", "status"}."""
        kind = data.get("kind", TASK_STEP.name if "task_id" in data else STATE.name)
        if kind == STATE.name:
            data = {**data, "state": _as_json(data["state"])} if "state" in data else data
            named = data.get("flow_id") is not None
            return {"id": STATE.id(data["flow_id"], data["session_id"]), **data} if named else data
        if kind == TASK_STEP.name and "text" not in data and "step" in data:
            data = {"text": data["step"], **{name: value for name, value in data.items() if name != "step"}}
        text = str(data.get("text", ""))
        if kind == TASK.name:
            return {"id": Task.identity(data["session_id"], text), **data}
        if kind == TASK_STEP.name and "task_id" in data:
            id_ = TASK_STEP.id(data["session_id"], str(data["task_id"]), normalise(text))
            # it goes with its task
            return {"kind": kind, "id": id_, "source_ids": (data["task_id"],), **data, "error": data.get("error") or ""}
        return data


def _as_json(state: Any) -> dict[str, Any]:
    """Return the state of a flow, a mapping of JSON values; a `ValueError` names the place of another value."""
    if not isinstance(state, Mapping):
        raise ValueError(f"memory scope state: state: must be a mapping, got {state!r:.80}")
    if unfit := _not_json(state, "state"):
        raise ValueError(f"memory scope state: {unfit} is not JSON; give texts, numbers, lists and mappings of these")
    return dict(state)


def _not_json(value: Any, place: str) -> str:
    """Return the place of a value without a JSON form; empty where there is none."""
    try:
        to_jsonable_python(value)
    except PydanticSerializationError:
        parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        found = (unfit for key, part in parts if (unfit := _not_json(part, f"{place}.{key}")))
        return next(found, f"{place} ({type(value).__name__})")
    except ValueError:
        # it is a part of itself
        return place
    return ""


def moved(before: TaskStep, after: TaskStep) -> TaskStep:
    """Return a stored step updated by a new report of it.

    A report from a later conversation goes with that conversation; the status stays.
    """
    told = before.text == after.text and after.error in ("", before.error)
    update = {
        "text": after.text,
        "status": after.status,
        "error": after.error,
        "tool": after.tool or before.tool,
        "depends_on": after.depends_on or before.depends_on,
        "source_ids": before.source_ids if told else tuple(dict.fromkeys([*before.source_ids, *after.source_ids])),
        **written_in(after),
    }
    return before.model_copy(update=update)
