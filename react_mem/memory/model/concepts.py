"""Records made from others: concepts (named entities), knowledge, and the summary chain of a conversation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from react_mem.memory.language.folding import is_marked, joined, name_key
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import Message, Record, SummaryLevel, imported, now, origin_of_role, record_id

Decider = Literal["user", "said", "vector", "model"]
Pair = tuple[str, str]

_TYPES = ("person", "animal", "place", "organisation")
"""Types of concepts in older ids, by the predicates that facts then had."""


class Alias(BaseModel):
    """Name of a concept in its preferred spelling, and the facts that use it.

    `written` has other spellings by fact, `origins` the origins other than the user by fact.
    """

    # names had types once
    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    since: datetime
    source_ids: tuple[str, ...]
    written: dict[str, str] = Field(default_factory=dict)
    origins: dict[str, Origin] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        """Key of the name, independent of its spelling."""
        return alias_id(self.name)

    def without(self, facts: Collection[str]) -> Alias | None:
        """Return the alias without some facts; None where no other uses it."""
        left = {source: self for source in self.source_ids if source not in facts}
        return Alias.used(left) if left else None

    def together(self, other: Alias) -> Alias:
        """Return the union with another alias of the same name, which wins where both have a fact."""
        return Alias.used({source: alias for alias in (self, other) for source in alias.source_ids})

    @classmethod
    def used(cls, by: Mapping[str, Alias]) -> Alias:
        """Return one name from the aliases in which facts use it, by fact."""
        written = {source: alias.written.get(source, alias.name) for source, alias in by.items()}
        # one that is not shouted, and has its capitals
        name = max(written.values(), key=lambda name: (name != name.upper(), name != name.lower(), name))
        return cls(
            name=name,
            since=min(alias.since for alias in by.values()),
            source_ids=tuple(sorted(by)),
            written={source: spelt for source, spelt in written.items() if spelt != name},
            origins={source: alias.origins[source] for source, alias in by.items() if source in alias.origins},
        )


class Merge(BaseModel, extra="forbid", frozen=True):
    """Merge of two concepts with different names, recorded so that it can be undone.

    `kept` is an alias of the remaining concept, `moved` are those of the merged one. It was decided `by` the user, by
    vectors or a model, or in older records by the words (`said`) of the facts in `source_ids`.
    """

    kept: str
    moved: tuple[str, ...]
    by: Decider
    at: datetime = Field(default_factory=now)
    source_ids: tuple[str, ...] = ()


class Concept(Record):
    """Entity that facts are about; looked up by name, never searched by meaning.

    Args:
        name: The fullest of its names.
        aliases: All of its names, `name` among them.
        merged_from: The merges that the names alone do not explain.
        apart: Pairs of aliases, one of them its own, known to be different entities.
        theme: Whether it is a theme shared by several memories, without a name of its own.
        current: Always false, since it states no belief: searches for current memories skip it.
    """

    kind: Literal["concept"] = "concept"
    name: str
    aliases: tuple[Alias, ...] = Field(min_length=1)
    merged_from: tuple[Merge, ...] = ()
    apart: tuple[Pair, ...] = ()
    theme: bool = False
    current: Literal[False] = False

    @model_validator(mode="before")
    @classmethod
    def _untyped(cls, data: Any) -> Any:
        """Read a concept stored when names had types."""
        return {name: value for name, value in data.items() if name != "type"} if isinstance(data, dict) else data

    @classmethod
    def of(cls, aliases: Iterable[Alias], merges: Iterable[Merge] = (), apart: Iterable[Pair] = ()) -> Self:
        """Return the concept with these names, at least one; the same names always make the same record.

        Merges and pairs known to be different that are unrelated to it are ignored.
        """
        named = sorted(aliases, key=lambda alias: name_key(alias.name))
        ids = {alias.id for alias in named}
        fullest = max(named, key=_fullness)
        return cls(
            # no name of it is asked for twice: another concept has others
            id=record_id("concept", named[0].id),
            text=fullest.name,
            name=fullest.name,
            aliases=tuple(named),
            merged_from=tuple(sorted((m for m in merges if m.kept in ids), key=lambda m: (m.kept, m.moved, m.by))),
            apart=tuple(sorted(pair for pair in set(apart) if ids & {*pair})),
            created_at=min(alias.since for alias in named),
            session_id="",
            agent_id="",
            source_ids=tuple(sorted({source for alias in named for source in alias.source_ids})),
            origin=lowest(origin for alias in named for origin in alias.origins.values()),
        )

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a concept as imported, with all uses of its names."""
        aliases = [
            {**alias, "origins": dict.fromkeys(alias["source_ids"], Origin.IMPORT.value)} for alias in value["aliases"]
        ]
        return super().as_imported({**value, "aliases": aliases})


@lru_cache(maxsize=20_000)
def alias_id(name: str, type_: str = "") -> str:
    """Return the id of a name, with its former type in ids from when names had types."""
    return record_id("alias", name_key(name), type_)


def renewed(aliases: Iterable[Alias], ids: Iterable[str]) -> dict[str, str]:
    """Return the present ids of names by their former ids with a type; empty where all `ids` are present ones."""
    known = list(aliases)
    if {alias.id for alias in known}.issuperset(ids):
        return {}
    return {alias_id(alias.name, type_): alias.id for alias in known for type_ in _TYPES}


