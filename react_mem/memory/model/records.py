"""Memory records as stored, frozen where possible.

Every record has a deterministic id (uuid5 over its identifying parts), so that a retry or a second worker cannot write
it twice. `text` is indexed for search; everything else travels with it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, Field, model_validator

from react_mem.memory.language.folding import normalise
from react_mem.memory.language.secrets import masked_in
from react_mem.memory.model.origins import Origin, lowest

_ID_SPACE = uuid.UUID("6f1f3c0a-5d0e-5a57-9f0c-6d1b6f9f7b11")


def record_id(*parts: str) -> str:
    """Return the id of the record that these parts identify, the same on every machine.

    >>> record_id("fact", "user", "likes", "tea") == record_id("fact", "user", "likes", "tea")
    True
    >>> record_id("a lone surrogate \\ud800") == record_id("a lone surrogate ?")
    True
    """
    # a lone surrogate has no bytes
    name = "\x1f".join(parts).encode("utf-8", "replace").decode()
    return str(uuid.uuid5(_ID_SPACE, name))


def now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)


def with_zone(at: datetime) -> datetime:
    """Return a time with a zone, UTC where it has none."""
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def local(at: datetime, zone: tzinfo) -> datetime:
    """Return a time, in UTC where it has no zone, as the clocks of a zone show it."""
    try:
        return with_zone(at).astimezone(zone)
    except OverflowError:  # the first or the last day of the calendar
        return with_zone(at)


MAX_SPEAKER_CHARS = 100  # characters of a speaker's name: each message has it, and each question is compared with it


def one_name(name: str) -> str:
    """Return a name on one line, cut to its limit."""
    return " ".join(name[: 10 * MAX_SPEAKER_CHARS].split())[:MAX_SPEAKER_CHARS].strip()


SpeakerName = Annotated[str, AfterValidator(one_name)]
"""Name of a speaker, on one line; a longer one is cut, since the message is stored whatever its speaker is called."""

MAX_META_BYTES = 4_000  # bytes of a caller's notes on a record: ids and labels, not content


def _small(meta: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(meta, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    except (TypeError, ValueError, RecursionError):
        raise ValueError("is not JSON; give texts, numbers, lists and objects") from None
    if size > MAX_META_BYTES:
        raise ValueError(f"takes {size} bytes of JSON, of {MAX_META_BYTES} at most; put content into the data")
    return meta


Meta = Annotated[dict[str, Any], AfterValidator(_small)]
"""Notes of a caller on a write, as JSON, such as the id of a trace."""

_WRITTEN_IN = ("flow_id", "node_id", "meta")


def written_in(written: object) -> dict[str, Any]:
    """Return the non-empty flow, node and notes of a record or a write event."""
    return {name: value for name in _WRITTEN_IN if (value := getattr(written, name))}


class Level(StrEnum):
    """Span of an episode."""

    TASK = "task"
    MILESTONE = "milestone"
    CONVERSATION = "conversation"


# Discretion: secrets are kept out of records unless a policy keeps them.

SecretPolicy = Literal["mask", "keep", "refuse"]

REFUSED = "text: holds a secret ({}), and the policy refuses these (`secrets: refuse`); leave it out"


class Votes(BaseModel, extra="forbid", frozen=True):
    """Numbers of turns found good and bad that used a record, and its importance before any feedback."""

    up: int = Field(0, ge=0)
    down: int = Field(0, ge=0)
    base: float = Field(0.5, ge=0, le=1)


class Record(BaseModel, extra="forbid", frozen=True):
    """Base of all records.

    Args:
        id: Deterministic id.
        kind: The record's type.
        text: The indexed text, in the user's own language: long texts in pieces (`memory.index.entries`).
        created_at: When it was first believed.
        session_id: The conversation it came from.
        agent_id: The agent that wrote it.
        source_ids: The messages or records it came from.
        origin: Its provenance: of a derived record the least trusted of its sources.
        importance: 0 to 1.
        alike: Similar memories, with the similarity; of a pair one of the two has it.
        flow_id: The flow that wrote it, if any.
        node_id: The node of it.
        meta: The application's notes on it. Never indexed, nor in a prompt.
        votes: Feedback on the turns that used it, which moves its importance; None where there is none.
    """

    id: str
    kind: str
    text: str
    created_at: datetime = Field(default_factory=now)
    session_id: str
    agent_id: str
    source_ids: tuple[str, ...] = ()
    origin: Origin = Origin.USER
    importance: float = Field(0.5, ge=0, le=1)
    alike: dict[str, float] = Field(default_factory=dict)
    flow_id: str = ""
    node_id: str = ""
    meta: Meta = Field(default_factory=dict)
    votes: Votes | None = None

    RARE: ClassVar[tuple[str, ...]] = ("alike", *_WRITTEN_IN, "votes")
    """Fields that are empty in most records: an empty one is not stored."""

    def to_value(self) -> dict[str, Any]:
        """Return the record as the store's JSON object."""
        value = self.model_dump(mode="json")
        for name in self.RARE:
            if not value[name]:
                del value[name]
        return value

    def discreet(self, policy: SecretPolicy = "mask", known: Collection[str] = ()) -> Self:
        """Return the record with a mark for each secret, and for `known` ones; a ValueError if secrets are refused."""
        value = self.to_value()
        after = value if policy == "keep" else masked_in(value, known)
        if after == value:
            return self
        if policy == "refuse":
            raise ValueError(REFUSED.format(self.kind))
        return self.from_value(after)

    @classmethod
    def from_value(cls, value: dict[str, Any]) -> Self:
        """Read a record back from the store."""
        return cls.model_validate(value)

    @classmethod
    def kind_name(cls) -> str:
        """Return the `kind` of these records; empty of no kind in particular."""
        name = cls.model_fields["kind"].default
        return name if isinstance(name, str) else ""

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record, as JSON, with all its content marked as imported, the least trusted origin.

        >>> Record.as_imported({"kind": "fact", "text": "I live in Hue", "origin": "user"})["origin"]
        'import'
        """
        return imported(value)


def imported(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record, or a part of one, marked as imported."""
    return {**part, "origin": Origin.IMPORT.value}


