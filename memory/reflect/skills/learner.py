"""Learning: what an agent did for a user becomes skills, behind the turns, in bounded work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from react_mem.errors import ExtractionError
from react_mem.memory.merging.skill_life import is_outdone
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.skills import Skill
from react_mem.memory.reflect.skills.distilling import Checked, Findings, distil, find
from react_mem.memory.reflect.skills.merging import Known
from react_mem.memory.reflect.skills.proposals import Proposals, Proposer
from react_mem.memory.reflect.skills.skill_drafts import procedure_id
from react_mem.memory.reflect.skills.traces import Trace, read_experience
from react_mem.memory.store.transactions import transact

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade

MAX_CALLS = 5
"""Kinds of task that a model is asked about in one run; the others wait for the next."""

MAX_SKILLS = 500
"""Skills of a user that a run compares with: beyond that nobody finds the right one anyway."""

log = logging.getLogger(__name__)


@dataclass
class LearningReport:
    """What one run did.

    Args:
        learnt: The texts of skills that are new, or taken up again.
        confirmed: How many known skills have new sources.
        archived: The texts of skills that are given up.
        calls: How many model calls it took.
        refused: Why words of the model were not taken.
        problem: What went wrong, for the user; empty when nothing did.
    """

    learnt: list[str] = field(default_factory=list)
    confirmed: int = 0
    archived: list[str] = field(default_factory=list)
    calls: int = 0
    refused: list[str] = field(default_factory=list)
    problem: str = ""


async def learn(
    memory: MemoryFacade, user_id: str, agent_id: str, *, tools: Collection[str], proposer: Proposer | None = None
) -> LearningReport:
    """Turn the latest experience of an agent with a user into skills of that user.

    A procedure that carried several turns becomes a skill, on probation; what failed becomes a lesson. Running it again
    changes nothing, and asks no model, until there is something new. Two workers may do so at once.

    Args:
        memory: The facade.
        user_id: The owner: what is learnt from one user is kept for this one only.
        agent_id: The agent.
        tools: The names of the tools that it has: a skill takes no others.
        proposer: Puts skills into words; None for plain ones. Where it fails, plain ones are taken.

    Returns:
        What changed.
    """
    experience = await read_experience(memory, user_id, agent_id)
    found = await asyncio.to_thread(find, experience.traces, tools)
    known = Known(await _skills(memory, user_id), experience.last_used)
    report = LearningReport()
    drafts: list[Checked] = []
    for kind in found:
        drafts += await _drafts(kind, known, tools, proposer, report)
    refuted = {id_ for kind in found for id_ in kind.refuted}

    async def step() -> tuple[LearningReport, list[Change]]:
        # it may be done again: what it tells must not add up
        done = LearningReport(calls=report.calls, refused=report.refused, problem=report.problem)
        before = {skill.id: skill for skill in await _skills(memory, user_id)}
        after = dict(before)
        there = await memory.records(
            user_id, MemoryScope.EXPERIENCE, (trace.id for one in drafts for trace in one.draft.traces)
        )
        for one in drafts:
            # what was forgotten meanwhile must not come back
            if not all(trace.id in there for trace in one.draft.traces):
                continue
            skill = Known(list(after.values()), experience.last_used).merged(one.draft, agent_id, one.evidence)
            if skill is not None:
                after[skill.id] = skill
        for skill in list(after.values()):
            if _is_over(skill, agent_id, tools, refuted) or is_outdone(skill, after.values()):
                after[skill.id] = skill.model_copy(update={"status": "archived"})
        for id_, skill in after.items():
            _tell(done, before.get(id_), skill)
        changed = [skill for id_, skill in after.items() if skill != before.get(id_)]
        return done, [put(user_id, skill) for skill in changed]

    return await transact(memory.store, user_id, step)


async def _drafts(
    kind: Findings, known: Known, tools: Collection[str], proposer: Proposer | None, report: LearningReport
) -> list[Checked]:
    """Return what was found in words. A model is asked only for what is new."""
    plain = await asyncio.to_thread(distil, kind, kind.procedures, None, tools)
    report.refused += plain.refused
    lessons = kind.drafted_lessons(tools)
    new = [one for one in plain.drafts if not known.has(one.draft)]
    if proposer is None or not new:
        return [*plain.drafts, *lessons]
    rest = [one for one in plain.drafts if one not in new]
    if report.calls >= MAX_CALLS:
        return [*rest, *lessons]
    ids = {one.draft.id for one in new}
    wanted = [p for p in kind.procedures if procedure_id(kind.task_type, p.tools) in ids]
    said: Proposals | None = None
    report.calls += 1
    try:
        said = await proposer.propose(kind.task_type, wanted, [t for t in kind.traces if _has_failure(t)])
    except ExtractionError as error:
        log.warning("skills are put into plain words, the model gave none: %s", error)
        report.problem = str(error)
    worded = await asyncio.to_thread(distil, kind, wanted, said, tools)
    report.refused += worded.refused
    return [*rest, *lessons, *worded.drafts]


def _has_failure(trace: Trace) -> bool:
    return not all(step.success for step in trace.steps)


def _is_over(skill: Skill, agent_id: str, tools: Collection[str], refuted: Collection[str]) -> bool:
    """Return whether a skill that was learnt has lost what it stood on: its tools, or its being true."""
    if skill.status == "archived" or not skill.source_ids or skill.agent_id != agent_id:
        return False
    return skill.id in refuted or not {step.tool for step in skill.tool_sops} <= set(tools)


def _tell(report: LearningReport, before: Skill | None, after: Skill) -> None:
    was, is_ = before is not None and before.status != "archived", after.status != "archived"
    if is_ and not was:
        report.learnt.append(after.text)
    elif was and not is_:
        report.archived.append(after.text)
    elif before is not None and before.source_ids != after.source_ids:
        report.confirmed += 1


async def _skills(memory: MemoryFacade, user_id: str) -> list[Skill]:
    found = await memory.store.asearch(memory.procedural.namespace(user_id), limit=MAX_SKILLS, refresh_ttl=False)
    return [Skill.from_value(item.value) for item in found]
