"""Records of what agents do: skills, the steps they take, and what becomes of a turn."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from react_mem.memory.language.text import normalise
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Record, record_id


class ToolUse(BaseModel, extra="forbid", frozen=True):
    """One step of a skill: a tool, and what to do with it."""

    tool: str
    action: str


class Skill(Record):
    """A standard procedure: when to use it and which tools to use how; `text` is what search finds it by."""

    kind: Literal["skill"] = "skill"
    task_type: str = ""
    use_when: str
    tool_sops: tuple[ToolUse, ...] = ()
    preferences: tuple[str, ...] = ()
    status: Literal["probation", "active", "archived"] = "probation"
    trials: int = Field(0, ge=0)
    successes: int = Field(0, ge=0)

    @staticmethod
    def identity(task_type: str, use_when: str) -> str:
        """Return the id of the skill for this kind of task and occasion."""
        return record_id("skill", normalise(task_type), normalise(use_when))


class StepExperience(Record):
    """One step that an agent took, and how it went; read by kind of task, never searched."""

    kind: Literal["experience"] = "experience"
    origin: Origin = Origin.TOOL
    task_type: str = ""
    tool: str
    input: dict[str, Any] = Field(default_factory=dict)
    output: str = ""
    error: str = ""
    success: bool
    cost: float | None = Field(None, ge=0, description="In the currency of whoever logs it.")
    latency: float | None = Field(None, ge=0, description="In seconds.")


class TurnOutcome(Record):
    """Outcome of a turn, and of the skills that were offered in it; one a turn, `text` is the request."""

    kind: Literal["outcome"] = "outcome"
    task_type: str = ""
    turn_id: str
    success: bool
    offered: tuple[str, ...] = ()
    followed: dict[str, bool] = Field(
        default_factory=dict, description="The skills whose steps the agent took, and whether that went well."
    )