Role = Literal["user", "assistant", "system", "tool", "agent", "observer"]


class CalledTool(BaseModel, extra="forbid", frozen=True):
    """Tool call that led to an answer: its arguments as JSON, cut where they are long, and its id in the thread."""

    name: str
    arguments: str = ""
    id: str = ""

    @model_validator(mode="before")
    @classmethod
    def _as_called(cls, data: Any) -> Any:
        """Accept LangChain's form of a call too: `args` for the arguments, and None for an id."""
        if not isinstance(data, dict):
            return data
        called = {name: part for name, part in data.items() if (name, part) not in _OF_A_CALL}
        if "args" in called and "arguments" not in called:
            called["arguments"] = called.pop("args")
        if isinstance(called.get("arguments"), dict):
            called["arguments"] = json.dumps(called["arguments"], ensure_ascii=False, default=str)
        return called


_OF_A_CALL = (("type", "tool_call"), ("id", None))  # meaningless fields of a call in LangChain's form


class Message(Record):
    """One message of a conversation; `text` is cut for the index, `content` is whole.

    Args:
        content: The words, or blocks in their order: {"type": "text", "text"}, and attachments as `image`, `audio`,
            `video` or `file`, each with its `ref` (see `memory.store.attachments`) or `url`, and with `mime`, `bytes`
            and `caption` where they are known; `omitted` says that its data is not stored.
        keywords: Words to find it by that are not in its text: the captions of its attachments, or those that an
            earlier version gave it. For the index only: never shown to the model or the user as something said.
        after: The record of the message before it in the thread: the branches of a conversation follow from it
            (`memory.merging.forks`). Empty where it is not known.
        tool_calls: Of an answer, the calls that led to it. For readers of the record: never indexed, nor in a prompt.
        thinking: Of an answer, the agent's thinking before it. For that agent alone, see `said_to`, and for the
            owner: never indexed, nor in a prompt.
        standing: Of the user's own words, whether they tell the assistant what to do from now on, or what they would
            rather have: `memory.language.standing` finds the sentence and its subject.
        used: Of an answer, the memories in its prompt, to which feedback on it goes.
        run_id: Of an answer, the run that gave it.
        feedback: Of an answer, the user's verdicts, by key: good, bad, or withdrawn.
        elsewhere: Whether a client reported the message of a conversation held elsewhere: it has no thread here, though
            one may have the same name.
    """

    RARE: ClassVar[tuple[str, ...]] = (
        *Record.RARE,
        "tool_calls",
        "thinking",
        "standing",
        "used",
        "run_id",
        "feedback",
        "elsewhere",
    )

    kind: Literal["message"] = "message"
    role: Role
    speaker: SpeakerName = Field("", description="The name of whoever said it, where they have one.")
    content: str | list[dict[str, Any]]
    turn: int = Field(ge=0, description="Its place in the conversation, from 0.")
    keywords: str = ""
    after: str = ""
    tool_calls: tuple[CalledTool, ...] = ()
    thinking: str = ""
    standing: Literal["", "instruction", "preference"] = ""
    used: tuple[str, ...] = ()
    run_id: str = ""
    feedback: dict[str, Literal[-1, 0, 1]] = Field(default_factory=dict)
    elsewhere: bool = False

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message as imported: it instructs nobody."""
        return super().as_imported({name: part for name, part in value.items() if name != "standing"})

    @model_validator(mode="before")
    @classmethod
    def _vouched(cls, data: Any) -> Any:
        """Set the origin of a message from its role, where it is not given."""
        if not isinstance(data, dict) or "origin" in data:
            return data
        return {**data, "origin": origin_of_role(data.get("role"))}


def said_to(value: dict[str, Any], agent_id: str) -> dict[str, Any]:
    """Return a record, given as JSON, as an agent may read it: without another agent's thinking.

    >>> said_to({"agent_id": "a", "thinking": "Hm."}, "b"), said_to({"agent_id": "a", "thinking": "Hm."}, "a")
    ({'agent_id': 'a'}, {'agent_id': 'a', 'thinking': 'Hm.'})
    """
    if "thinking" not in value or value.get("agent_id") == agent_id:
        return value
    return {name: part for name, part in value.items() if name != "thinking"}


_ORIGINS = {"user": Origin.USER, "tool": Origin.TOOL, "system": Origin.IMPORT}


def origin_of_role(role: Any) -> Origin:
    """Return the provenance of a role's messages."""
    return _ORIGINS.get(str(role), Origin.ASSISTANT)


