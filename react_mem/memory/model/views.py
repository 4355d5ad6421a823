"""Views of memory for its owner: the one form of a memory, a conversation or a profile for pages, clients and tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from react_mem.memory.model.interface import MemoryDoubt, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import FACT, about_of, kind_of, origin_of, title_of
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import with_zone

SHOWN_CHARS = 4_000  # characters of a memory in a list; a single memory is shown whole
_TITLE_CHARS = 200


def fingerprint(value: Mapping[str, Any]) -> str:
    """Return a hash of a record's content, which changes with every change of it.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    held = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(held.encode()).hexdigest()[:20]


class MemoryItem(BaseModel):
    """A memory, as a list shows it."""

    id: str = Field(description="Unique for its owner.")
    scope: MemoryScope
    kind: str = Field(description="`fact`, `message`, `summary`, `episode`, `skill`, ...")
    text: str = Field(description=f"What it says; in a list its first {SHOWN_CHARS:,} characters.")
    title: str = Field(description="What says in short what it is.")
    about: str = Field("", description="Whom or what a fact is about, by name; empty for the user.")
    created_at: datetime = Field(description="When it was said, or first believed.")
    updated_at: datetime | None = Field(None, description="When it was last written.")
    session_id: str = Field("", description="The conversation that it came from.")
    agent: str = Field("", description="The agent that wrote it.")
    origin: Origin = Field(description="Who vouches for it.")
    current: bool = Field(description="True if believed, or a message, unless a search finds all it says changed.")
    since: datetime | None = Field(None, description="Since when it holds, as far as that is known.")
    until: datetime | None = Field(None, description="Until when, where it is over or says so.")
    in_doubt: bool = Field(False, description="Whether something speaks against it.")
    changed: str = Field("", description="Of a message that was found, what has changed since; empty for nothing.")
    importance: float = Field(0.5, description="From 0 to 1.")
    truncated: bool = Field(False, description="Whether the text goes on: see the memory itself.")
    revision: str = Field(description="Changes with every change of the record; its ETag.")

    @classmethod
    def of(
        cls,
        scope: str,
        id_: str,
        value: Mapping[str, Any],
        at: datetime,
        *,
        updated_at: datetime | None = None,
        most: int | None = SHOWN_CHARS,
    ) -> Self:
        """Return the view of a record at a time, when facts that are over are not current, with `most` of its text."""
        text, title = str(value.get("text") or ""), title_of(value)
        title = title if isinstance(title, str) else json.dumps(title, ensure_ascii=False)
        until = _time(value.get("valid_to")) or _time(value.get("retired_at"))
        current = value.get("current") is not False and not (FACT.matches(value) and until is not None and until < at)
        return cls(
            id=id_,
            scope=MemoryScope(scope),
            kind=str(value.get("kind") or scope),
            text=text if most is None else text[:most],
            title=" ".join(title[: 2 * _TITLE_CHARS].split())[:_TITLE_CHARS],
            about=about_of(value),
            created_at=_time(value.get("created_at")) or updated_at or at,
            updated_at=updated_at,
            session_id=str(value.get("session_id") or ""),
            agent=str(value.get("agent_id") or ""),
            origin=origin_of(value) if kind_of(value).name or "origin" in value else Origin.IMPORT,
            current=current,
            since=_time(value.get("valid_from")) or _time(value.get("said_at")) or _time(value.get("created_at")),
            until=until,
            in_doubt=current and bool(value.get("doubts")) and FACT.matches(value),
            importance=float(value.get("importance", 0.5)),
            truncated=most is not None and len(text) > most,
            revision=fingerprint(value),
        )

    @classmethod
    def found(cls, item: MemoryResultItem, at: datetime) -> Self:
        """Return the view of a search result: a message is not current if all that it says has changed since."""
        view = cls.of(item.scope, item.id, item.payload, at)
        changes = [one for one in item.doubts if one.of == item.id]
        over = next((one.since for one in changes if not one.part), None)
        state = {"current": False, "until": _time(over)} if over else {"in_doubt": bool(changes) or view.in_doubt}
        return view.model_copy(update={**state, "changed": "; ".join(one.change for one in changes)})


class ScoredMemory(MemoryItem):
    """A memory that a search found."""

    score: float = Field(0.0, ge=0, le=1, description="How near it is to the query: 0.5 is unrelated, 1 the same.")


