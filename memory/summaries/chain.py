"""The context chain of a conversation: its latest messages, and the summaries that stand in the place of the others.

Pure: what is to be folded follows from the chain and the settings alone, and not from how many messages came at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import Message, Record, Summary, SummaryLevel, origin_of, record_id
from react_mem.memory.model.summary_settings import SummarySettings

MASTER: Literal["master"] = "master"

MAX_TEXT = 600
"""Characters of a message that the chain carries, the beginning: the share of the prompt that any memory has."""

MAX_WAITING = 200
"""Messages that wait in a chain at once, as many as `n_sum` may be: the chain is read in every turn. What else a
conversation has joins once these have been summed up."""

_LATEST = 16
"""Ids that tell what has joined last: eight turns, as many as are drawn from at once."""


class ChainEntry(BaseModel):
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

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    kind: Literal["message", "summary"]
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
        return {**data, "origin": origin_of(data)}


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

    @staticmethod
    def identity(session_id: str) -> str:
        """Return the id of a conversation's chain."""
        return record_id("chain", session_id)

    @classmethod
    def begin(cls, session_id: str, agent_id: str) -> Self:
        """Return the empty chain of a conversation."""
        return cls(id=cls.identity(session_id), session_id=session_id, agent_id=agent_id)

    @property
    def waiting(self) -> int:
        """How many messages have not been summed up."""
        return sum(entry.kind == "message" for entry in self.entries)

    def has(self, message_id: str) -> bool:
        """Return whether a message waits in the chain, or was one of the last to join it."""
        return message_id in self.latest or any(entry.id == message_id for entry in self.entries)

    def append(self, messages: Sequence[Message]) -> Self:
        """Return the chain with messages at its end; those that it has already are left out.

        Args:
            messages: Messages of the conversation, in order.
        """
        known = {*self.latest, *(entry.id for entry in self.entries)}
        new = [message for message in messages if message.id not in known]
        latest = (*self.latest, *(message.id for message in new))[-_LATEST:]
        return self.model_copy(update={"entries": (*self.entries, *map(_link, new)), "latest": latest})


@dataclass(frozen=True)
class Fold:
    """What becomes one summary.

    Args:
        entries: What is summed up, in the order of the conversation.
        level: The level of the summary.
        master: The master that it updates; None where it is a new summary.
    """

    entries: tuple[ChainEntry, ...]
    level: SummaryLevel
    master: ChainEntry | None = None

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The records that are summed up."""
        return tuple(entry.id for entry in self.entries)

    @property
    def parts(self) -> tuple[ChainEntry, ...]:
        """All that the summary will stand for."""
        return self.entries if self.master is None else (self.master, *self.entries)

    @property
    def at(self) -> datetime:
        """When the last of it was said."""
        return max(entry.at for entry in self.parts)

    @property
    def extent(self) -> dict[str, int]:
        """Where in the conversation it begins and ends, and how many messages it stands for."""
        return {
            "first_turn": min(entry.first_turn for entry in self.parts),
            "last_turn": max(entry.last_turn for entry in self.parts),
            "covers": sum(entry.covers for entry in self.parts),
        }

    @property
    def origin(self) -> Origin:
        """Who vouches for the summary: whoever sums up, and no more than its sources."""
        return lowest([Origin.ASSISTANT, *(entry.origin for entry in self.parts)])

    def summary_id(self, session_id: str) -> str:
        """Return the id of the summary: of the same sources always the same, and of the master one a conversation."""
        sources = (session_id,) if self.level == MASTER else self.source_ids
        return record_id("summary", self.level, *sources)

    def is_of(self, chain: ContextChain) -> bool:
        """Return whether a chain still holds all of this as it was."""
        return set(self.parts) <= set(chain.entries)


def next_fold(chain: ContextChain, settings: SummarySettings) -> Fold | None:
    """Return what of a chain is to be summed up next; None where nothing is.

    The highest level goes first, and of messages the first `n_sum` count: a chain that is folded after each message and
    one that is folded after many become the same.

    Args:
        chain: The chain.
        settings: When to fold, and how much.
    """
    top = [entry for entry in chain.entries if _number(entry) >= settings.max_sum_lvl]
    if len(top) >= settings.sum_window:
        master = next((entry for entry in chain.entries if entry.level == MASTER), None)
        return Fold(tuple(top[: settings.sum_window]), MASTER, master)
    for level in range(settings.max_sum_lvl - 1, 0, -1):
        same = [entry for entry in chain.entries if _number(entry) == level]
        if len(same) >= settings.n_sum_sum:
            return Fold(tuple(same[: settings.n_sum_sum]), cast("SummaryLevel", str(level + 1)))
    messages = [entry for entry in chain.entries if entry.kind == "message"][: settings.n_sum]
    if len(messages) < settings.n_sum:
        return None
    window = settings.sum_window
    return Fold(tuple(messages[-window:] if settings.window == "newest" else messages[:window]), "1")


def applied(chain: ContextChain, fold: Fold, summary: Summary) -> ContextChain:
    """Return the chain with a summary in the place of what it sums up, or of the master that it updates.

    Args:
        chain: The chain, which holds all of the fold.
        fold: What was summed up.
        summary: What it came to.
    """
    made = ChainEntry(
        id=summary.id,
        kind="summary",
        level=fold.level,
        text=summary.text,
        at=fold.at,
        origin=summary.origin,
        **fold.extent,
    )
    place, folded = fold.parts[0].id, set(fold.source_ids)
    entries = [
        made if entry.id == place else entry for entry in chain.entries if entry.id == place or entry.id not in folded
    ]
    return chain.model_copy(update={"entries": tuple(entries)})


def without(chain: ContextChain, ids: Sequence[str]) -> ContextChain:
    """Return the chain without the links of these records."""
    return chain.model_copy(update={"entries": tuple(entry for entry in chain.entries if entry.id not in ids)})


def shown(chain: ContextChain, first_turn: int) -> list[ChainEntry]:
    """Return what a prompt needs of a chain beside the messages that it shows word for word.

    Args:
        chain: The chain.
        first_turn: The place in the conversation from which on the prompt has everything.

    Returns:
        The summaries and messages that cover something before that place, in the order of the conversation.
    """
    return [entry for entry in chain.entries if entry.first_turn < first_turn]


def _number(entry: ChainEntry) -> int:
    """Return the level of a summary; 0 for a message, and for the master, which is above all levels."""
    return int(entry.level) if entry.level.isdecimal() else 0


def _link(message: Message) -> ChainEntry:
    return ChainEntry(
        id=message.id,
        kind="message",
        role=message.role,
        text=message.text[:MAX_TEXT],
        at=message.created_at,
        first_turn=message.turn,
        last_turn=message.turn,
        origin=message.origin,
    )