_TRIPLE = frozenset({"subject", "predicate", "object", "slot", "object_key", "affirmed", "exclusive"})
"""Fields of facts before their text was the user's own words."""

SummaryLevel = Literal["1", "2", "3", "4", "5", "6", "7", "8", "9", "master"]


class Summary(Record):
    """Summary of a stretch of conversation: an invocation, or a part that its chain folded.

    A summary in a chain has messages or the summaries of the level below as its sources.

    Args:
        episodes: The episodes that come from the summarised messages.
        task_preferences: The facts from them that state a preference of the user, as believed when it was made.
    """

    RARE: ClassVar[tuple[str, ...]] = (*Record.RARE, "episodes", "task_preferences")

    kind: Literal["summary"] = "summary"
    origin: Origin = Origin.ASSISTANT
    level: SummaryLevel = "1"
    chain: bool = Field(False, description="Whether it stands in its conversation's chain; else it is an invocation's.")
    made_by: str = Field(
        "", description="The model that made it; `extractive` where sentences were chosen without one."
    )
    first_turn: int | None = Field(None, ge=0, description="The place of the first message that it covers.")
    last_turn: int | None = Field(None, ge=0, description="The place of the last one.")
    covers: int = Field(0, ge=0, description="How many messages it stands for; 0 where nobody counted.")
    doubts: tuple[str, ...] = Field((), description="Names and numbers in it that its sources do not have.")
    episodes: tuple[str, ...] = ()
    task_preferences: tuple[str, ...] = ()


class Wording(BaseModel, extra="ignore", frozen=True):
    """Earlier or other wording of a fact, the time when it was last said so, and the messages that say it so."""

    text: str
    said_at: datetime
    source_ids: tuple[str, ...]


class Ending(BaseModel, extra="forbid", frozen=True):
    """End of a fact.

    Args:
        valid_to: Since when it is no longer true.
        retired_at: Since when it is no longer believed; None where it was over from the beginning.
        superseded_by: The fact that took its place.
        ended_by: The messages that say so, where no other fact took its place.
        end_said_at: When they were said, where they name an earlier time.
    """

    valid_to: datetime | None = None
    retired_at: datetime | None = None
    superseded_by: str | None = None
    ended_by: tuple[str, ...] = ()
    end_said_at: datetime | None = None

    @property
    def said_at(self) -> datetime | None:
        """Time when the end was said: a later message may deny it."""
        return self.end_said_at or self.valid_to


class Lapse(BaseModel, extra="forbid", frozen=True):
    """Period in which a fact was not believed before it was believed again."""

    since: datetime
    until: datetime


def fact_id(about: str, text: str) -> str:
    """Return the id of a fact: the same words about the same subject are one fact.

    >>> fact_id("user", "I live in Hue.") == fact_id("User", " i live in hue")
    True
    """
    return record_id("fact", normalise(about) or "user", normalise(text))


