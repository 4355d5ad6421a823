"""Memory policy of an agent: the `memory:` block of its YAML, nested by topic; and legal holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from react_mem.memory.model.external import AUTHORS, ModelChoice, WebSettings, given_of, in_topics
from react_mem.memory.model.interface import check_reranker
from react_mem.memory.model.profile_schema import ProfileSchema
from react_mem.memory.model.records import SecretPolicy, now

# Settings of retention, and legal holds.

FOREVER = "forever"
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "y": timedelta(days=365)}
_AGE = re.compile(r"([1-9][0-9]{0,5})([hdwy])")
_LONGEST = timedelta(days=365 * 1000)


def _as_age(value: Any) -> str:
    # YAML reads a key without a value as None
    text = "" if value is None else value
    if isinstance(text, str) and (text in ("", FOREVER) or _parsed(text) is not None):
        return text
    raise ValueError(
        f"{value!r:.40} is no time: give hours, days, weeks or years, such as 12h, 30d, 8w or 2y, or `{FOREVER}`"
    )


def _parsed(text: str) -> timedelta | None:
    found = _AGE.fullmatch(text)
    if found is None:
        return None
    age = int(found[1]) * _UNITS[found[2]]
    return age if age <= _LONGEST else None


Age = Annotated[str, BeforeValidator(_as_age)]  # age as written in a file: a number and a unit


class RetentionSettings(BaseModel, extra="forbid", frozen=True):
    """Retention of what an agent has noted: the `retention:` block of an agent's `memory:`.

    A scope that has no time of its own goes with what it came from, as what is forgotten does. One that has is judged
    by its own age alone.

    >>> kept = RetentionSettings(dialog="30d", semantic="forever")
    >>> kept.age("dialog"), kept.age("semantic"), kept.has("semantic"), kept.has("episodic")
    (datetime.timedelta(days=30), None, True, False)
    """

    dialog: Age = Field("", description="Messages and summaries, since they were said; a thread, since it went quiet.")
    semantic: Age = Field("", description="Facts, since they were last said; knowledge and documents.")
    episodic: Age = Field("", description="Episodes.")
    procedural: Age = Field("", description="Skills.")
    profile: Age = Field("", description="Each value of the profile, since it was last said.")
    experience: Age = Field("", description="The steps of the agent, and what became of its turns.")
    files: Age = Field("", description="Files that agents keep, since they were last written.")
    state: Age = Field("", description="Tasks, since they were last worked on, and the states of flows.")
    max_memories: int | None = Field(
        None,
        ge=1,
        description="Records of a user, at most. Beyond it, those go that were said or stood in a prompt longest ago.",
    )
    max_bytes: int | None = Field(
        None, ge=1000, description="Bytes of these records as JSON, without attachments, at most; likewise."
    )

    def age(self, scope: str) -> timedelta | None:
        """Return the maximum age of a scope's records; None for no limit."""
        return _parsed(self._written(scope))

    def has(self, scope: str) -> bool:
        """Return true if a scope has a time of its own, `forever` included, which then alone decides."""
        return bool(self._written(scope))

    def _written(self, scope: str) -> str:
        written = getattr(self, scope, "") if scope in type(self).model_fields else ""
        return written if isinstance(written, str) else ""

    @property
    def shortest(self) -> timedelta | None:
        """Shortest time of all scopes; None where no scope has any."""
        return min(filter(None, map(self.age, type(self).model_fields)), default=None)

    @property
    def limits(self) -> bool:
        """True if records are ever removed."""
        return self.shortest is not None or self.max_memories is not None or self.max_bytes is not None


# The legal hold of a user or of one conversation: as long as it is there, nothing of it is removed.

MAX_REFERENCE = 100  # characters of a hold's name: the number of a case, and no content


def _one_line(reference: str) -> str:
    if not reference.isprintable() or reference != reference.strip():
        raise ValueError("is not one line of printable characters; give the number of the case, such as case-2026-17")
    return reference


