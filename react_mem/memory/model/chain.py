"""The record of a conversation's context chain: its latest messages, and the summaries in the place of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Message, Record, SummaryLevel, imported, origin_of_role, record_id

MAX_TEXT = 600
"""Characters of a message that the chain carries, the beginning: the share of the prompt that any memory has."""

_LATEST = 16
"""Ids that tell what has joined last: eight turns, as many as are drawn from at once."""


class ChainEntry(BaseModel, extra="forbid", frozen=True):
    """One link of a chain.

    Args:
        id: The record of the message or the summary.
        kind: Which of the two it is.
        level: A summary's level; empty for a message.
        role: Who said a message; empty for a summary.
        text: A summary, or the beginning of a message.
        at: When the last of it was said.
        first_turn: The place in the conversation of the first message that it covers.
        last_turn: The place of the last one.
        covers: How many messages it stands for.
        origin: Who vouches for it.
    """

    id: str
    kind: Literal["message", "summary"] = "summary"
    level: SummaryLevel | Literal[""] = ""
    role: str = ""
    text: str
    at: datetime
    first_turn: int
    last_turn: int
    covers: int = Field(1, ge=1)
    origin: Origin = Origin.ASSISTANT

    @model_validator(mode="before")
    @classmethod
    def _vouched(cls, data: Any) -> Any:
        """Set the origin of a message from who says it, where it is not given."""
        if not isinstance(data, dict) or "origin" in data or data.get("kind") != "message":
            return data
        return {**data, "origin": origin_of_role(data.get("role"))}

    @classmethod
    def of(cls, message: Message) -> Self:
        """Return the link that a message is."""
        return cls(
            id=message.id,
            kind="message",
            role=message.role,
            text=message.text[:MAX_TEXT],
            at=message.created_at,
            first_turn=message.turn,
            last_turn=message.turn,
            origin=message.origin,
        )

    @property
    def is_message(self) -> bool:
        """Return whether it is a message, which nothing has summed up yet."""
        return self.kind == "message"


class ContextChain(Record):
    """The chain of one conversation; looked up, never searched, so that its text is empty.

    Folded until nothing is due, it has at most (n_sum - 1) messages, (n_sum_sum - 1) summaries of each level below
    max_sum_lvl, (sum_window - 1) of that level, and one master.

    Args:
        entries: Its links, in the order of the conversation.
        latest: The messages that joined last, the newest at the end, whether or not they have been summed up since.
        behind: Whether messages of the conversation have yet to join.
    """

    kind: Literal["chain"] = "chain"
    text: str = ""
    entries: tuple[ChainEntry, ...] = ()
    latest: tuple[str, ...] = ()
    behind: bool = False

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a chain as taken in from a file, with its links."""
        return super().as_imported({**value, "entries": [*map(imported, value.get("entries", ()))]})

    @classmethod
    def begin(cls, session_id: str, agent_id: str) -> Self:
        """Return the empty chain of a conversation."""
        return cls(id=record_id("chain", session_id), session_id=session_id, agent_id=agent_id)

    @property
    def waiting(self) -> int:
        """Return how many messages have not been summed up."""
        return sum(entry.is_message for entry in self.entries)

    def has(self, message_id: str) -> bool:
        """Return whether a message waits in the chain, or was one of the last to join it."""
        return message_id in self.latest or any(entry.id == message_id for entry in self.entries)

    def append(self, messages: Sequence[Message]) -> Self:
        """Return the chain with messages at its end; those that it has already are left out, as those without words.

        Args:
            messages: Messages of the conversation, in order.
        """
        known = {*self.latest, *(entry.id for entry in self.entries)}
        new = [message for message in messages if message.id not in known]
        latest = (*self.latest, *(message.id for message in new))[-_LATEST:]
        entries = (*self.entries, *(ChainEntry.of(message) for message in new if message.text))
        return self.model_copy(update={"entries": entries, "latest": latest})
