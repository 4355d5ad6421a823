"""Drafts of skills: procedures and lessons in words, each with the turns it stands on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from react_mem.memory.model.kinds import SKILL
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.skills import Skill, ToolUse
from react_mem.memory.reflect.skills.text_checks import SkillEvidence
from react_mem.memory.reflect.skills.traces import Trace
from react_mem.memory.scopes.procedural import skill_text

MAX_SOURCES = 6
"""Turns that a skill names as its sources: enough for it to outlive most of them, and to be learnt again where it does
not. It is not written, and embedded, again for each turn that confirms it."""


@dataclass(frozen=True)
class SkillDraft:
    """A skill to be.

    Args:
        skill: The skill, whose id is its task and its tools, whatever its words.
        evidence: The turns that it stands on, the oldest first.
    """

    skill: Skill
    evidence: SkillEvidence

    @property
    def source_ids(self) -> Sequence[str]:
        """The records of the turns that it stands on."""
        return self.skill.source_ids


def draft_of(
    id_: str,
    task_type: str,
    use_when: str,
    steps: Sequence[ToolUse],
    preferences: Sequence[str],
    evidence: SkillEvidence,
) -> SkillDraft:
    """Return a draft: a procedure on probation; a lesson as it is, since there is nothing in it to try.

    Args:
        id_: The id of the skill.
        task_type: The kind of task.
        use_when: When it is used.
        steps: Its tools, and what to do with each; none of a lesson.
        preferences: What else to mind.
        evidence: The turns that it stands on.
    """
    traces = evidence.traces
    skill = Skill(
        id=id_,
        text=skill_text(use_when, ((step.tool, step.action) for step in steps), preferences),
        task_type=task_type,
        use_when=use_when,
        tool_sops=tuple(steps),
        preferences=tuple(preferences),
        status="probation" if steps else "active",
        session_id=traces[-1].session_id,
        agent_id="",
        source_ids=tuple(trace.id for trace in traces),
        origin=origin(traces),
    )
    return SkillDraft(skill, evidence)


def origin(traces: Iterable[Trace], before: Iterable[Origin] = ()) -> Origin:
    """Return who vouches for a skill: what its turns heard least of all.

    Args:
        traces: The turns that it stands on.
        before: Who vouched for it before.
    """
    return lowest([*before, *(step.origin for trace in traces for step in trace.steps)])


def tools_of(skill: Skill) -> tuple[str, ...]:
    """Return the tools of a skill, in order."""
    return tuple(step.tool for step in skill.tool_sops)


def texts_of(skill: Skill) -> list[str]:
    """Return everything that a skill says."""
    return [skill.use_when, *(step.action for step in skill.tool_sops), *skill.preferences]


def procedure_id(task_type: str, tools: Sequence[str]) -> str:
    """Return the id of the skill for this kind of task and these tools."""
    return SKILL.id("procedure", task_type, *tools)


def lesson_id(task_type: str, *about: str) -> str:
    """Return the id of the lesson of this kind of task about this."""
    return SKILL.id("lesson", task_type, *about)
