"""Learning: outcomes of turns are logged, and an agent's experience with a user becomes skills of that user."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from react_mem.memory.language.folding import normalise
from react_mem.memory.language.terms import index_terms
from react_mem.memory.llm.calls import Asker
from react_mem.memory.merging import skill_life
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import OUTCOME, SKILL
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.states import Skill, TurnOutcome, Worths
from react_mem.memory.reflect import skill_drafts
from react_mem.memory.reflect.driver import Asked, Gathered, Report, Strategy, Values
from react_mem.memory.reflect.skill_distilling import distil, find, question_about
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import announce, put_work, upkeep

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade


# Merging of learnt skills with known ones: one skill for one procedure, however often it is learnt.

_SAME_TOOLS = 0.6  # Share of the longer procedure that the shorter one must cover to count as its variant
_NEAR_TEXT = 0.8  # Share of common words from which two occasions are the same: one word in ten may differ
_UNTRIED: Mapping[str, object] = {"trials": 0, "successes": 0, "shown": Worths()}


@dataclass(frozen=True)
class KnownSkill:
    """The skills of a user, archived ones included, with the time of the last use by id."""

    skills: Sequence[Skill]
    last_used: Mapping[str, datetime]

    def has(self, draft: skill_drafts.SkillDraft) -> bool:
        """Return true if a skill already covers the draft."""
        known = self.of(draft)
        return known is not None and (
            not known.source_ids or skill_drafts.tools_of(known) == skill_drafts.tools_of(draft.skill)
        )

    def of(self, draft: skill_drafts.SkillDraft) -> Skill | None:
        """Return the skill that the draft repeats or varies; None for a new one."""
        new = draft.skill
        exact = [skill for skill in self.skills if skill.id == new.id or _is_same(skill, new)]
        near = [skill for skill in self.skills if _takes_the_place_of(skill, new)] if new.tool_sops else []
        return next(iter([*exact, *near]), None)

    def merged(self, draft: skill_drafts.SkillDraft, agent_id: str) -> Skill | None:
        """Return the skill that a checked draft makes, changes or confirms; None for none.

        A hand-written skill, without sources, never changes. An archived skill is revived, on probation, only by turns
        that succeeded with its tools after its last use, and only if it had been useful.
        """
        known = self.of(draft)
        if known is None:
            return skill_life.with_controls(draft.skill.model_copy(update={"agent_id": agent_id}), self.skills)
        if not known.source_ids:
            return None
        since = self.last_used.get(known.id) if known.status == "archived" else None
        traces = [one for one in draft.evidence.traces if one.id not in known.source_ids]
        new = [one for one in traces if since is None or one.at > since]
        if known.status == "archived":
            # that it works is known of what is of no use: turns that succeeded with its tools do not speak for it
            if len(new) < skill_drafts.MIN_SUPPORT or skill_life.is_useless(known):
                return None
            return known.model_copy(update={**_words(known, draft), **_UNTRIED, "status": draft.skill.status})
        tools = skill_drafts.tools_of(known)
        if tools != skill_drafts.tools_of(draft.skill):
            # a detour less, or a missing step more: the counts of the old steps stay past probation only
            counts = {} if known.status == "active" else _UNTRIED
            return known.model_copy(update={**_words(known, draft), **counts})
        texts, evidence = skill_drafts.texts_of(known), draft.evidence
        own = [one for one in new if one.covers(tools) and all(evidence.is_said_by(text, one) for text in texts)]
        sources = tuple(dict.fromkeys([*known.source_ids, *(trace.id for trace in own)]))[: skill_drafts.MAX_SOURCES]
        return known.model_copy(update={"source_ids": sources, "origin": skill_drafts.origin(own, [known.origin])})


def _is_same(skill: Skill, new: Skill) -> bool:
    """Return true if both skills have the same occasion and the same tools in the same order."""
    if not new.tool_sops or skill_drafts.tools_of(skill) != skill_drafts.tools_of(new):
        return False
    if skill.task_type and new.task_type:
        return normalise(skill.task_type) == normalise(new.task_type)
    left, right = {*index_terms(skill.use_when)}, {*index_terms(new.use_when)}
    return skill.task_type == new.task_type or len(left & right) >= _NEAR_TEXT * len(left | right)


def _takes_the_place_of(skill: Skill, new: Skill) -> bool:
    """Return true if a skill is the new one with a detour or a missing step."""
    tools = skill_drafts.tools_of(skill)
    if skill.task_type != new.task_type or skill.status == "archived" or not tools:
        return False
    shorter, longer = sorted((tools, skill_drafts.tools_of(new)), key=len)
    if len(shorter) < _SAME_TOOLS * len(longer) or skill_drafts.match(shorter, longer) is None:
        return False
    # what was given by hand is not changed: it stands for the draft once it is known to be good
    return bool(skill.source_ids) or skill.status == "active"


def _words(known: Skill, draft: skill_drafts.SkillDraft) -> dict[str, object]:
    names = ("text", "use_when", "tool_sops", "preferences", "session_id", "source_ids")
    words = {name: getattr(draft.skill, name) for name in names}
    return {**words, "origin": skill_drafts.origin(draft.evidence.traces, [known.origin])}


MAX_SKILLS = 500  # Skills of a user that a run reads


class Learning(Strategy[skill_drafts.SkillDraft]):
    """Learning from the latest experience of an agent with a user; a skill uses the agent's `tools` alone."""

    note_key = "learning"
    sources = (MemoryScope.EXPERIENCE,)

    def __init__(self, memory: MemoryFacade, user_id: str, agent_id: str, tools: Collection[str]) -> None:
        super().__init__(memory.store, user_id)
        self._memory, self._agent_id, self._tools = memory, agent_id, tools
        self._last_used: Mapping[str, datetime] = {}

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[skill_drafts.SkillDraft]:
        """Find procedures and lessons in the turns; a model is asked about new ones only."""
        traces, self._last_used = await skill_drafts.read_experience(self._memory, self.user_id, self._agent_id)
        found = await asyncio.to_thread(find, traces, self._tools)
        known = KnownSkill(await self._skills(), self._last_used)
        drafts: list[skill_drafts.SkillDraft] = []
        questions = []
        for kind, shared in found.items():
            plain = await asyncio.to_thread(distil, kind, shared, {}, self._tools)
            new = [one for one in plain.drafts if asker is not None and not known.has(one)]
            drafts += [one for one in plain.drafts if one not in new]
            if new:
                ids = {one.skill.id for one in new}
                wanted = [one for one in shared if skill_drafts.procedure_id(kind, one.tools) in ids]
                questions.append(Asked(question_about(kind, wanted, self._tools), otherwise=new))
        return Gathered(drafts, questions)

    async def merge(self, drafts: Sequence[skill_drafts.SkillDraft], there: Values, report: Report) -> list[Change]:
        """Merge drafts into the skills; archive skills that lack a tool or are outdone."""
        before = {skill.id: skill for skill in await self._skills()}
        after = dict(before)
        for one in drafts:
            known = KnownSkill(list(after.values()), self._last_used)
            if (skill := known.merged(one, self._agent_id)) is not None:
                after[skill.id] = skill
        for skill in list(after.values()):
            if self._is_over(skill) or skill_life.is_outdone(skill, after.values()):
                after[skill.id] = skill.model_copy(update={"status": "archived"})
        followed = {id_ for id_, skill in before.items() if skill.status != "archived"}
        report.stored += [one.text for id_, one in after.items() if one.status != "archived" and id_ not in followed]
        report.retired += [one.text for id_, one in after.items() if one.status == "archived" and id_ in followed]
        changed = [skill for id_, skill in after.items() if skill != before.get(id_)]
        return [put(self.user_id, skill) for skill in changed]

    def _is_over(self, skill: Skill) -> bool:
        """Return true if a learnt skill has no tools, as an earlier version learnt some, or one of them is gone."""
        if skill.status == "archived" or not skill.source_ids or skill.agent_id != self._agent_id:
            return False
        return not skill.tool_sops or not set(skill_drafts.tools_of(skill)) <= set(self._tools)

    async def _skills(self) -> list[Skill]:
        where = SKILL.namespace(self.user_id)
        found = await self.store.asearch(where, filter={"kind": SKILL.name}, limit=MAX_SKILLS, refresh_ttl=False)
        return [Skill.from_value(item.value) for item in found]


