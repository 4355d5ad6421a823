"""Contract of the memory layer for graphs, tools and services: `Memory` and the models of its calls.

Only the memory layer touches the store.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast, runtime_checkable

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from react_mem.memory.model.records import Meta, with_zone

if TYPE_CHECKING:
    from react_mem.memory.model.operations import Receipt


class Arm(StrEnum):
    """Search method (arm). Each can be switched off, and every result shows the score from each."""

    VECTOR = "vector"
    LEXICAL = "lexical"
    WINDOW = "window"
    SPEAKER = "speaker"
    TIME = "time"
    STANDING = "standing"
    HUB = "hub"


ALL_ARMS = frozenset(Arm)


MAX_OWNER_BYTES = 900
"""Bytes of an owner's label in the database, which stands twice in the key of a row, beside the key of the record: an
index takes 2,704. A letter, a digit, `-`, `_` and `~` count one; everything else three for each byte of UTF-8.
"""

OwnerId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_OWNER_BYTES)]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=512)]


def named_session(session_id: str) -> str:
    """Return the conversation of a call; ValueError if it is empty: records of no conversation are not one together."""
    if not isinstance(session_id, str) or not session_id.strip():
        raise ValueError(f"session_id must name a conversation, got {session_id!r:.80}")
    return session_id


class MemoryScope(StrEnum):
    """Scope of memory: the kind of thing that is remembered."""

    DIALOG = "dialog"
    STATE = "state"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    PROFILE = "profile"
    EXPERIENCE = "experience"
    FILES = "files"


class MemoryQuery(BaseModel, extra="forbid"):
    """One read, over any number of scopes: one embedding call and one round trip to the database.

    Args:
        user_id: The owner. Every result belongs to this owner.
        session_id: The conversation (LangGraph's thread id).
        agent_id: The agent that asks.
        flow_id: The flow it asks in, if any.
        node_id: The node that asks, if any.
        scopes: The scopes to read; a scope that the policy turns off yields nothing.
        query: What to look for; without it a scope answers with its latest items, and dialog with the last turns of
            this conversation and its summary.
        task_type: Narrows procedural and experience memory.
        extra: Scope-specific hints: see `MemoryFacade.read`.
        as_of: The time as of which to answer: with what was believed then, and nothing that came later; None for now.
            Without a zone it is in UTC.
    """

    user_id: OwnerId
    session_id: _Name
    agent_id: _Name
    flow_id: str | None = None
    node_id: str | None = None
    scopes: list[MemoryScope]
    query: str | None = None
    task_type: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    as_of: Annotated[datetime, AfterValidator(with_zone)] | None = None

    @property
    def seen(self) -> tuple[str, ...]:
        """Ids of records that the caller has already, `extra["seen"]`.

        Raises:
            ValueError: If it is no list of ids.
        """
        told = self.extra.get("seen") or ()
        if not isinstance(told, list | tuple | set | frozenset) or not all(isinstance(one, str) for one in told):
            raise ValueError(f"extra['seen'] must be a list of ids, got {told!r:.80}")
        return tuple(told)

    @property
    def asked_at(self) -> datetime:
        """Time of the question, `extra["now"]` or else the present.

        Raises:
            ValueError: If `extra["now"]` is not a time.
        """
        told = self.extra.get("now")
        try:
            return datetime.fromisoformat(str(told)) if told else datetime.now().astimezone()
        except ValueError:
            raise ValueError(f"extra['now'] is not an ISO 8601 time: {told!r:.80}") from None


class Fragment(BaseModel):
    """Text of a memory: a question and its answer are two.

    Args:
        id: The record of the text.
        role: The speaker's role; empty for texts nobody said, such as a summary.
        speaker: The speaker's name; empty for none.
        content: The text: of a long one, the matching passage.
    """

    id: str
    role: str = ""
    speaker: str = ""
    content: str


class MemoryDoubt(BaseModel):
    """Doubt about a memory, or a change since a message or a summary."""

    id: str = Field(description="The memory that speaks against it.")
    text: str = Field(
        description="Text of the contradicting memory; of a change, the text that holds now: empty where it is over."
    )
    since: str = Field(description="The day.")
    of: str = Field("", description="Of a change, the message or summary that states what has changed.")
    part: str = Field("", description="Of a change, the words that no longer hold; empty for all of a message.")

    @property
    def change(self) -> str:
        """The change in words."""
        part, now = (f"{mark}{text}" if text else "" for mark, text in ((": ", self.part), ("; now: ", self.text)))
        return f"no longer so since {self.since}{part}{now}"


class MemoryResultItem(BaseModel):
    """Search result: the texts of a memory with their speakers, its sources and its relevance.

    Args:
        scope: Its scope.
        id: The record's id, unique for its owner and scope; empty where there is no record.
        payload: The record, as JSON.
        score: Relevance to the query, higher is nearer; None where nothing was asked.
        source: Its kind (`fact`, `message`, `summary`, `episode`, ...).
        similarity: How similar its text is to the query, from 0 to 1: 0.5 is unrelated, 0.7 what nine in ten answers to
            a question reach, whatever the embedder. None where it was not compared.
        arms: The contribution of each arm to the score.
        fragments: Its texts, in order: a message brings the answer, or the question, that belongs to it.
        doubts: Contradictions of a fact that is in doubt; of a message, summary or chain what has changed since.
        linked: Records linked with a fact, where `recall.links` asks for them: its episode, a step of a task.
    """

    scope: MemoryScope
    id: str = ""
    payload: dict[str, Any]
    score: float | None = None
    source: str = ""
    similarity: float | None = None
    arms: dict[Arm, float] = Field(default_factory=dict)
    fragments: tuple[Fragment, ...] = ()
    doubts: tuple[MemoryDoubt, ...] = ()
    linked: tuple[Fragment, ...] = ()

    @property
    def created_at(self) -> datetime | None:
        """Time when it was said, or first believed; None where its record has no date."""
        told = self.payload.get("created_at")
        return with_zone(datetime.fromisoformat(str(told))) if told else None

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Source messages or records."""
        return tuple(self.payload.get("source_ids") or ())


class MemoryResults(list[MemoryResultItem]):
    """Results of a read: a list, with notes on missing parts.

    Args:
        items: The results.
        missing: Parts that could not be read, with the cause: arms of the search, or `database` where the results are
            the last known ones.
        tip: The record of the last stored message of this conversation; empty where there is none.
        forgotten: The records of this conversation's forgotten messages, which the thread still has.
    """

    def __init__(
        self,
        items: Iterable[MemoryResultItem] = (),
        missing: Mapping[str, str] | None = None,
        tip: str = "",
        forgotten: Iterable[str] = (),
    ) -> None:
        super().__init__(items)
        self.missing: dict[str, str] = dict(missing or {})
        self.tip = tip
        self.forgotten = frozenset(forgotten)


class MemoryWriteEvent(BaseModel, extra="forbid"):
    """Write of one record.

    Args:
        agent_id: The agent that writes.
        flow_id: The flow it writes in, if any; stored with the record, like the next two.
        node_id: The node that writes, if any.
        scope: The scope.
        data: A record of the scope (see `memory.model.records`), or data from which one can be made.
        meta: The application's notes about it, such as the id of a trace: JSON of 4 kB at most.
    """

    user_id: OwnerId
    session_id: _Name
    agent_id: _Name
    flow_id: str | None = None
    node_id: str | None = None
    scope: MemoryScope
    data: dict[str, Any]
    meta: Meta = Field(default_factory=dict)


@runtime_checkable
class Memory(Protocol):
    """Interface of memory for graphs and tools."""

    async def read(self, query: MemoryQuery) -> MemoryResults:
        """Return the memories for the query, the most relevant first within a scope."""

    async def write(self, event: MemoryWriteEvent) -> None:
        """Remember one thing; idempotent."""

    async def delete_session(self, user_id: str, session_id: str) -> Receipt:
        """Forget one conversation of one owner and everything derived from it alone; return the receipt."""


IMemory = Memory
"""The same interface under the name in the authors' specification."""


# The path of a reranker in a policy: `package.module:attribute`.


def check_reranker(path: str) -> str:
    """Return the path of a reranker that can be imported, or an empty one; ValueError for another."""
    if path:
        reranker_at(path)
    return path


def reranker_at(path: str) -> object:
    """Return the object at a path `package.module:attribute`; ValueError if it is malformed, or nothing is there."""
    module, colon, attribute = path.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"the reranker {path!r} is not a path; write 'package.module:attribute'")
    try:
        return cast(object, pkgutil.resolve_name(path))
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"the reranker {path!r} cannot be imported: {error}") from error
