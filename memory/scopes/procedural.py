"""How things are done: skills, each a procedure with the tools it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.store.base import Op

from memory.interface import MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent
from memory.records import Skill
from memory.retrieval.question import Question
from memory.retrieval.recall import RecallOp
from memory.scopes.scope import SPARE, ScopeStore

_IN_USE = {"status": {"$ne": "archived"}}


class ProceduralMemoryStore(ScopeStore):
    """The procedural scope. Archived skills are kept and no longer found."""

    scope = MemoryScope.PROCEDURAL
    records = (Skill,)

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Search the owner's skills, those for the kind of task if one is named."""
        if not self._policy.use_procedural:
            return []
        return [self._search(query, question, SPARE * self._policy.max_skills, **_conditions(query.task_type))]

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return what the caller does not have already."""
        return super().results(answers, query)[: self._policy.max_skills]

    async def search_skills(
        self, task_type: str, query: str = "", top_k: int = 3, *, user_id: str
    ) -> list[MemoryResultItem]:
        """Return the skills for a kind of task, those nearest to a text first.

        Args:
            task_type: The kind of task; empty for any.
            query: What to look for; empty for the latest.
            top_k: How many.
            user_id: The owner.
        """
        return await self._find(user_id, query, top_k, _conditions(task_type))

    async def add_skill(
        self, sop: Skill | Mapping[str, Any], *, user_id: str, session_id: str = "", agent_id: str = ""
    ) -> Skill:
        """Keep a skill; one for the same kind of task and occasion is replaced.

        Args:
            sop: A record, or {"use_when", "task_type", "tool_sops": [{"tool", "action"}], "preferences"}.
            user_id: The owner.
            session_id: The conversation it comes from, if any.
            agent_id: Who adds it.

        Raises:
            ValueError: If it is no skill; the message names the field and the fix.
        """
        skill = sop
        if not isinstance(skill, Skill):
            checked = self.checked(_complete({"session_id": session_id, "agent_id": agent_id, **dict(skill)}))
            assert isinstance(checked, Skill)  # noqa: S101 - narrows for the type checker
            skill = checked
        await self._keep(user_id, [skill], dated=False)
        return skill

    def complete(self, data: dict[str, Any], event: MemoryWriteEvent) -> dict[str, Any]:
        """Derive id and text from when the skill is used and how."""
        return _complete(data)


def _conditions(task_type: str | None) -> dict[str, Any]:
    return {**_IN_USE, "task_type": task_type} if task_type else _IN_USE


def _complete(data: dict[str, Any]) -> dict[str, Any]:
    use_when = str(data.get("use_when", ""))
    if not use_when.strip():
        raise ValueError("memory scope procedural: use_when: is missing; give when the skill is to be used")
    id_ = Skill.identity(str(data.get("task_type", "")), use_when)
    steps = [
        f"{step.get('tool')}: {step.get('action')}" for step in data.get("tool_sops", ()) if isinstance(step, Mapping)
    ]
    preferences = data.get("preferences", ())
    text = "; ".join([use_when, *steps, *map(str, preferences if isinstance(preferences, list | tuple) else ())])
    return {"id": id_, "text": text, **data}