# Outcomes of a turn and of its skills, logged once a turn (idempotent).

_MAX_GOAL = 600  # Stored characters of the request, used to find common words of turns


async def record_turn(
    memory: MemoryFacade,
    user_id: str,
    *,
    session_id: str,
    agent_id: str,
    turn_id: str,
    offered: Sequence[str],
    steps: Sequence[Mapping[str, Any]],
    success: bool | None = None,
    task_type: str = "",
    goal: str = "",
) -> list[Skill]:
    """Log the outcome of a turn and count it for the skills. Idempotent; concurrent turns are all counted.

    Args:
        turn_id: Record id of the user's message, or another stable id of the turn.
        offered: Ids of the skills found for the agent, including those withheld for comparison (`skill_life.withhold`).
        steps: The agent's steps in order, each with `action` and `error`.
        success: Result of the turn; by default that of its last step.
        goal: The request; needed only where `turn_id` is no stored message.

    Returns:
        The followed skills, updated; none if the turn is already logged or had no steps.
    """
    if not steps or not memory.policy.learning.experience:
        return []
    came_off = success if success is not None else not steps[-1]["error"]

    async def step() -> tuple[list[Skill], list[Change]]:
        id_ = OUTCOME.id(session_id, turn_id)
        if await memory.records(user_id, MemoryScope.EXPERIENCE, [id_]):
            return [], []
        found = await memory.records(user_id, MemoryScope.PROCEDURAL, offered)
        skills = [Skill.from_value(value) for value in found.values()]
        kept_back = [skill.id for skill in skills if skill_life.is_withheld(skill, turn_id)]
        followed = uses_of([skill for skill in skills if skill.id not in kept_back], steps, success=came_off)
        outcome = TurnOutcome(
            id=id_,
            text=goal[:_MAX_GOAL],
            task_type=task_type,
            turn_id=turn_id,
            success=came_off,
            offered=tuple(id_ for id_ in found if id_ not in kept_back),
            withheld=tuple(kept_back),
            followed=followed,
            session_id=session_id,
            agent_id=agent_id,
            source_ids=(turn_id,),
        )
        taken, came_to = {step["action"] for step in steps}, skill_life.worth(came_off, len(steps))
        after = []
        for skill in skills:
            used = skill_life.after_use(skill, followed[skill.id]) if skill.id in followed else skill
            # a turn that took none of its tools had another thing to do
            if skill.source_ids and taken & {step.tool for step in skill.tool_sops}:
                used = skill_life.after_turn(used, came_to, withheld=skill.id in kept_back)
            after.append(used)
        changed = [put(user_id, skill) for skill, before in zip(after, skills, strict=True) if skill != before]
        logged = [put(user_id, outcome), put_work(user_id, learning), *changed]
        return [skill for skill in after if skill.id in followed], logged

    learning = upkeep(agent_id, session_id, memory.policy.extraction.quiet_after)
    used = await transact(memory.store, user_id, step)
    announce(user_id, [learning])
    return used


