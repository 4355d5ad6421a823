"""Records of state: flows, tasks and their steps, conversations, and pending turns."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

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
