"""What agents did, step by step, and how it went: what skills are learnt from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from langgraph.store.base import Op, SearchOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import EXPERIENCE, OUTCOME
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import now
from react_mem.memory.model.skills import StepExperience, TurnOutcome
from react_mem.memory.scopes.scope import ScopeStore
from react_mem.memory.store.owned import WHOLE

MAX_OUTPUT_CHARS = 4_000
"""Of a tool's result: enough to see what came of a step; the whole is in the thread."""

_A_STEP = timedelta(microseconds=1)


class ExperienceMemoryStore(ScopeStore):
    """The experience scope: read by kind of task, the latest first, never searched by meaning.

    Embedding every step would cost more than all else that a turn writes.
    """

    scope = MemoryScope.EXPERIENCE

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Return the latest steps, those of the kind of task if one is named."""
        conditions = {"kind": EXPERIENCE.name, **({"task_type": query.task_type} if query.task_type else {})}
        return [SearchOp(self.namespace(query.user_id), conditions, self._policy.recall.max_memories)]

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return the latest first."""
        found = super().results(answers, query)
        return sorted(found, key=lambda item: str(item.payload["created_at"]), reverse=True)

    async def log_step(
        self, step_data: StepExperience | Mapping[str, Any], *, user_id: str, session_id: str, agent_id: str
    ) -> StepExperience:
        """Log one step; a policy with `learning: {experience: false}` keeps nothing.

        Args:
            step_data: A record, or {"task_type", "tool", "input", "output", "error", "success", "cost", "latency"}.
            user_id: The owner.
            session_id: The conversation.
            agent_id: The agent that took the step.

        Raises:
            ValueError: If it is no step; the message names the field and the fix.
        """
        step = step_data
        if not isinstance(step, StepExperience):
            checked = self.checked(_complete({"session_id": session_id, "agent_id": agent_id, **dict(step)}))
            assert isinstance(checked, StepExperience)  # noqa: S101 - narrows for the type checker
            step = checked
        if self._policy.learning.experience:
            await self._keep(user_id, [step], dated=False)
        return step

    async def get_failures(self, task_type: str, limit: int = 50, *, user_id: str) -> list[StepExperience]:
        """Return the steps of a kind of task that failed, the latest first.

        Args:
            task_type: The kind of task; empty for any.
            limit: How many.
            user_id: The owner.
        """
        return (await self._steps(user_id, task_type, success=False))[:limit]

    async def get_successful_traces(
        self, task_type: str, limit: int = 50, *, user_id: str
    ) -> list[list[StepExperience]]:
        """Return the conversations in which every step of a kind of task went well, the latest first.

        Args:
            task_type: The kind of task; empty for any.
            limit: How many.
            user_id: The owner.

        Returns:
            For each its steps, in order.
        """
        traces: dict[str, list[StepExperience]] = {}
        for step in await self._steps(user_id, task_type):
            traces.setdefault(step.session_id, []).insert(0, step)
        return [trace for trace in traces.values() if all(step.success for step in trace)][:limit]

    async def latest_steps(self, user_id: str, agent_id: str, limit: int) -> list[StepExperience]:
        """Return the latest steps that an agent took for a user, in the order in which it took them.

        Args:
            user_id: The owner.
            agent_id: The agent.
            limit: How many.
        """
        found = await self._latest(user_id, limit, kind=EXPERIENCE.name, agent_id=agent_id)
        return [StepExperience.from_value(value) for value in found]

    async def latest_outcomes(self, user_id: str, agent_id: str, limit: int) -> list[TurnOutcome]:
        """Return what became of the latest turns of an agent with a user, in order.

        Args:
            user_id: The owner.
            agent_id: The agent.
            limit: How many.
        """
        found = await self._latest(user_id, limit, kind=OUTCOME.name, agent_id=agent_id)
        return [TurnOutcome.from_value(value) for value in found]

    async def agents(self, user_id: str, limit: int) -> list[str]:
        """Return the agents that took a user's latest steps.

        Args:
            user_id: The owner.
            limit: How many steps to look at.
        """
        found = await self._latest(user_id, limit, kind=EXPERIENCE.name)
        return list(dict.fromkeys(str(value["agent_id"]) for value in found))

    async def _latest(self, user_id: str, limit: int, **conditions: Any) -> list[dict[str, Any]]:
        # PostgreSQL answers with what was written last, LangGraph's InMemoryStore with what was written first
        room = WHOLE if isinstance(self._store, InMemoryStore) else limit
        found = await self._store.asearch(self.namespace(user_id), filter=conditions, limit=room, refresh_ttl=False)
        return sorted((item.value for item in found), key=_taken_at)[-limit:]

    async def _steps(self, user_id: str, task_type: str, **conditions: Any) -> list[StepExperience]:
        conditions["kind"] = EXPERIENCE.name
        if task_type:
            conditions["task_type"] = task_type
        steps = [StepExperience.from_value(value) async for value in self._all(user_id, **conditions)]
        return sorted(steps, key=lambda step: step.created_at, reverse=True)

    async def write(self, event: MemoryWriteEvent) -> None:
        """Log the step that an event describes; a policy with `learning: {experience: false}` keeps nothing."""
        self.parse(event)
        if self._policy.learning.experience:
            await super().write(event)

    def complete(self, data: dict[str, Any], event: MemoryWriteEvent) -> dict[str, Any]:
        """Derive what an event need not say; the kind of task is by default its flow."""
        if OUTCOME.matches(data):
            return data
        return _complete({"task_type": event.flow_id or "", **data})


