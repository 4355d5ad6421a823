"""Where a flow and its tasks stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.store.base import GetOp, Op

from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import TASK, TASK_STEP
from react_mem.memory.model.states import FlowState, Task, TaskStatus, TaskStep
from react_mem.memory.scopes.scope import ScopeStore


class StateMemoryStore(ScopeStore):
    """The state scope: looked up by flow and conversation, never searched by meaning."""

    scope = MemoryScope.STATE

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Look the flow's state up; a query without a flow has none."""
        if not query.flow_id:
            return []
        return [GetOp(self.namespace(query.user_id), FlowState.identity(query.flow_id, query.session_id))]

    async def get_state(self, flow_id: str, session_id: str, *, user_id: str) -> dict[str, Any] | None:
        """Return the state of a flow in a conversation, None where none was saved.

        Args:
            flow_id: The flow.
            session_id: The conversation.
            user_id: The owner.
        """
        id_ = FlowState.identity(flow_id, session_id)
        found = await self._get(user_id, [id_])
        return FlowState.from_value(found[id_]).state if found else None

    async def save_state(
        self, flow_id: str, session_id: str, state: Mapping[str, Any], *, user_id: str, agent_id: str
    ) -> None:
        """Save the state of a flow in a conversation, in place of what was saved before.

        Args:
            flow_id: The flow.
            session_id: The conversation.
            state: JSON.
            user_id: The owner.
            agent_id: The agent that saves it.
        """
        id_ = FlowState.identity(flow_id, session_id)
        record = FlowState(id=id_, flow_id=flow_id, state=dict(state), session_id=session_id, agent_id=agent_id)
        await self._keep(user_id, [record], dated=False)

    async def log_task_step(
        self,
        task_id: str,
        step: str,
        status: TaskStatus,
        error: str | None = None,
        *,
        user_id: str,
        session_id: str,
        agent_id: str,
    ) -> TaskStep:
        """Note how far a step of a task is, in place of what was noted before.

        Args:
            task_id: The task.
            step: What the step is.
            status: How far it is.
            error: Why it failed.
            user_id: The owner.
            session_id: The conversation.
            agent_id: The agent that takes it.

        Raises:
            ValueError: If the status is unknown.
        """
        record = self.checked(
            {
                "kind": TASK_STEP.name,
                "id": TaskStep.identity(session_id, task_id, step),
                "text": step,
                "task_id": task_id,
                "status": status,
                "error": error or "",
                "session_id": session_id,
                "agent_id": agent_id,
            }
        )
        await self._keep(user_id, [record], dated=False)
        assert isinstance(record, TaskStep)  # noqa: S101 - narrows for the type checker
        return record

    async def task_steps(self, task_id: str, *, user_id: str, session_id: str) -> list[TaskStep]:
        """Return the steps of a task in a conversation, in the order in which they were first noted.

        Args:
            task_id: The task.
            user_id: The owner.
            session_id: The conversation.
        """
        found = self._all(user_id, kind=TASK_STEP.name, task_id=task_id, session_id=session_id)
        return sorted([TaskStep.from_value(value) async for value in found], key=lambda step: step.created_at)

    def complete(self, data: dict[str, Any], event: MemoryWriteEvent) -> dict[str, Any]:
        """Derive what an event need not say: {"state": ...} of its flow, a task, or {"task_id", "text", "status"}."""
        if "task_id" in data:
            id_ = TaskStep.identity(data["session_id"], str(data["task_id"]), str(data.get("text", "")))
            return {"kind": TASK_STEP.name, "id": id_, **data}
        if TASK.matches(data):
            return {"id": Task.identity(data["session_id"], str(data.get("text", ""))), **data}
        flow_id = data.get("flow_id", event.flow_id)
        if flow_id is None:
            return data
        return {"id": FlowState.identity(flow_id, data["session_id"]), "flow_id": flow_id, **data}
