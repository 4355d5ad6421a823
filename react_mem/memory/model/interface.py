"""The memory layer's contract: what every graph, tool and outside service speaks to.

Graphs and tools know `Memory` and the models of this module; nobody but the memory layer touches the store.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast, runtime_checkable

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from react_mem.memory.model.records import Meta, with_zone

if TYPE_CHECKING:
    from react_mem.memory.model.receipt import Receipt


# The arms of a search: the ways to find a memory.


class Arm(StrEnum):
    """A way to find a memory. Each can be switched off, and says in every result what it contributed."""

    VECTOR = "vector"
    LEXICAL = "lexical"
    WINDOW = "window"
    SPEAKER = "speaker"
    TIME = "time"
    STANDING = "standing"
    HUB = "hub"
    GRAPH = "graph"


ALL_ARMS = frozenset(Arm) - {Arm.GRAPH}
"""The arms that answer together, in one round trip. The graph asks after them (`memory.retrieval.graph_arm`), which
costs one or two more, and has to be named by a policy: without a model that draws facts and episodes it finds no more
(measured on LoCoMo's conversations and `benchmarks/stress`: no category higher, with links between messages alone)."""


OwnerId = Annotated[str, StringConstraints(min_length=1, max_length=512)]


def named_session(session_id: str) -> str:
    """Return the conversation that a call is about.

    Raises:
        ValueError: If none is named: what belongs to no conversation, such as a document, is not one of its own.
    """
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
    session_id: OwnerId
    agent_id: OwnerId
    flow_id: str | None = None
    node_id: str | None = None
    scopes: list[MemoryScope]
    query: str | None = None
    task_type: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    as_of: Annotated[datetime, AfterValidator(with_zone)] | None = None

    @property
    def seen(self) -> tuple[str, ...]:
        """The ids of records that the caller has already, `extra["seen"]`.

        Raises:
            ValueError: If that is no list of ids.
        """
        told = self.extra.get("seen") or ()
        if not isinstance(told, list | tuple | set | frozenset) or not all(isinstance(one, str) for one in told):
            raise ValueError(f"extra['seen'] must be a list of ids, got {told!r:.80}")
        return tuple(told)

    @property
    def asked_at(self) -> datetime:
        """The time of asking, `extra["now"]` or else the present.

        Raises:
            ValueError: If `extra["now"]` is not a time.
        """
        told = self.extra.get("now")
        try:
            return datetime.fromisoformat(str(told)) if told else datetime.now().astimezone()
        except ValueError:
            raise ValueError(f"extra['now'] is not an ISO 8601 time: {told!r:.80}") from None


class Fragment(BaseModel):
    """One text of a memory: of a question and its answer there are two.

    Args:
        id: The record it is of.
        role: Who said it; empty for what nobody said, such as a summary.
        content: What it says: of a long text, the part that matched.
    """

    id: str
    role: str = ""
    content: str


class Doubt(BaseModel):
    """Doubt about a fact.

    Args:
        id: The other fact.
        text: What it says.
        since: The day, as YYYY-MM-DD.
    """

    id: str
    text: str
    since: str


class SaidIn(BaseModel, frozen=True):
    """Place of a message that a memory comes from.

    Args:
        session_id: The conversation.
        turn: The message's place in it; None where nobody counted.
    """

    session_id: str
    turn: int | None = None


class MemoryResultItem(BaseModel):
    """One remembered thing: its texts with who said them, where they are from, and how near they are to the question.

    Args:
        scope: Where it came from.
        id: The record's id, unique for its owner and scope; empty of what is no record.
        payload: The record, as JSON.
        score: Relevance to the query, higher is nearer; None where nothing was asked.
        source: Where the memory came from (`fact`, `message`, `summary`, `episode`, ...).
        similarity: How similar its text is to the query, from 0 to 1: 0.5 is unrelated, 0.7 what nine in ten answers to
            a question reach, whatever the embedder. None where it was not compared.
        arms: What each way of searching contributed to the score.
        fragments: Its texts, in order: a message brings the answer, or the question, that belongs to it.
        doubts: What speaks against a fact that is in doubt.
        said_in: Where a fact of several messages was said, if summaries of summaries were found beside it.
        linked: What a fact is linked with, where `recall.links` asks for it: its episode, a step of a task.
    """

    scope: MemoryScope
    id: str = ""
    payload: dict[str, Any]
    score: float | None = None
    source: str = ""
    similarity: float | None = None
    arms: dict[Arm, float] = Field(default_factory=dict)
    fragments: tuple[Fragment, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    said_in: tuple[SaidIn, ...] = ()
    linked: tuple[Fragment, ...] = ()

    @property
    def created_at(self) -> datetime | None:
        """Return when it was said, or first believed; None where its record has no date."""
        told = self.payload.get("created_at")
        return with_zone(datetime.fromisoformat(str(told))) if told else None

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Return the messages or records that it came from."""
        return tuple(self.payload.get("source_ids") or ())


class MemoryResults(list[MemoryResultItem]):
    """Results of a read: a list, with what is missing from it.

    Args:
        items: The results.
        missing: What could not be asked, with the cause: arms of the search, or `database` where the results are the
            last ones known.
        tip: The record of the message that memory has last of this conversation; empty where there is none.
        forgotten: The records of this conversation's messages that are forgotten: the thread still has them.
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
    """One write.

    Args:
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent that writes.
        flow_id: The flow it writes in, if any; kept with the record, as are the next two.
        node_id: The node that writes, if any.
        scope: Where it belongs.
        data: A record of the scope (see `memory.model.records`), or what one can be made of.
        meta: What the application notes beside it, such as the id of a trace: JSON of 4 kB at most.
    """

    user_id: OwnerId
    session_id: OwnerId
    agent_id: OwnerId
    flow_id: str | None = None
    node_id: str | None = None
    scope: MemoryScope
    data: dict[str, Any]
    meta: Meta = Field(default_factory=dict)


@runtime_checkable
class Memory(Protocol):
    """Interface of memory for graphs and tools."""

    async def read(self, query: MemoryQuery) -> MemoryResults:
        """Return what is remembered for the query, the most relevant first within a scope."""

    async def write(self, event: MemoryWriteEvent) -> None:
        """Remember one thing; writing the same thing again changes nothing."""

    async def delete_session(self, user_id: str, session_id: str) -> Receipt:
        """Forget one conversation of one owner and what was derived from it alone; return what was removed."""


IMemory = Memory
"""The same interface, by the name that its authors gave it."""


# The path of a reranker in a policy: `package.module:attribute`.


def check_reranker(path: str) -> str:
    """Return the path of a reranker that can be imported.

    Args:
        path: `package.module:attribute`, a compressor or a function without arguments that makes one; empty for none.

    Raises:
        ValueError: If it is no such path, or nothing is there.
    """
    if path:
        reranker_at(path)
    return path


def reranker_at(path: str) -> object:
    """Return what is at a path.

    Raises:
        ValueError: If it is no such path, or nothing is there.
    """
    module, colon, attribute = path.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"the reranker {path!r} is not a path; write 'package.module:attribute'")
    try:
        return cast(object, getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the reranker {path!r} cannot be imported: {error}") from error
