"""Contract of extraction: transcript and known facts in, checked proposals out. An extractor never writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal, Protocol

from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Role, fact_id

Relation = Literal["new", "same", "changes", "ends", "corrects", "unsure", "forget"]
"""Relation of a statement to a known fact: independent of it; the same in other words; its new state; its end; it
never was so; it may contradict it; the user asks to forget it.
"""


@dataclass(frozen=True)
class TranscriptMessage:
    """Message of the transcript.

    A message of the `context` was read before, and only resolves references. The `origin` of an answer made of a tool's
    result or a page is no higher than theirs. `snapshot` is true if the switching engine asks for one of its turn.
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
    """Known fact that the transcript may change or end.

    `at` is when it was last said, `until` its end, past or future; `also` has other wordings, for comparing, not shown.
    """

    id: str
    text: str
    about: str = "user"
    at: datetime | None = None
    until: datetime | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """Change to the facts, checked against the transcript; its fields mean the same as a `Fact`'s.

    Args:
        text: The user's statement, in their own words; empty where they only end or forget something.
        about: Its subject: `user`, or a name.
        target_id: The fact it changes, ends, corrects, repeats, doubts or forgets; None for a new one.
        quote: The user's exact words, where `text` differs.
        reading: The model's wording, for the index.
        topic: Words to find it by that are not in its text, for the index.
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
        """Id of the fact it states."""
        return fact_id(self.about, self.text)


@dataclass(frozen=True)
class Unread:
    """User's words without a label of the extraction; they are stored verbatim."""

    text: str
    source_id: str


@dataclass(frozen=True)
class EpisodeDraft:
    """Attempt and its outcome. A milestone has a name, and a snapshot of a few sentences as its text.

    `situation` is the request that began it, in the user's words; `importance` is from 0 to 1.
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
    """Change of one field of the user's profile; the latest value wins, an empty one clears the field."""

    field: str
    value: str
    source_ids: tuple[str, ...]


@dataclass(frozen=True)
class Extraction:
    """Result of one extraction.

    Args:
        profile_changes: Checked changes, each field at most once.
        summary: The request, the work and its result; empty if the model gave no usable one.
        standing: The messages with a standing instruction of the user.
        rejected: Reasons of the checks that refused a part of the model's answer, in words that are safe to show.
        calls: Number of model calls.
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
    """Extractor of proposals from a transcript."""

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        """Ask the model for facts in the transcript, and check its answer against the transcript.

        There is no call if the user said nothing. Long messages are cut for the model: the user's at 4,000 characters,
        others at 600. Only the last 80 messages and the first 20 facts (the most relevant first) are shown. An
        unreadable answer is repaired once; the client's own retries are off. The deadline is in seconds from now.
        """
