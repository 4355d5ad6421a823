"""The extraction contract: a transcript and what is known go in, checked proposals come out. An engine never writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal, Protocol

from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Role, fact_id

Relation = Literal["new", "same", "changes", "ends", "corrects", "unsure", "forget"]
"""Relation of a statement to a known fact: independent of it; the same in other words; what became of it; its end; it
never was so; it may contradict it; the user asks to forget it."""


@dataclass(frozen=True)
class TranscriptMessage:
    """One message of the conversation to draw from.

    Args:
        id: The record's id.
        role: Who says it.
        text: What it says.
        at: When; the model is shown the day.
        context: Whether it has been read before, and only shows what the others refer to: it teaches nothing again.
        origin: Who vouches for it: an answer that was made of a tool's result or a page is no more than that.
        snapshot: Whether the switching engine asks for a snapshot of the turn that it is of.
    """

    id: str
    role: Role
    text: str
    at: datetime | None = None
    context: bool = False
    origin: Origin = Origin.USER
    snapshot: bool = False


@dataclass(frozen=True)
class ExistingMemory:
    """A fact that is known, and may be changed or ended.

    Args:
        id: The record's id.
        text: What it says.
        about: Whom a fact is about.
        at: When it was last said.
        until: When it was over, or will be, if it says so.
        also: How else it is put: for comparing, not shown.
    """

    id: str
    text: str
    about: str = "user"
    at: datetime | None = None
    until: datetime | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """One checked change of what is known.

    Args:
        relation: How it stands to the target.
        text: What the user states, in their own words; empty where they only end or forget something.
        about: Whom it is about: `user`, or a name.
        target_id: The fact that it changes, ends, corrects, repeats, doubts or forgets; None for something new.
        quote: The user's exact words, where `text` is not them.
        reading: The sentence that the model made of it, for the index.
        source_ids: The messages that say it.
        origin: Who vouches for it.
        topic: Words to find it by that it does not say, for the index.
        event_at: When what it tells of happened, or is to happen.
        valid_from: Since when it is true, where it says so.
        valid_to: Until when.
        needs: The facts that it depends on.
    """

    relation: Relation
    text: str
    about: str = "user"
    target_id: str | None = None
    quote: str = ""
    reading: str = ""
    source_ids: tuple[str, ...] = ()
    origin: Origin = Origin.USER
    event_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    needs: tuple[str, ...] = ()
    topic: str = ""

    @property
    def id(self) -> str:
        """The id of the fact that it states."""
        return fact_id(self.about, self.text)


@dataclass(frozen=True)
class Unread:
    """Words of the user's that no label covers: they are kept as they were said.

    Args:
        text: The words.
        source_id: The message.
    """

    text: str
    source_id: str


@dataclass(frozen=True)
class EpisodeDraft:
    """Attempt and its outcome; a milestone has a name, and is told by its snapshot, a few sentences.

    Args:
        goal: What was wanted.
        steps: What was done.
        outcome: How it ended.
        lessons: What to do better.
        milestone: What a milestone is called.
        situation: The request that began it, in the user's words.
        snapshot: What a milestone is told by.
        importance: How much it matters, 0 to 1.
        origin: Who vouches for it.
    """

    goal: str
    steps: tuple[str, ...] = ()
    outcome: str = ""
    lessons: tuple[str, ...] = ()
    milestone: str = ""
    situation: str = ""
    snapshot: str = ""
    importance: float = 0.5
    origin: Origin = Origin.ASSISTANT


@dataclass(frozen=True)
class ProfileChange:
    """One field of the user's profile; a later value replaces an earlier one, an empty one clears the field."""

    field: str
    value: str
    source_ids: tuple[str, ...]


@dataclass(frozen=True)
class Extraction:
    """Lessons of one invocation.

    Args:
        ops: Checked operations.
        unread: Words of the user's that no label covers.
        episode: What was attempted, if anything was.
        profile_changes: Checked changes, each field at most once.
        standing: The messages in which the user says what to do from now on.
        summary: What was asked, done and its result; empty when the model gave none that is usable.
        rejected: Why a check refused something that the model sent, for each, in a few words that are safe to show.
        calls: How many model calls it took.
        complete: Whether the model saw every word of the user's and everything it sent is in the other fields. False
            when something was rejected, its answer broke off, or a message of the user's had to be cut or left out.
    """

    ops: tuple[Operation, ...] = ()
    unread: tuple[Unread, ...] = ()
    episode: EpisodeDraft | None = None
    profile_changes: tuple[ProfileChange, ...] = ()
    summary: str = ""
    standing: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    calls: int = 0
    complete: bool = True


class Extractor(Protocol):
    """Draws proposals from a transcript."""

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        """Ask the model what the transcript teaches, and check what it says against the transcript.

        Args:
            messages: The transcript, the oldest first. Long messages are cut for the model: the user's at 4,000
                characters, others at 600; only the last 80 messages are shown.
            existing: What is known and may have changed, the most relevant first; the first 20 are shown.
            deadline: Seconds from now until the answer is of no use. One that cannot be read is repaired once; the
                client's own retries are off.
            zone: The user's time zone: days are shown, and dates computed, in it.

        Returns:
            What was found; nothing, without a call, when the user said nothing.

        Raises:
            ModelUnavailable: The model cannot be reached or is overloaded; says whether and when to try again.
            ModelRejected: The model or its service refuses this request; trying again is of no use.
            InvalidOutput: Nothing in the answer, or in its repair, can be read.
            DeadlineExceeded: The deadline passed.
        """