class MemoryPage(BaseModel):
    """A page of memories, the latest first."""

    items: list[MemoryItem]
    next_cursor: str | None = Field(description="What the next page is asked for with; null on the last.")
    total: int = Field(
        description="How many there are on all pages. Facts that a date of their own ends are counted by whether they "
        "have been ended; where memory is encrypted, who vouches for a memory is not counted by."
    )
    revision: str = Field(description="Changes with every write of the owner's memory.")
    topics: list[str] = Field([], description="Topics of all memories, where asked for: those with the most first.")


class MemoryVersion(BaseModel):
    """A time in which something was believed, and how it was put."""

    text: str
    since: datetime | None = None
    until: datetime | None = Field(None, description="Null for what is believed now.")
    why: Literal["believed", "replaced", "ended", "over", "reworded", "set aside"] = Field(
        description="`believed` now; `replaced` by what came after it; `ended` by words of the user's; `over` by its "
        "own date; `reworded`: the same in other words; `set aside` before it was said again."
    )
    id: str = Field("", description="The memory that says it.")


class MemorySource(BaseModel):
    """A message that a memory comes from."""

    id: str = Field(description="The record of the message; of what was told outside of a conversation its own name.")
    session_id: str
    turn: int | None = Field(None, description="Its place in the conversation.")
    said_at: datetime | None = None
    role: str
    text: str
    quote: str = Field("", description="The words of it that say this.")


class MemoryLink(BaseModel):
    """A memory that another one is linked with."""

    relation: Literal["support", "summarization", "milestone", "dependency", "timeline", "semantic"] = Field(
        description="Why they are linked."
    )
    direction: Literal["out", "in", "both"] = Field(description="Whether the link leads to it or comes from it.")
    memory: MemoryItem


class MemoryUse(BaseModel):
    """An answer in whose prompt a memory stood."""

    session_id: str
    message_id: str = Field(description="The record of the answer.")
    at: datetime


class MemoryDetail(BaseModel):
    """A memory with all that explains it."""

    memory: MemoryItem
    history: list[MemoryVersion] = Field(description="What was believed in its place before, the oldest first.")
    provenance: list[MemorySource] = Field(description="The messages that say it, the oldest first.")
    derived: list[MemoryItem] = Field(description="What was made of it.")
    links: list[MemoryLink] = Field(description="What else it is linked with, the most strongly bound first.")
    doubts: list[MemoryDoubt] = Field(description="What speaks against it.")
    used: list[MemoryUse] = Field(description="Answers in whose prompt it stood, among the latest; the latest first.")


class HeldConversation(BaseModel):
    """A conversation of which memory has something."""

    id: str = Field(description="Its thread.")
    agent: str
    messages: int = Field(description="How many messages memory has of it.")
    first: datetime = Field(description="When the first of them was said.")
    last: datetime = Field(description="When something was last said in it.")
    about: str = Field(description="What the user said first.")
    summary: str = Field(description="What it came to, as last summed up; empty where nobody has.")


class MemoryUsage(BaseModel):
    """Figures on what memory holds of a user."""

    kinds: dict[str, int] = Field(description="How many records there are, by kind.")
    texts: int = Field(description="How many texts are indexed by meaning; 0 where the store does not tell.")
    bytes: int = Field(description="What the records take, without vectors and indexes.")
    waiting: int = Field(description="Turns from which nothing has been drawn yet.")
    parked: int = Field(description="Those of them that are not tried any more.")


class QueueHealth(BaseModel):
    """State of the turns of all users that wait."""

    waiting: int
    failed: int = Field(description="Those that were tried in vain.")
    parked: int = Field(description="Those that are not tried any more.")
    oldest: datetime | None = Field(description="Since when the first one waits.")


class FormerValue(BaseModel, from_attributes=True):
    """Former value of a field of the profile."""

    value: str
    since: datetime = Field(validation_alias="updated_at")
    origin: Origin


class ShownField(FormerValue):
    """A field of the profile."""

    name: str
    provenance: list[MemorySource] = Field(description="The messages that say it.")
    previous: list[FormerValue] = Field(description="What it held before, the oldest first.")


class OwnersProfile(BaseModel):
    """The profile of a user."""

    fields: list[ShownField]