class LegalHold(BaseModel, extra="ignore", frozen=True):
    """Order to keep memories, as of a court or an authority; without a conversation all of the user's.

    The reference, such as the number of a case, is stored in plain, and shown to users whom it stops.
    """

    kind: Literal["hold"] = "hold"
    reference: Annotated[str, AfterValidator(_one_line)] = Field(min_length=1, max_length=MAX_REFERENCE)
    session_id: str = ""
    set_at: datetime = Field(default_factory=now)

    def in_short(self) -> str:
        """Return the hold in words: "... is under the legal hold 'case-17' since 2026-03-01"."""
        what = "a conversation of this user is" if self.session_id else "all of this user's memory is"
        return f"{what} under the legal hold {self.reference!r} since {self.set_at.date()}"


# Settings of quotas: how much of an agent a user may take up in a day, and how much may be stored of them.


class QuotaSettings(BaseModel, extra="forbid", frozen=True):
    """Quotas of a user, for a day by UTC and in all: the `quotas:` block of an agent's `memory:`.

    What a user takes up is counted over all agents that have the quota, and each agent holds the sum to its own limit.
    """

    messages_a_day: int | None = Field(None, ge=1, description="Messages of a user that are answered, at most.")
    model_calls_a_day: int | None = Field(
        None, ge=1, description="Calls of the chat model for a user, at most; each step of a turn is one."
    )

    memories: int | None = Field(
        None, ge=1, description="Memories of a user that are stored, at most: messages, facts and all other records."
    )
    bytes: int | None = Field(
        None,
        ge=1,
        description="Bytes that are stored of a user, at most: texts and attachments as the store keeps them.",
    )

    @property
    def limits_days(self) -> bool:
        """True if there is a daily quota."""
        return self.messages_a_day is not None or self.model_calls_a_day is not None


# Settings of a conversation's summaries.


class SummarySettings(BaseModel, extra="forbid", frozen=True):
    """The shape of a conversation's summaries: the `summaries:` block of an agent's `memory:`.

    Raises:
        ValueError: If more messages or summaries are to be folded at once than there may be.
    """

    enabled: bool = Field(
        True, description="Whether older parts of a conversation are summed up behind the turns, level by level."
    )
    n_sum: int = Field(6, ge=2, le=200, description="Messages of the chain at which some of them become a summary.")
    sum_window: int = Field(
        3,
        ge=1,
        le=200,
        description="How many of them do; and how many of the highest level bring the master up to date.",
    )
    n_sum_sum: int = Field(3, ge=2, le=50, description="Summaries of one level that become one of the next.")
    max_sum_lvl: int = Field(3, ge=1, le=9, description="The highest level below the master.")
    window: Literal["newest", "oldest"] = Field(
        "newest", description="Which messages become a summary: oldest keeps the latest word for word."
    )
    summary_model: ModelChoice = Field(
        "", description="The model that sums up, named as `models.small` is; empty: the agent's small model."
    )
    summary_length: int = Field(600, ge=80, le=4000, description="Characters of a summary, at most.")
    check_coherence: bool = Field(
        False, description="Whether a summary that loses or invents names and numbers of its sources is made once more."
    )

    @model_validator(mode="after")
    def _folds_fit(self) -> Self:
        if self.sum_window > self.n_sum:
            raise ValueError(f"sum_window ({self.sum_window}) messages cannot be taken out of n_sum ({self.n_sum})")
        return self


def _written_off(value: Any) -> Any:
    # YAML reads a bare `off` as false
    return "off" if value is False else value


_Off = BeforeValidator(_written_off)