class Fact(Record):
    """Statement with two clocks: true in the world (`valid_*`) and believed by us (`created_at`, `retired_at`).

    Args:
        about: Its subject: `user`, or a name.
        text: The user's own words; where they say it only together with an earlier message, a sentence that both
            support.
        quote: The user's exact words, where `text` is not them.
        reading: A model's wording of it. For the index only: it may say more than the user did.
        keywords: Words to find it by that are not in its text, such as the kind of a thing. For the index only.
        event_at: When the event it tells of happened, or is to happen.
        needs: Facts that it depends on: it holds only as long as they do.
        needed_by: Facts that depend on it.
        doubts: Facts that cast doubt on it: a possible contradiction, or a needed fact that has ended.
        ended_by: The messages that ended it, where no other fact took its place.
        end_said_at: When these were said, where it ended before that.
        withdrawn: Messages that said it on an abandoned branch of the conversation.
        suspended: Its ends that do not count now: only such a branch says so, it has been said again since, or it has
            been withdrawn itself.
        lapses: Periods in which it was not believed before it was said again: answers as of a time depend on them.
        speaker: The name of who said it, where that is another person than the user.
        wordings: Its other wordings, the oldest first.
        verbatim: Whether it is verbatim, because no model has read it.
        unread: Whether it is verbatim and still to be offered to an extraction.
        concluded: Whether it is verbatim and was reviewed when its conversation was concluded: it stays as it was said.
    """

    RARE: ClassVar[tuple[str, ...]] = (*Record.RARE, "concluded", "keywords", "speaker")

    kind: Literal["fact"] = "fact"
    about: str = "user"
    speaker: SpeakerName = ""
    quote: str = ""
    reading: str = ""
    keywords: str = ""
    event_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    superseded_by: str | None = None
    needs: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    ended_by: tuple[str, ...] = ()
    end_said_at: datetime | None = None
    withdrawn: tuple[str, ...] = ()
    suspended: tuple[Ending, ...] = ()
    lapses: tuple[Lapse, ...] = ()
    wordings: tuple[Wording, ...] = ()
    support: int = Field(1, ge=1, description="How many messages said it.")
    said_at: datetime = Field(default_factory=now, description="When it was last said.")
    verbatim: bool = False
    unread: bool = False
    concluded: bool = False
    current: bool = Field(True, description="False once it is over; stored so that a search can filter on it.")

    @staticmethod
    def identity(about: str, text: str) -> str:
        """Return the id of the fact with a text about a subject."""
        return fact_id(about, text)

    @model_validator(mode="before")
    @classmethod
    def _from_triple(cls, data: Any) -> Any:
        """Read a fact stored as subject, predicate and object: its text says all three."""
        if not isinstance(data, dict) or not _TRIPLE & data.keys():
            return data
        about = str(data.get("subject") or "user")
        return {"about": about, **{name: value for name, value in data.items() if name not in _TRIPLE}}

    @property
    def is_withdrawn(self) -> bool:
        """True if only abandoned branches say it."""
        return bool(self.withdrawn) and not self.source_ids

    @property
    def ending(self) -> Ending:
        """End of a fact that has ended."""
        return Ending(**{name: getattr(self, name) for name in Ending.model_fields})


BELIEVED: dict[str, Any] = {"current": True, **Ending().model_dump()}
"""Fields that make a fact believed again, in place of its end."""


class Episode(Record):
    """Episode: an attempt and its outcome."""

    kind: Literal["episode"] = "episode"
    origin: Origin = Origin.ASSISTANT
    level: Level = Level.TASK
    goal: str
    situation: str = ""
    thoughts: str = Field("", description="What the agent thought; only code that records an episode gives it.")
    steps: tuple[str, ...] = ()
    outcome: str = ""
    lessons: tuple[str, ...] = ()
    milestone_title: str = Field("", description="Of a milestone, whose text is then a snapshot of a few sentences.")
    linked_steps: tuple[str, ...] = Field((), description="The records of the task's steps that were taken in it.")


class Document(Record):
    """A text that somebody provided, found beside facts.

    A long text is found by each of its pieces, up to the limit of `memory.index.entries`.
    """

    kind: Literal["document"] = "document"
    origin: Origin = Origin.IMPORT
    title: str = ""
    uri: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    current: Literal[True] = Field(True, description="As with a fact, so that one filter finds both.")


AnyRecord = TypeVar("AnyRecord", bound=Record)


def with_origin(record: AnyRecord, origins: Iterable[Origin]) -> AnyRecord:
    """Return a record trusted no more than these origins of its sources, nor more than before."""
    origin = lowest([record.origin, *origins])
    return record if origin is record.origin else record.model_copy(update={"origin": origin})
