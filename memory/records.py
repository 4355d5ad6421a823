"""The memory objects: what is stored, frozen where possible.

Every record has a deterministic id (uuid5 over what makes it that record), so that a retry or a second worker
cannot write it twice. `text` is what search indexes; everything else travels with it.
"""

from __future__ import annotations

import re
import unicodedata
import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

MAX_INDEXED_CHARS = 2_000
"""What one vector can stand for: e5 reads 512 tokens, about 2,000 characters; the whole text is stored beside it."""

_ID_SPACE = uuid.UUID("6f1f3c0a-5d0e-5a57-9f0c-6d1b6f9f7b11")


def record_id(*parts: str) -> str:
    """Return the id of the record that these parts identify, the same on every machine.

    >>> record_id("fact", "user", "likes", "tea") == record_id("fact", "user", "likes", "tea")
    True
    """
    return str(uuid.uuid5(_ID_SPACE, "\x1f".join(parts)))


def normalise(text: str) -> str:
    """Fold what does not change meaning: Unicode form, case, white space, closing punctuation.

    Diacritics stay: in Vietnamese they carry meaning.

    >>> normalise("  Hà  Nội. ") == normalise("hà nội")
    True
    >>> normalise("ma") == normalise("má")
    False
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip(" .!?;,…。！？")


def now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)


class Level(StrEnum):
    """What an episode spans."""

    TASK = "task"
    MILESTONE = "milestone"
    CONVERSATION = "conversation"


class Record(BaseModel):
    """What every memory has.

    Args:
        id: Deterministic id.
        kind: The record's type.
        text: What search indexes, in the user's own language; at most `MAX_INDEXED_CHARS` characters of it count.
        created_at: When it was first believed.
        session_id: The conversation it came from.
        agent_id: The agent that wrote it.
        source_ids: The messages or records it came from.
        importance: 0 to 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    kind: str
    text: str
    created_at: datetime = Field(default_factory=now)
    session_id: str
    agent_id: str
    source_ids: tuple[str, ...] = ()
    importance: float = Field(0.5, ge=0, le=1)

    def to_value(self) -> dict[str, Any]:
        """Return the record as the JSON object that the store keeps."""
        return self.model_dump(mode="json")

    @classmethod
    def from_value(cls, value: dict[str, Any]) -> Self:
        """Read a record back from the store."""
        return cls.model_validate(value)


Role = Literal["user", "assistant", "system", "tool", "agent", "observer"]


class Message(Record):
    """One message of a conversation; `text` is cut for the index, `content` is whole."""

    kind: Literal["message"] = "message"
    role: Role
    content: str | list[dict[str, Any]]
    turn: int = Field(ge=0, description="Its place in the conversation, from 0.")


class Summary(Record):
    """What a stretch of conversation came to; level 1, 2, 3 or master."""

    kind: Literal["summary"] = "summary"
    level: Literal["1", "2", "3", "master"] = "1"


class Fact(Record):
    """A statement with two clocks: true in the world (`valid_*`) and believed by us (`created_at`, `retired_at`).

    A verbatim fact is a user's statement kept word for word, because no model has read it yet.
    """

    kind: Literal["fact"] = "fact"
    subject: str
    predicate: str
    object: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    superseded_by: str | None = None
    support: int = Field(1, ge=1, description="How many messages said it.")
    verbatim: bool = False
    current: bool = Field(True, description="False once retired; stored so that a search can filter on it.")

    @staticmethod
    def identity(subject: str, predicate: str, object_: str) -> str:
        """Return the id of the fact that says this, however it is spaced, cased or punctuated."""
        return record_id("fact", normalise(subject), normalise(predicate), normalise(object_))


class Episode(Record):
    """What was attempted and how it went."""

    kind: Literal["episode"] = "episode"
    level: Level = Level.TASK
    goal: str
    situation: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""
    lessons: tuple[str, ...] = ()


class ProfileField(BaseModel):
    """One field of a profile, with where and when it was learnt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: str
    source_ids: tuple[str, ...] = ()
    updated_at: datetime = Field(default_factory=now)


class Profile(Record):
    """What is known about one user, one document a user, merged by field."""

    kind: Literal["profile"] = "profile"
    fields: dict[str, ProfileField] = Field(default_factory=dict)


class PendingTurn(Record):
    """A turn whose messages are durable but from which nothing has been drawn yet."""

    kind: Literal["pending"] = "pending"
    attempts: int = 0
    last_error: str = ""