class RecallSettings(BaseModel, extra="forbid", frozen=True):
    """Reads of a turn: the `recall:` block of an agent's `memory:`."""

    dialog: bool = Field(True, description="What was said in this and other conversations.")
    semantic: bool = Field(True, description="Facts.")
    episodic: bool = Field(True, description="Episodes: goals, steps, outcomes.")
    procedural: bool = Field(True, description="Skills: what to do when.")
    profile: bool = Field(True, description="The user's profile, in every prompt.")
    max_memories: int = Field(16, ge=1, le=100, description="Memories of each scope in the prompt, at most.")
    max_docs: int = Field(5, ge=1, le=100, description="Documents in the prompt, at most.")
    max_skills: int = Field(3, ge=1, le=100, description="Skills in the prompt, at most.")
    similarity: float = Field(
        0.7,
        ge=0,
        le=1,
        description="How similar a memory must be to the question to be found by that alone; words that it, or what "
        "was said around it, shares with the question find it anyway, as does a time that the question names. 0.5 is "
        "unrelated, 0.7 what nine in ten answers reach, with any embedding model that tells them apart at all.",
    )
    links: bool = Field(
        False,
        description="Whether facts are shown with what they are linked with: the episode they came up in, the steps of "
        "a task that were taken. Up to two further round trips before the answer.",
    )
    reranker: Annotated[str, AfterValidator(check_reranker)] = Field(
        "",
        description="The path 'package.module:attribute' of a LangChain document compressor that reranks results, such "
        "as a cross-encoder. It takes its time before the answer; none by default.",
    )
    timeout: float = Field(
        5.0,
        gt=0,
        le=60,
        description="Seconds a turn waits for memory, before the answer and after it. Many turns at once wait in line, "
        "and the time of each begins when it is served.",
    )


class ContextSettings(BaseModel, extra="forbid", frozen=True):
    """Shares of the prompt: the `context:` block of an agent's `memory:`."""

    dialog_turns: int = Field(20, ge=1, le=1000, description="Turns of this thread in the prompt, verbatim.")
    memory_tokens: int = Field(1500, ge=50, le=100_000, description="Tokens of memory in the prompt, at most.")
    window: int | None = Field(
        None, ge=1000, description="Tokens of the chat model's window; by default what it says of itself, else 16,000."
    )
    answer_tokens: int = Field(2000, ge=100, description="Tokens of that window that are left for the answer.")
    compress_every: int = Field(5, ge=1, le=1000, description="Steps of a turn after which older ones are compressed.")
    compress_above: int = Field(
        4000, ge=100, le=1_000_000, description="Tokens of a turn's steps above which older ones are compressed."
    )
    keep_raw_steps: int = Field(3, ge=1, le=1000, description="The latest steps of a turn, which are never compressed.")


class ExtractionSettings(BaseModel, extra="forbid", frozen=True):
    """Extraction of facts and episodes: the `extraction:` block of an agent's `memory:`."""

    mode: Annotated[Literal["inline", "background", "agent", "off"], _Off] = Field(
        "background",
        description="When facts are drawn from a turn: behind it, before its end, only by the agent's tools, or never. "
        "With `agent`, turns and conversations are still summed up behind them.",
    )
    engine: Literal["structured", "langmem"] = Field("structured", description="How the model is asked for them.")
    debounce: float = Field(2.0, ge=0, le=3600, description="Seconds of quiet before a background extraction.")
    quiet_after: float = Field(
        1800.0, ge=0, description="Seconds of quiet after which a conversation counts as ended, and is concluded."
    )
    recover_after: float = Field(
        120.0, ge=0, description="Seconds after which another conversation picks up an interrupted extraction."
    )
    timeout: float = Field(60.0, gt=0, le=600, description="Seconds for the extraction call.")
    topics: bool = Field(
        False,
        description="Whether that call also names what a fact is about in words that it does not say, for the index.",
    )


class LearningSettings(BaseModel, extra="forbid", frozen=True):
    """Learning from many turns, by `maintenance`: the `learning:` block of an agent's `memory:`."""

    experience: bool = Field(True, description="Log the agent's steps and how they went.")
    skills: Annotated[Literal["off", "model", "traces"], _Off] = Field(
        "off",
        description="How `maintenance` learns skills from what the agent did: never, in the small model's words, or "
        "without a model.",
    )
    knowledge: Annotated[Literal["off", "rules", "model"], _Off] = Field(
        "off",
        description="How `maintenance` draws patterns, rules and preferences from facts and episodes: never, by "
        "counting, or in the small model's words too.",
    )
    concepts: Literal["names", "model"] = Field(
        "names",
        description="How the people, places and things that facts name become concepts, behind the turns: by their "
        "names and vectors, or with one model call of `maintenance` where those leave doubt.",
    )
    duplicates: Annotated[Literal["off", "model"], _Off] = Field(
        "model",
        description="Whether `maintenance` looks for facts that say the same in other words: one call of the small "
        "model where there are new facts with near neighbours.",
    )


