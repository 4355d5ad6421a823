"""Procedural scope: skills, each a procedure with its tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import Op, SearchOp

from react_mem.memory.index.recall import Question, RecallOp
from react_mem.memory.merging.skill_life import promise
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import SKILL
from react_mem.memory.model.states import Skill, listed_preferences
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.scopes.scope import ScopeStore, in_order, question_of, with_spare

_IN_USE: dict[str, Any] = {"status": {"$ne": "archived"}}

_OF_A_KIND = 20
"""Skills of the named kind of task that are ranked, however they are worded: few procedures have more rivals."""


class ProceduralMemoryStore(ScopeStore):
    """The procedural scope. Archived skills are stored and no longer found."""

    scope = MemoryScope.PROCEDURAL

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Search the owner's skills: first of the named kind of task, without a word in common, then of no kind."""
        if not self._policy.recall.procedural:
            return []
        return self._operations(query, question, self._policy.recall.max_skills)

    def _operations(self, query: MemoryQuery, question: Question | None, limit: int) -> list[Op | RecallOp]:
        if not query.task_type:
            return [self._search(query, question, with_spare(limit), **_IN_USE)]
        of_the_kind = {**_IN_USE, "task_type": query.task_type}
        asked = [self._search(query, question, with_spare(limit), **of_the_kind)] if question is not None else []
        every = SearchOp(self.namespace(query.user_id), of_the_kind, max(limit, _OF_A_KIND))
        of_no_kind = self._search(query, question, with_spare(limit), **_IN_USE, task_type="")
        return [*asked, every, of_no_kind]

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return the skills that the caller does not have: of one kind of task the most promising first.

        Where `query.extra["tools"]` names the caller's tools, skills with other tools are left out.
        """
        return self._best(answers, query, self._policy.recall.max_skills)

    def _best(self, answers: Sequence[Any], query: MemoryQuery, limit: int) -> list[MemoryResultItem]:
        seen, tools = set(query.seen), query.extra.get("tools")
        found: dict[str, MemoryResultItem] = {}
        for answer in answers:
            for one in in_order(answer, max(limit, _OF_A_KIND)):
                if one.key not in seen:
                    found.setdefault(one.key, self.shown(one))
        if tools is not None:
            needs = {id_: {step["tool"] for step in one.payload.get("tool_sops", ())} for id_, one in found.items()}
            found = {id_: one for id_, one in found.items() if needs[id_] <= set(tools)}
        # grouped by kind of task, each group at the place of its best match
        kinds: dict[str, list[MemoryResultItem]] = {}
        for result in found.values():
            # without a kind of task they have nothing in common: what is asked decides
            kinds.setdefault(str(result.payload.get("task_type") or result.id), []).append(result)
        return [result for kind in kinds.values() for result in sorted(kind, key=_rank)][:limit]

    async def search_skills(
        self, task_type: str, query: str = "", top_k: int = 3, *, user_id: str
    ) -> list[MemoryResultItem]:
        """Return the skills for a kind of task as a read finds them: those nearest to a text, the most promising first.

        Skills of the kind of task come before those of no kind; it is empty for any, and the text for the latest.
        """
        # a read of this scope alone, whatever the policy says of it
        asked = MemoryQuery(
            user_id=user_id, session_id="-", agent_id="-", scopes=[self.scope], query=query, task_type=task_type
        )
        operations = self._operations(asked, await question_of(self.store, asked), top_k)
        return self._best(await recall(self.store, operations), asked, top_k)

    async def add_skill(
        self, sop: Skill | Mapping[str, Any], *, user_id: str, session_id: str = "", agent_id: str = ""
    ) -> Skill:
        """Store a skill; one for the same kind of task and occasion is replaced. A ValueError names a wrong field and
        the fix.

        Args:
            sop: A record, or {"use_when", "task_type", "tool_sops": [{"tool", "action"}], "preferences"}; preferences
                are a text, a list of texts, or values by their names.
        """
        skill = sop
        if not isinstance(skill, Skill):
            skill = self.made(Skill, {"session_id": session_id, "agent_id": agent_id, **skill})
        await self._keep(user_id, [skill], dated=False)
        return skill

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Derive id and text from occasion and steps."""
        if not SKILL.may_be(data):
            return data
        use_when = str(data.get("use_when", ""))
        if not use_when.strip():
            raise ValueError("memory scope procedural: use_when: is missing; give when the skill is to be used")
        id_ = Skill.identity(str(data.get("task_type", "")), use_when)
        sops = data.get("tool_sops", ())
        steps = [
            (step.get("tool", step.get("tool_name")), step.get("action")) for step in sops if isinstance(step, Mapping)
        ]
        preferences = listed_preferences(data.get("preferences", ()))
        text = skill_text(use_when, steps, preferences if isinstance(preferences, list | tuple) else ())
        return {"id": id_, "text": text, **data}


def _rank(result: MemoryResultItem) -> tuple[bool, float]:
    if not SKILL.matches(result.payload):
        return (True, 0.0)
    skill = Skill.from_value(result.payload)
    # a lesson is not a procedure, and stands beside the one that is followed
    return (not skill.tool_sops, -promise(skill))


def skill_text(use_when: str, steps: Iterable[tuple[Any, Any]], preferences: Iterable[Any]) -> str:
    """Return the text of a skill, with its pairs of tool and action, for search and prompt."""
    return "; ".join([use_when, *(f"{tool}: {action}" for tool, action in steps), *map(str, preferences)])
