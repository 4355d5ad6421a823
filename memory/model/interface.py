"""The memory layer's contract: what every graph, tool and outside service speaks to.

Graphs and tools know `Memory` and the models of this module; nobody but the memory layer touches the store.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from react_mem.memory.model.arms import ALL_ARMS, Arm
from react_mem.memory.model.external import ExternalSearch
from react_mem.memory.model.profile_schema import ProfileSchema
from react_mem.memory.model.records import with_zone
from react_mem.memory.model.reranker_path import check_reranker
from react_mem.memory.model.summary_settings import SummarySettings

if TYPE_CHECKING:
    from react_mem.memory.model.receipt import Receipt

OwnerId = Annotated[str, StringConstraints(min_length=1, max_length=512)]


class MemoryScope(StrEnum):
    """What kind of thing is remembered."""

    DIALOG = "dialog"
    STATE = "state"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    PROFILE = "profile"
    EXPERIENCE = "experience"


class MemoryQuery(BaseModel):
    """One read, over any number of scopes: one embedding call and one round trip to the database.

    Args:
        user_id: The owner. Every result belongs to this owner.
        session_id: The conversation (LangGraph's thread id).
        agent_id: The agent that asks.
        flow_id: The flow it asks in, if any.
        node_id: The node that asks, if any.
        scopes: The scopes to read; a scope that the policy turns off yields nothing.
        query: What to look for; without it a scope answers with its latest items.
        task_type: Narrows procedural and experience memory.
        extra: Scope-specific hints.
        as_of: The time as of which to answer: with what was believed then, and nothing that came later; None for now.
            Without a zone it is in UTC.
    """

    model_config = ConfigDict(extra="forbid")

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
    def asked_at(self) -> datetime:
        """The time of asking, `extra["now"]` or else the present.

        Raises:
            ValueError: If `extra["now"]` is no time.
        """
        told = self.extra.get("now")
        try:
            return datetime.fromisoformat(str(told)) if told else datetime.now().astimezone()
        except ValueError:
            raise ValueError(f"extra['now'] is no ISO 8601 time: {told!r:.80}") from None


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
    """What a fact is in doubt about.

    Args:
        id: The other fact.
        text: What it says.
        since: The day, as YYYY-MM-DD.
    """

    id: str
    text: str
    since: str


class MemoryResultItem(BaseModel):
    """One remembered thing.

    Args:
        scope: Where it came from.
        id: The record's id, unique for its owner and scope.
        payload: The record, as JSON.
        score: Relevance to the query, higher is nearer; None where nothing was asked.
        source: Where the memory came from (`fact`, `message`, `summary`, `episode`, ...).
        similarity: How similar its text is to the query, from 0 to 1: 0.5 is unrelated, 0.7 what nine in ten answers to
            a question reach, whatever the embedder. None where it was not compared.
        arms: What each way of searching contributed to the score.
        fragments: Its texts, in order: a message brings the answer, or the question, that belongs to it.
        doubts: What speaks against a fact that is in doubt.
    """

    scope: MemoryScope
    id: str
    payload: dict[str, Any]
    score: float | None = None
    source: str
    similarity: float | None = None
    arms: dict[Arm, float] = Field(default_factory=dict)
    fragments: tuple[Fragment, ...] = ()
    doubts: tuple[Doubt, ...] = ()


class MemoryResults(list[MemoryResultItem]):
    """What a read returns: a list, with what is missing from it.

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


class MemoryWriteEvent(BaseModel):
    """One write. `data` is a record of the scope (see `memory.model.records`); `meta` says how it came about."""

    model_config = ConfigDict(extra="forbid")

    user_id: OwnerId
    session_id: OwnerId
    agent_id: OwnerId
    flow_id: str | None = None
    node_id: str | None = None
    scope: MemoryScope
    data: dict[str, Any]
    meta: dict[str, Any] = Field(default_factory=dict)


@runtime_checkable
class Memory(Protocol):
    """What graphs and tools may do with memory."""

    async def read(self, query: MemoryQuery) -> MemoryResults:
        """Return what is remembered for the query, the most relevant first within a scope."""

    async def write(self, event: MemoryWriteEvent) -> None:
        """Remember one thing; writing the same thing again changes nothing."""

    async def delete_session(self, user_id: str, session_id: str) -> Receipt:
        """Forget one conversation of one owner and what was derived from it alone; return what was removed."""


def _written_off(value: Any) -> Any:
    # YAML reads a bare `off` as false
    return "off" if value is False else value


_Off = BeforeValidator(_written_off)

_REMOVED = frozenset({"keywords"})
"""Settings of earlier versions."""


class MemoryPolicy(BaseModel):
    """What an agent reads and writes: the `memory:` block of its YAML. Every field has a default that works."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    use_dialog: bool = Field(True, description="Recall what was said in this and other conversations.")
    use_semantic: bool = Field(True, description="Recall facts.")
    use_episodic: bool = Field(True, description="Recall episodes: goals, steps, outcomes.")
    use_procedural: bool = Field(True, description="Recall skills: what to do when.")
    use_profile: bool = Field(True, description="Put the user's profile into every prompt.")
    write_experience: bool = Field(True, description="Log the agent's steps and how they went.")
    max_dialog_turns: int = Field(20, ge=1, le=1000, description="Turns of this thread in the prompt, verbatim.")
    max_message_chars: int = Field(
        8000, ge=500, description="Characters of an earlier message in the prompt; the current turn is always whole."
    )
    similarity_threshold: float = Field(
        0.7,
        ge=0,
        le=1,
        description="How similar a memory must be to the question to be found by that alone; words that it, or what "
        "was said around it, shares with the question find it anyway, as does a time that the question names. 0.5 is "
        "unrelated, 0.7 what nine in ten answers reach, with any embedding model that tells them apart at all.",
    )
    arms: frozenset[Arm] = Field(ALL_ARMS, description="The ways of searching that count.")
    reranker: Annotated[str, AfterValidator(check_reranker)] = Field(
        "",
        description="The path 'package.module:attribute' of a LangChain document compressor that orders what was found "
        "anew, such as a cross-encoder. It takes its time before the answer; none by default.",
    )
    max_memories: int = Field(8, ge=1, le=100, description="Memories of each scope in the prompt, at most.")
    max_docs: int = Field(5, ge=1, le=100, description="Documents in the prompt, at most.")
    max_skills: int = Field(3, ge=1, le=100, description="Skills in the prompt, at most.")
    profile: ProfileSchema = Field(
        default_factory=dict,
        description="The fields of a profile: {field: description}, a JSON schema of an object, or the dotted path of "
        "a pydantic model. Empty: any field.",
    )
    memory_tokens: int = Field(1500, ge=50, le=100_000, description="Tokens of memory in the prompt, at most.")
    context_window: int | None = Field(
        None, ge=1000, description="Tokens of the chat model's window; by default what it says of itself, else 16,000."
    )
    answer_tokens: int = Field(2000, ge=100, description="Tokens of that window that are left for the answer.")
    use_summaries: bool = Field(
        True, description="Whether older parts of a conversation are summed up behind the turns, level by level."
    )
    summaries: SummarySettings = Field(SummarySettings(), description="How they are.")
    external_search: ExternalSearch = Field(ExternalSearch(), description="Whether and how the web is searched.")
    compress_every: int = Field(5, ge=1, le=1000, description="Steps of a turn after which older ones are compressed.")
    compress_above: int = Field(
        4000, ge=100, le=1_000_000, description="Tokens of a turn's steps above which older ones are compressed."
    )
    keep_raw_steps: int = Field(3, ge=1, le=1000, description="The latest steps of a turn, which are never compressed.")
    use_task_graph: bool = Field(
        False,
        description="Whether the small model plans a request of several steps as a task graph, which outlives the "
        "conversation. One call before the answer, beside the reading of memory.",
    )
    read_timeout: float = Field(
        5.0, gt=0, le=60, description="Seconds a turn waits for memory, before the answer and after it."
    )
    extraction: Annotated[Literal["inline", "background", "agent", "off"], _Off] = Field(
        "background",
        description="When facts are drawn from a turn: behind it, before its end, only by the agent's tools, or never.",
    )
    debounce: float = Field(2.0, ge=0, le=3600, description="Seconds of quiet before a background extraction.")
    quiet_after: float = Field(
        1800.0, ge=0, description="Seconds of quiet after which a conversation counts as ended, and is concluded."
    )
    engine: Literal["structured", "langmem"] = Field("structured", description="How the model is asked for them.")
    learn: Annotated[Literal["off", "model", "traces"], _Off] = Field(
        "off",
        description="How `maintenance` learns skills from what the agent did: never, in the small model's words, or "
        "without a model.",
    )
    resolve_concepts: Literal["names", "model"] = Field(
        "names",
        description="How the people, places and things that facts name become concepts, behind the turns: by their "
        "names and vectors, or with one model call of `maintenance` where those leave doubt.",
    )
    deduplicate: Annotated[Literal["off", "model"], _Off] = Field(
        "model",
        description="Whether `maintenance` looks for facts that say the same in other words: one call of the small "
        "model where there are new facts with near neighbours.",
    )
    consolidate: Annotated[Literal["off", "rules", "model"], _Off] = Field(
        "off",
        description="How `maintenance` draws patterns, rules and preferences from facts and episodes: never, by "
        "counting, or in the small model's words too.",
    )
    extraction_timeout: float = Field(60.0, gt=0, le=600, description="Seconds for the extraction call.")
    recover_after: float = Field(
        120.0, ge=0, description="Seconds after which another conversation picks up an interrupted extraction."
    )

    @model_validator(mode="before")
    @classmethod
    def _without_removed(cls, data: Any) -> Any:
        """Ignore settings that are no more, so that a file that names them still loads."""
        if not isinstance(data, Mapping) or not _REMOVED & data.keys():
            return data
        names = ", ".join(sorted(_REMOVED & data.keys()))
        warnings.warn(f"These memory settings are no more and are ignored; remove them: {names}", stacklevel=2)
        return {name: value for name, value in data.items() if name not in _REMOVED}

    @property
    def extracts(self) -> bool:
        """Whether facts are drawn from turns without the agent's doing."""
        return self.extraction in {"inline", "background"}
