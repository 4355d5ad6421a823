"""Records of agents' work: flows, tasks, conversations and pending turns; skills, steps and outcomes of turns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, model_validator

from react_mem.memory.language.folding import normalise
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Record, now, record_id


class FlowState(Record):
    """State of a flow in one conversation; looked up, never searched, so that its text is empty."""

    kind: Literal["state"] = "state"
    text: str = ""
    flow_id: str
    state: dict[str, Any]


TaskStatus = Literal["pending", "running", "done", "failed", "skipped"]


class Task(Record):
    """Request of several steps; `text` is the goal."""

    kind: Literal["task"] = "task"
    origin: Origin = Origin.ASSISTANT
    steps: tuple[str, ...] = Field((), description="The records of its steps, in order.")
    open: bool = Field(True, description="Whether something is left to do; stored so that a search can filter.")
    worked_at: datetime = Field(default_factory=now, description="When it was last worked on.")

    @staticmethod
    def identity(session_id: str, asked: str) -> str:
        """Return the id of a conversation's task, given by a message id or, without one, its words."""
        return record_id("task", session_id, normalise(asked))


class TaskStep(Record):
    """Step of a task with its status; `text` describes the step."""

    kind: Literal["task_step"] = "task_step"
    origin: Origin = Origin.ASSISTANT
    task_id: str
    status: TaskStatus
    error: str = ""
    name: str = Field("", description="What its task graph calls it.")
    depends_on: tuple[str, ...] = Field((), description="The records of the steps that come first.")
    tool: str = Field("", description="The tool that takes it, if one does.")


MAX_FAILURES = 5
"""A turn that fails this often, not for an outage, is parked: it stays visible among the pending, with its error."""


class PendingTurn(Record):
    """Turn with stored messages from which nothing has been extracted yet.

    A worker claims it before it asks a model, so that no two extract at once.
    """

    kind: Literal["pending"] = "pending"
    chained: bool = Field(False, description="Whether its messages have joined the conversation's chain.")
    context_ids: tuple[str, ...] = Field((), description="What was said just before, which it may answer.")
    steps: tuple[str, ...] = ()
    task_steps: tuple[str, ...] = Field((), description="The records of the task's steps that were taken in it.")
    snapshot: bool = Field(False, description="Whether the switching engine asks for a snapshot of it.")
    attempts: int = 0
    last_error: str = ""
    failures: int = Field(0, description="Attempts that failed for what the turn is, not for an outage.")
    retry_at: datetime | None = Field(None, description="Not before; None for at once.")
    claimed_by: str = ""
    claimed_until: datetime | None = None
    forked: bool = Field(False, description="Whether it may have left a branch of the conversation behind.")

    @property
    def is_parked(self) -> bool:
        """True if it is not tried any more."""
        return self.failures >= MAX_FAILURES


class Conversation(Record):
    """Conversation as a whole: when something was last said in it, and whether it has been concluded."""

    kind: Literal["conversation"] = "conversation"
    last_said_at: datetime
    ended: bool = Field(False, description="Concluded, and nothing said since; stored so that a search can filter.")


# Records of agents' actions: skills, steps and the outcomes of turns.


class ToolUse(BaseModel, extra="forbid", frozen=True):
    """Step of a skill: a tool (or `tool_name`), and the action with it."""

    tool: str = Field(validation_alias=AliasChoices("tool", "tool_name"))
    action: str


class Worths(BaseModel, extra="forbid", frozen=True):
    """Sums over the values of turns, each between 0 and 1, for mean and variance."""

    turns: float = Field(0, ge=0)
    total: float = Field(0, ge=0)
    squares: float = Field(0, ge=0)


def listed_preferences(given: Any) -> Any:
    """Return preferences as a list: a text is one entry, and so is each name of a mapping with its value.

    >>> listed_preferences("use pnpm if available"), listed_preferences({"package manager": "pnpm"})
    (['use pnpm if available'], ['package manager: pnpm'])
    """
    if isinstance(given, str):
        return [given] if given.strip() else []
    return [f"{name}: {value}" for name, value in given.items()] if isinstance(given, Mapping) else given


class Skill(Record):
    """A standard procedure: when to use it and which tools to use how; `text` is what search finds it by."""

    kind: Literal["skill"] = "skill"
    task_type: str = ""
    use_when: str
    tool_sops: tuple[ToolUse, ...] = ()
    preferences: Annotated[tuple[str, ...], BeforeValidator(listed_preferences)] = ()
    status: Literal["probation", "active", "archived"] = "probation"
    trials: int = Field(0, ge=0)
    successes: int = Field(0, ge=0)
    shown: Worths = Field(Worths(), description="Turns that took a tool of it, and were offered it.")
    withheld: Worths = Field(Worths(), description="Turns that took a tool of it, and were not, to compare.")

    @staticmethod
    def identity(task_type: str, use_when: str) -> str:
        """Return the id of the skill for this kind of task and occasion."""
        return record_id("skill", normalise(task_type), normalise(use_when))


MS = 1_000  # milliseconds of a second


def as_step(given: Any) -> Any:
    """Return a step by the field names of its record: `tool` for `tool_name`, `latency` in seconds for `latency_ms`.

    >>> as_step({"tool_name": "search", "latency_ms": 250})
    {'tool': 'search', 'latency': 0.25}
    """
    if not isinstance(given, Mapping) or given.keys().isdisjoint(("tool_name", "latency_ms")):
        return given
    step = {name: value for name, value in given.items() if name not in ("tool_name", "latency_ms")}
    tool, latency = given.get("tool_name"), given.get("latency_ms")
    if tool is not None and step.setdefault("tool", tool) != tool:
        raise ValueError("tool and tool_name name two tools; give one of them")
    if latency is not None and step.get("latency") is None:
        if isinstance(latency, bool) or not isinstance(latency, int | float):
            raise ValueError(f"latency_ms: must be a number, got {latency!r:.80}")
        step["latency"] = latency / MS
    return step


class StepExperience(Record):
    """Step of an agent with its result; read by kind of task, never searched.

    A write may name its tool `tool_name` and its latency `latency_ms`, as a read shows them.
    """

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

    @model_validator(mode="before")
    @classmethod
    def _by_other_names(cls, data: Any) -> Any:
        return as_step(data)


class TurnOutcome(Record):
    """Outcome of a turn and of the skills offered in it, one a turn; `text` is the request."""

    RARE: ClassVar[tuple[str, ...]] = (*Record.RARE, "feedback", "verdict")

    kind: Literal["outcome"] = "outcome"
    task_type: str = ""
    turn_id: str
    success: bool
    offered: tuple[str, ...] = ()
    withheld: tuple[str, ...] = Field((), description="The skills that were found, and kept back to compare.")
    followed: dict[str, bool] = Field(
        default_factory=dict, description="The skills whose steps the agent took, and whether that went well."
    )
    feedback: dict[str, Literal[-1, 0, 1]] = Field(
        default_factory=dict, description="What the user says of it, by key, where no answer of it is remembered."
    )
    verdict: Literal[-1, 0, 1] = Field(0, description="What the user thinks of it: good, bad, or nothing known.")
