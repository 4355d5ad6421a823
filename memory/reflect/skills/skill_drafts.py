"""What is learnt, before it is kept: procedures and lessons in words, each with the turns it stands on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from react_mem.memory.model.kinds import SKILL
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.skills import Skill, ToolUse
from react_mem.memory.reflect.skills.text_checks import Evidence
from react_mem.memory.reflect.skills.traces import Trace
from react_mem.memory.scopes.procedural import skill_text

MAX_SOURCES = 6
"""Turns that a skill names as its sources: enough for it to outlive most of them, and to be learnt anew where it does
not. It is not written, and embedded, anew for each turn that confirms it."""


@dataclass(frozen=True)
class Draft:
    """A skill to be.

    Args:
        id: What makes it this skill, whatever its words: its task and its tools.
        task_type: The kind of task.
        use_when: When it is used.
        steps: Its tools, and what to do with each; none of a lesson.
        preferences: What else to mind.
        traces: The turns that it stands on, the oldest first.
        evidence: What these turns say.
    """

    id: str
    task_type: str
    use_when: str
    steps: tuple[ToolUse, ...]
    preferences: tuple[str, ...]
    traces: tuple[Trace, ...]
    evidence: Evidence

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The records of the turns that it stands on."""
        return tuple(trace.id for trace in self.traces)

    @property
    def tools(self) -> tuple[str, ...]:
        """Its tools, in order."""
        return tuple(step.tool for step in self.steps)

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that it says."""
        return (self.use_when, *(step.action for step in self.steps), *self.preferences)

    def skill(self, agent_id: str) -> Skill:
        """Return it as a skill: a procedure on probation; a lesson as it is, since there is nothing in it to try.

        Args:
            agent_id: The agent whose experience it comes from.
        """
        return Skill(
            id=self.id,
            text=skill_text(self.use_when, ((s.tool, s.action) for s in self.steps), self.preferences),
            task_type=self.task_type,
            use_when=self.use_when,
            tool_sops=self.steps,
            preferences=self.preferences,
            status="probation" if self.steps else "active",
            session_id=self.traces[-1].session_id,
            agent_id=agent_id,
            source_ids=sources(self.traces),
            origin=origin(self.traces),
        )


def sources(traces: Sequence[Trace], before: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the sources of a skill: those it has, and more up to the limit.

    Args:
        traces: The turns that it stands on, the oldest first.
        before: The sources it has.
    """
    return tuple(dict.fromkeys([*before, *(trace.id for trace in traces)]))[:MAX_SOURCES]


def origin(traces: Iterable[Trace], before: Iterable[Origin] = ()) -> Origin:
    """Return who vouches for a skill: what its turns heard least of all.

    Args:
        traces: The turns that it stands on.
        before: Who vouched for it before.
    """
    return lowest([*before, *(step.origin for trace in traces for step in trace.steps)])


def procedure_id(task_type: str, tools: Sequence[str]) -> str:
    """Return the id of the skill for this kind of task and these tools."""
    return SKILL.id("procedure", task_type, *tools)


def lesson_id(task_type: str, *about: str) -> str:
    """Return the id of the lesson of this kind of task about this."""
    return SKILL.id("lesson", task_type, *about)
