"""Entries of other systems in one neutral form: what a source is read into, and an importer writes."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

Role = Literal["user", "assistant", "system", "tool", "agent", "observer"]

BATCH = 200
"""Entries that are read, and written, at a time."""

Told = Callable[[int, int | None], None]
"""Is told how many entries are done, and of how many."""

EntryKind = Literal["fact", "message", "document", "episode"]


def nobody_listens(_done: int, _total: int | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class ForeignEntry:
    """One memory of another system.

    Args:
        id: The system's own id of it: the same id is the same memory.
        text: What it says.
        kind: What it becomes.
        owner: Whose it is, as the system names them; empty where it does not say.
        owner_also: Another name that the system has for the same owner.
        is_persons: Whether the owner is somebody; an agent, say, is nobody, and has no memory here of its own.
        owner_is_elsewhere: Whether it is somebody's whom another entry names, which is not there.
        at: When it was first written; None where nobody knows.
        updated_at: When it was last confirmed or changed, where that is later.
        misdated: Whether the system gives a time that cannot be.
        about: Of a fact, whom or what it is about.
        valid_from: Since when it is true.
        valid_to: Until when.
        expired_at: Since when the system itself does not believe it any more.
        conversation: The conversation that it is of, as the system names it.
        role: Of a message, who says it.
        speaker: Of a message, the name of whoever says it.
        turn: Of a message, its place in the conversation, from 0.
        title: Of a document, what it is called.
        steps: Of an episode, what was done.
        outcome: Of an episode, how it ended.
        notes: What the system keeps beside it: ids and labels.
        place: Where it stands, such as a line, where the id is made up and tells nobody which one it is.
    """

    id: str
    text: str
    kind: EntryKind = "fact"
    owner: str = ""
    owner_also: str = ""
    is_persons: bool = True
    owner_is_elsewhere: bool = False
    at: datetime | None = None
    updated_at: datetime | None = None
    misdated: bool = False
    about: str = "user"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expired_at: datetime | None = None
    conversation: str = ""
    role: Role = "user"
    speaker: str = ""
    turn: int = 0
    title: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""

    @property
    def called(self) -> str:
        """Return what a person is told of which entry it is."""
        return self.place or f"{self.kind} {self.id}"[:80]


@dataclass(frozen=True)
class UnusableEntry:
    """Part of a source that becomes no memory.

    Args:
        place: Where it stands, such as a line.
        reason: Why, in words that are the same for all of its kind.
    """

    place: str
    reason: str


class NothingToImportError(ValueError):
    """A source has nothing that could become a memory: it is empty, or not what it was said to be."""


Entries = Sequence[ForeignEntry | UnusableEntry]


class ForeignSource(Protocol):
    """Memories of another system, which can be read more than once."""

    @property
    def name(self) -> str:
        """Return what the system is called."""

    @property
    def personal(self) -> bool:
        """Return whether it is one person's: whom it names is then whoever it is imported for."""

    def batches(self) -> AsyncIterator[Entries]:
        """Yield what is in it, from the beginning, some at a time.

        Raises:
            ValueError: If it cannot be read; the message says where and why, and what to do.
        """


def digest_of(*parts: str) -> str:
    """Return a short name of what these parts identify, from which nobody can tell them.

    >>> digest_of("mem0", "1") == digest_of("mem0", "1"), digest_of("mem0", "1") == digest_of("mem", "01")
    (True, False)
    """
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