class WaitingTurn(BaseModel, from_attributes=True):
    """A turn from which nothing has been drawn yet."""

    id: str
    session_id: str
    agent: str = Field(validation_alias="agent_id")
    since: datetime = Field(validation_alias="created_at", description="When it was said.")
    text: str = Field(description="The beginning of what the user said.")
    attempts: int
    parked: bool = Field(validation_alias="is_parked", description="Whether it is not tried any more.")
    retry_at: datetime | None = Field(description="When it is tried next; null for at once.")
    why: str = Field(
        validation_alias="last_error", description="Why it waits: the last error; empty where nobody has tried yet."
    )


class WaitingTurns(BaseModel):
    """The turns that wait, the oldest first."""

    items: list[WaitingTurn]


class ShownSkill(BaseModel, from_attributes=True):
    """A skill that agents have learnt or been given."""

    id: str
    title: str = Field(validation_alias="use_when", description="When it is used.")
    text: str
    task_type: str
    uses: int = Field(validation_alias="trials")
    successes: int
    state: str = Field(validation_alias="status", description="`probation`, `active` or `archived`.")


class SkillList(BaseModel):
    """The skills, those that are used most first."""

    items: list[ShownSkill]


class ShownNode(BaseModel):
    """A memory in the graph."""

    id: str
    kind: str
    text: str
    current: bool


class ShownLink(BaseModel):
    """A link between two memories of the graph."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    relation: str


class ShownGraph(BaseModel):
    """Memories with the links among them: of many, the newest."""

    nodes: list[ShownNode] = Field(description="The oldest first.")
    links: list[ShownLink]
    left_out: int = Field(description="How many older memories there are beside these.")
    cut: str = Field(description="What of the whole is shown, in words; empty where it is all.")


class ConversationPage(BaseModel):
    """A page of conversations, the latest first."""

    items: list[HeldConversation]
    next_cursor: str | None = Field(description="What the next page is asked for with; null on the last.")
    total: int


class SummaryTree(BaseModel):
    """A summary of a part of a conversation, and those that it was made of."""

    id: str
    level: str = Field(description="`1` of messages, `2` of summaries of level 1, ..., `master` of all.")
    text: str
    first_turn: int | None = None
    last_turn: int | None = None
    children: list[SummaryTree] = Field(default_factory=list)


class ShownMessage(BaseModel):
    """A message of a conversation."""

    id: str = Field(description="Its record.")
    turn: int
    role: str
    speaker: str
    text: str
    said_at: datetime = Field(validation_alias="created_at")
    used: list[str] = Field(description="Of an answer, the memories that stood in its prompt.")
    feedback: dict[str, int] = Field(description="Of an answer, what the user thinks of it, by key.")


class MessagePage(BaseModel):
    """A page of messages, the oldest first."""

    items: list[ShownMessage]
    next_cursor: str | None = Field(description="What the next page is asked for with; null on the last.")
    total: int


class ConversationDetail(BaseModel):
    """A conversation with its summaries and a page of its messages."""

    conversation: HeldConversation
    summaries: list[SummaryTree] = Field(description="Those that no other one sums up, the oldest first.")
    messages: MessagePage


class AnswerSources(BaseModel):
    """An answer, and what stood in its prompt."""

    answer: ShownMessage
    question: ShownMessage | None = None
    used: list[MemoryItem] = Field(description="The memories that stood in its prompt, the most relevant first.")
    gone: int = Field(description="How many of them are not there any more.")


class HiddenMemory(BaseModel, extra="forbid", frozen=True):
    """Something that a conversation seems to ask to forget: hidden, and not erased yet."""

    id: str = Field(description="The id of the wish, for `undo` and `erase`.")
    texts: list[str] = Field(description="What is hidden: the facts.")
    hidden_at: datetime = Field(description="Since when.")
    erase_at: datetime = Field(description="When it is erased for good.")


class UndoneWrite(BaseModel):
    """Result of an undo: the part of memory that had been drawn from the user's last words."""

    texts: list[str] = Field(default_factory=list, description="Texts that are no longer believed.")
    restored: list[str] = Field(default_factory=list, description="Facts that the write had ended, believed again.")


def _time(told: Any) -> datetime | None:
    if not told:
        return None
    try:
        return with_zone(datetime.fromisoformat(str(told)))
    except ValueError:
        return None