def _fullness(alias: Alias) -> tuple[int, bool, int, str]:
    key = name_key(alias.name)
    return (len(joined(key)), is_marked(key), len(alias.source_ids), alias.name)


# Knowledge: generalisations over many facts and episodes.

Form = Literal["pattern", "rule", "preference", "generalisation"]

MIN_SOURCES = 2  # sources of a generalisation, at least: fewer say nothing beyond themselves


class Reference(BaseModel, extra="forbid", frozen=True):
    """Reference to the summary of a source conversation, for the meta graph."""

    to: str
    kind: Literal["summarization"] = "summarization"


class Knowledge(Record):
    """Generalisation over several memories, searched like a fact.

    It has no history: when its sources change, it is drawn again or dropped, and they have the history.

    Args:
        form: A pattern (a recurring event), a rule (what to do), a preference or a generalisation.
        about: The subject, normalised.
        proofs: Number of supporting memories, its sources.
        confidence: 0 to 1: the share of observations in favour, with one for and one against added (Laplace).
        made_by: `rules`, where it was counted; else the model that worded it.
        links: The summaries of the source conversations.
        current: Always true, so that one filter finds facts and knowledge.
    """

    kind: Literal["knowledge"] = "knowledge"
    form: Form
    about: str
    proofs: int = Field(ge=MIN_SOURCES)
    confidence: float = Field(ge=0, le=1)
    made_by: str
    links: tuple[Reference, ...] = ()
    current: Literal[True] = True


def confidence(proofs: int, against: int) -> float:
    """Return the probability of a statement from its observations for and against (rule of succession).

    >>> confidence(3, 0), confidence(3, 3)
    (0.8, 0.5)
    """
    return (proofs + 1) / (proofs + against + 2)


# The record of a conversation's context chain: its latest messages, and the summaries in the place of the others.

MAX_TEXT = 600  # characters of a message in the chain, from its beginning: the share of the prompt of any memory
_LATEST = 16  # ids of the messages that joined last: eight turns, the most for one extraction


class ChainEntry(BaseModel, extra="forbid", frozen=True):
    """Entry of a summary chain: a message, or a summary in the place of several.

    `level` is empty for a message, `role` for a summary; `at` is the time of its last message, `covers` the number of
    messages.
    """

    id: str
    kind: Literal["message", "summary"] = "summary"
    level: SummaryLevel | Literal[""] = ""
    role: str = ""
    text: str
    at: datetime
    first_turn: int
    last_turn: int
    covers: int = Field(1, ge=1)
    origin: Origin = Origin.ASSISTANT

    @model_validator(mode="before")
    @classmethod
    def _vouched(cls, data: Any) -> Any:
        """Set the origin of a message from its role, where it is not given."""
        if not isinstance(data, dict) or "origin" in data or data.get("kind") != "message":
            return data
        return {**data, "origin": origin_of_role(data.get("role"))}

    @classmethod
    def of(cls, message: Message) -> Self:
        """Return the entry of a message."""
        return cls(
            id=message.id,
            kind="message",
            role=message.role,
            text=message.text[:MAX_TEXT],
            at=message.created_at,
            first_turn=message.turn,
            last_turn=message.turn,
            origin=message.origin,
        )

    @property
    def is_message(self) -> bool:
        """True for a message that is not summed up yet."""
        return self.kind == "message"


class ContextChain(Record):
    """Summary chain of one conversation; looked up, never searched, so that its text is empty.

    Folded until nothing is due, it has at most (n_sum - 1) messages, (n_sum_sum - 1) summaries of each level below
    max_sum_lvl, (sum_window - 1) of that level, and one master.

    Args:
        entries: Its entries, in the order of the conversation.
        latest: The messages that joined last, the newest at the end, summed up or not.
        behind: Whether messages of the conversation have yet to join.
    """

    kind: Literal["chain"] = "chain"
    text: str = ""
    entries: tuple[ChainEntry, ...] = ()
    latest: tuple[str, ...] = ()
    behind: bool = False

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a chain as imported, with its entries."""
        return super().as_imported({**value, "entries": [*map(imported, value.get("entries", ()))]})

    @classmethod
    def begin(cls, session_id: str, agent_id: str) -> Self:
        """Return the empty chain of a conversation."""
        return cls(id=record_id("chain", session_id), session_id=session_id, agent_id=agent_id)

    @property
    def waiting(self) -> int:
        """Number of messages not summed up yet."""
        return sum(entry.is_message for entry in self.entries)

    def has(self, message_id: str) -> bool:
        """Return true if a message is in the chain, or among the last to join it."""
        return message_id in self.latest or any(entry.id == message_id for entry in self.entries)

    def append(self, messages: Sequence[Message]) -> Self:
        """Return the chain with messages, in order, at its end; known ones and those without words are left out."""
        known = {*self.latest, *(entry.id for entry in self.entries)}
        new = [message for message in messages if message.id not in known]
        latest = (*self.latest, *(message.id for message in new))[-_LATEST:]
        entries = (*self.entries, *(ChainEntry.of(message) for message in new if message.text))
        return self.model_copy(update={"entries": entries, "latest": latest})
