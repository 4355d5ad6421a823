"""Learning: what an agent did for a user becomes skills of that user."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from react_mem.memory.llm.asking import Asker
from react_mem.memory.merging.skill_life import is_outdone
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import SKILL
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.skills import Skill
from react_mem.memory.reflect.driver import Asked, Checked, Gathered, Report, Strategy
from react_mem.memory.reflect.skills.distilling import Findings, distil, find
from react_mem.memory.reflect.skills.merging import KnownSkill
from react_mem.memory.reflect.skills.proposals import question_about
from react_mem.memory.reflect.skills.skill_drafts import SkillDraft, procedure_id
from react_mem.memory.reflect.skills.traces import Experience, read_experience

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade

MAX_SKILLS = 500
"""Skills of a user that a run compares with: beyond that nobody finds the right one anyway."""


class Learning(Strategy[SkillDraft]):
    """The latest experience of an agent with a user.

    A procedure that carried several turns becomes a skill, on probation; what failed becomes a lesson. A model puts
    them into words; where it does not, plain ones are taken.

    Args:
        memory: The facade.
        user_id: The owner: what is learnt from one user is kept for this one only.
        agent_id: The agent.
        tools: The names of the tools that it has: a skill takes no others.
    """

    note_key = "learning"
    sources = (MemoryScope.EXPERIENCE,)

    def __init__(self, memory: MemoryFacade, user_id: str, agent_id: str, tools: Collection[str]) -> None:
        super().__init__(memory.store, user_id)
        self._memory, self._agent_id, self._tools = memory, agent_id, tools
        self._experience = Experience()
        self._refuted: set[str] = set()

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[SkillDraft]:
        """Find procedures and lessons in the turns; a model is asked only for what is new."""
        self._experience = await read_experience(self._memory, self.user_id, self._agent_id)
        found = await asyncio.to_thread(find, self._experience.traces, self._tools)
        self._refuted = {id_ for kind in found for id_ in kind.refuted}
        known = KnownSkill(await self._skills(), self._experience.last_used)
        drafts: list[SkillDraft] = []
        refused: list[str] = []
        questions = []
        for kind in found:
            plain = await asyncio.to_thread(distil, kind, kind.procedures, None, self._tools)
            new = [one for one in plain.drafts if asker is not None and not known.has(one)]
            drafts += [*(one for one in plain.drafts if one not in new), *kind.drafted_lessons(self._tools)]
            refused += plain.refused
            if new:
                questions.append(self._asked(kind, new))
        return Gathered(Checked(drafts, refused), questions)

    async def merge(
        self, drafts: Sequence[SkillDraft], there: Mapping[str, dict[str, Any]], report: Report
    ) -> list[Change]:
        """Take drafts up into the skills, and give up those that have lost what they stood on, or are outdone."""
        before = {skill.id: skill for skill in await self._skills()}
        after = dict(before)
        for one in drafts:
            known = KnownSkill(list(after.values()), self._experience.last_used)
            if (skill := known.merged(one, self._agent_id)) is not None:
                after[skill.id] = skill
        for skill in list(after.values()):
            if self._is_over(skill) or is_outdone(skill, after.values()):
                after[skill.id] = skill.model_copy(update={"status": "archived"})
        for id_, skill in after.items():
            _tell(report, before.get(id_), skill)
        changed = [skill for id_, skill in after.items() if skill != before.get(id_)]
        return [put(self.user_id, skill) for skill in changed]

    def _asked(self, kind: Findings, new: Sequence[SkillDraft]) -> Asked[SkillDraft]:
        ids = {one.skill.id for one in new}
        wanted = [one for one in kind.procedures if procedure_id(kind.task_type, one.tools) in ids]
        failed = [trace for trace in kind.traces if not all(step.success for step in trace.steps)]
        check = partial(distil, kind, wanted, tools=self._tools)
        return Asked(question_about(kind.task_type, wanted, failed, check), otherwise=new)

    def _is_over(self, skill: Skill) -> bool:
        """Return whether a skill that was learnt has lost what it stood on: its tools, or its being true."""
        if skill.status == "archived" or not skill.source_ids or skill.agent_id != self._agent_id:
            return False
        return skill.id in self._refuted or not {step.tool for step in skill.tool_sops} <= set(self._tools)

    async def _skills(self) -> list[Skill]:
        where = SKILL.namespace(self.user_id)
        found = await self.store.asearch(where, filter={"kind": SKILL.name}, limit=MAX_SKILLS, refresh_ttl=False)
        return [Skill.from_value(item.value) for item in found]


def _tell(report: Report, before: Skill | None, after: Skill) -> None:
    was, is_ = before is not None and before.status != "archived", after.status != "archived"
    if is_ and not was:
        report.stored.append(after.text)
    elif was and not is_:
        report.retired.append(after.text)