def steps_to_experience(
    steps: Sequence[Mapping[str, Any]], *, session_id: str, agent_id: str, turn_id: str, task_type: str = ""
) -> list[StepExperience]:
    """Return the steps of a turn as experience; the same turn gives the same records.

    Args:
        steps: What the agent did, in order: `action`, `arguments`, `observation` and `error`, as working memory has it.
        session_id: The conversation.
        agent_id: The agent.
        turn_id: The message that the turn answers.
        task_type: What kind of task it was.
    """
    at = now()
    return [
        StepExperience(
            # steps are told in order by when they were taken
            created_at=at + place * _A_STEP,
            id=step_id(session_id, turn_id, place),
            text=_text(step["action"], step["arguments"]),
            task_type=task_type,
            tool=step["action"],
            input=dict(step["arguments"]),
            output=str(step["observation"])[:MAX_OUTPUT_CHARS],
            error=str(step["error"])[:MAX_OUTPUT_CHARS],
            success=not step["error"],
            session_id=session_id,
            agent_id=agent_id,
            source_ids=(turn_id,),
            origin=lowest([Origin.TOOL, origin_of_result(step["action"])]),
        )
        for place, step in enumerate(steps)
    ]


def step_id(session_id: str, turn_id: str, place: int) -> str:
    """Return the id of a step of a turn.

    Args:
        session_id: The conversation.
        turn_id: The message that the turn answers.
        place: Which of the turn's steps, from 0.
    """
    return EXPERIENCE.id(session_id, turn_id, str(place))


def _taken_at(value: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(value["created_at"]))


def _text(tool: str, arguments: Any) -> str:
    return f"{tool}({json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)})"[:500]


def _complete(data: dict[str, Any]) -> dict[str, Any]:
    """Derive a step's id and text: the same step of the same conversation is one, unless it says when it was."""
    input_ = data.get("input", {})
    text = _text(str(data.get("tool", "")), input_)
    said = (str(data.get(name, "")) for name in ("session_id", "task_type", "output", "error", "created_at"))
    cut: dict[str, Any] = {name: str(data[name])[:MAX_OUTPUT_CHARS] for name in ("output", "error") if name in data}
    derived: dict[str, Any] = {
        "id": EXPERIENCE.id(text, *said),
        "text": text,
        "success": not data.get("error"),
    }
    return {**derived, **data, **cut}