def kind_followed(kinds: Mapping[str, Sequence[str]], steps: Sequence[Mapping[str, Any]]) -> str:
    """Return the kind of task of the skill that a turn followed, given the tools by kind; empty for none.

    >>> kind_followed({"shop": ["find", "order"]}, [{"action": n, "error": ""} for n in ("find", "look", "order")])
    'shop'
    """
    done = [step["action"] for step in steps if not step["error"]]
    return next((kind for kind, tools in kinds.items() if skill_drafts.match(tools, done) is not None), "")


def uses_of(skills: Sequence[Skill], steps: Sequence[Mapping[str, Any]], *, success: bool) -> dict[str, bool]:
    """Return the followed skills by id, with their success; of skills that are parts of each other the longest."""
    uses = {skill.id: use for skill in skills if (use := use_of(skill, steps, success=success)) is not None}
    went_through = [skill_drafts.tools_of(skill) for skill in skills if uses.get(skill.id)]

    def is_part(own: Sequence[str]) -> bool:
        return any(len(own) < len(other) and skill_drafts.match(own, other) is not None for other in went_through)

    tools = {skill.id: skill_drafts.tools_of(skill) for skill in skills}
    return {id_: use for id_, use in uses.items() if not (use and is_part(tools[id_]))}


def use_of(skill: Skill, steps: Sequence[Mapping[str, Any]], *, success: bool) -> bool | None:
    """Return a skill's success in a turn; None if the turn did not follow it.

    It was followed if all its steps went well in order: then the turn's success is the skill's. It failed if a due step
    failed and the agent went on with another tool. A turn that merely begins alike does not count.
    """
    due = skill_drafts.tools_of(skill)
    if not due:
        return None
    failing = False
    for step in steps:
        if not due:
            break
        if step["action"] == due[0]:
            failing = bool(step["error"])
            due = due if failing else due[1:]
        elif failing:
            return False
    if due:
        return False if failing else None
    return success