class TaskSettings(BaseModel, extra="forbid", frozen=True):
    """Planning of requests: the `tasks:` block of an agent's `memory:`."""

    enabled: bool = Field(
        False,
        description="Whether the small model plans a request of several steps as a task graph, which outlives the "
        "conversation. One call before the answer, beside the reading of memory.",
    )


class MemoryPolicy(BaseModel, extra="forbid", frozen=True):
    """Memory policy of an agent: the `memory:` block of its YAML. Every field has a default that works.

    The authors' flat names (`use_semantic`, `max_docs`, `n_sum`, ...) say the same, given or read.

    >>> policy = MemoryPolicy(recall={"semantic": False})
    >>> policy.recall.semantic, policy.recall.dialog, policy.extraction.mode
    (False, True, 'background')
    >>> policy.use_semantic, policy.max_docs
    (False, 5)
    """

    recall: RecallSettings = Field(RecallSettings(), description="What a turn reads from memory.")
    context: ContextSettings = Field(ContextSettings(), description="How much of what stands in the prompt.")
    profile: ProfileSchema = Field(
        default_factory=dict,
        description="The fields of a profile: {field: description}, a JSON schema of an object, or the dotted path of "
        "a pydantic model. Empty: any field.",
    )
    extraction: ExtractionSettings = Field(
        ExtractionSettings(), description="How facts and episodes are drawn from what was said."
    )
    summaries: SummarySettings = Field(
        SummarySettings(), description="How older parts of a conversation are summed up."
    )
    learning: LearningSettings = Field(LearningSettings(), description="What many turns come to.")
    tasks: TaskSettings = Field(TaskSettings(), description="Whether requests are planned.")
    retention: RetentionSettings = Field(
        RetentionSettings(), description="How long is kept what the agent has noted, and how much for a user."
    )
    quotas: QuotaSettings = Field(QuotaSettings(), description="How much of the agent a user may take up in a day.")
    web: WebSettings = Field(WebSettings(), description="Whether and how the web is searched.")
    secrets: SecretPolicy = Field(
        "mask",
        description="What is done with passwords, keys and the like: `refuse` keeps nothing of a message with one.",
    )

    def showing(self, limit: int) -> Self:
        """Return a policy with a number of results of each kind: people may ask for more than fits a prompt.

        >>> MemoryPolicy().showing(20).recall.max_docs
        20
        """
        wide = self.recall.model_copy(update=dict.fromkeys(("max_memories", "max_docs", "max_skills"), limit))
        return self.model_copy(update={"recall": wide})

    @model_validator(mode="before")
    @classmethod
    def _by_topic(cls, data: Any) -> Any:
        return in_topics(data) if isinstance(data, Mapping) else data

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with validated changes.

        Args:
            update: Topics with the keys that change, such as `{"recall": {"max_memories": 3}}`: other keys stay.

        Raises:
            ValidationError: If a change is not valid.

        >>> MemoryPolicy(recall={"semantic": False}).model_copy(update={"recall": {"max_docs": 1}}).recall.semantic
        False
        """
        copied = super().model_copy(deep=deep)
        if not update:
            return copied
        given = given_of(copied)
        for name, value in in_topics(update).items():
            topic = getattr(copied, name, None)
            merges = isinstance(topic, BaseModel) and isinstance(value, Mapping)
            given[name] = {**given_of(topic), **value} if merges else value
        return self.model_validate(given)

    if not TYPE_CHECKING:  # a checker knows the fields alone, and finds what is misspelt

        def __getattr__(self, name: str) -> Any:
            if name not in AUTHORS:
                return super().__getattr__(name)
            return reduce(getattr, AUTHORS[name].split("."), self)

    @property
    def extracts(self) -> bool:
        """True if facts are extracted from turns without the agent's tools."""
        return self.extraction.mode in {"inline", "background"}

    @property
    def sums_up(self) -> bool:
        """True if turns and conversations become summaries and episodes: unless extraction is off."""
        return self.extraction.mode != "off"
