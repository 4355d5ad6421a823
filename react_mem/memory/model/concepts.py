"""A concept as it is kept: someone or something that facts are about, with every name it goes by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from react_mem.memory.language.names import is_marked, joined, name_key
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import Message, Record, SummaryLevel, imported, now, origin_of_role, record_id

Decider = Literal["user", "said", "vector", "model"]
Pair = tuple[str, str]

_TYPES = ("person", "animal", "place", "organisation")
"""Types of concepts by the predicates that facts once had."""


class Alias(BaseModel):
    """A name, and the facts that use it.

    Args:
        name: As it is written best.
        since: When the first of them was learnt.
        source_ids: The facts.
        written: How those of them write it that write it otherwise.
        origins: Who vouches for those of them for which the user does not.
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
        """Return the key by which it is known, however it is written."""
        return alias_id(self.name)

    def without(self, facts: Collection[str]) -> Alias | None:
        """Return it as it is without some facts; None where no other uses it."""
        left = {source: self for source in self.source_ids if source not in facts}
        return Alias.used(left) if left else None

    def together(self, other: Alias) -> Alias:
        """Return it with another alias of the same name, which counts where both know a fact."""
        return Alias.used({source: alias for alias in (self, other) for source in alias.source_ids})

    @classmethod
    def used(cls, by: Mapping[str, Alias]) -> Alias:
        """Return one name as facts use it, each with the alias that knows of it."""
        written = {source: alias.written.get(source, alias.name) for source, alias in by.items()}
        name = max(written.values(), key=_writing)
        return cls(
            name=name,
            since=min(alias.since for alias in by.values()),
            source_ids=tuple(sorted(by)),
            written={source: spelt for source, spelt in written.items() if spelt != name},
            origins={source: alias.origins[source] for source, alias in by.items() if source in alias.origins},
        )


class Merge(BaseModel, extra="forbid", frozen=True):
    """Merge of two concepts whose names do not tell: what moved, so that it can be undone.

    Args:
        kept: An alias of the concept that stayed.
        moved: The aliases of the one that became part of it.
        by: Who decided: the user, vectors or a model; `said`, where the words of facts were once read as saying so.
        at: When.
        source_ids: These facts.
    """

    kept: str
    moved: tuple[str, ...]
    by: Decider
    at: datetime = Field(default_factory=now)
    source_ids: tuple[str, ...] = ()


class Concept(Record):
    """Someone or something that facts hang on; looked up by name, never searched by meaning.

    Args:
        name: The fullest of its names.
        aliases: All of its names, `name` among them.
        merged_from: What made it one, beside what follows from the names.
        apart: Pairs of aliases, one of them its own, that are known not to be the same.
        theme: Whether it has no name, and is what several memories have in common.
        current: It states nothing that is believed: who looks for what is, passes it by.
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
        """Read a concept of when names had types."""
        return {name: value for name, value in data.items() if name != "type"} if isinstance(data, dict) else data

    @classmethod
    def of(cls, aliases: Iterable[Alias], merges: Iterable[Merge] = (), apart: Iterable[Pair] = ()) -> Self:
        """Return the concept that goes by these names; the same ones always make the same record.

        Args:
            aliases: The names, at least one.
            merges: All merges there are, or more than concern it.
            apart: All pairs that are known to be different, or more than concern it.
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
        """Return a concept as taken in from a file, with all uses of its names."""
        aliases = [
            {**alias, "origins": dict.fromkeys(alias["source_ids"], Origin.IMPORT.value)} for alias in value["aliases"]
        ]
        return super().as_imported({**value, "aliases": aliases})


@lru_cache(maxsize=20_000)
def alias_id(name: str, type_: str = "") -> str:
    """Return the id of a name.

    Args:
        name: The name.
        type_: What it was the name of, in an id of when names had types.
    """
    return record_id("alias", name_key(name), type_)


def renewed(aliases: Iterable[Alias], ids: Iterable[str]) -> dict[str, str]:
    """Return the ids that names have now, by those that they had with a type.

    Args:
        aliases: All names.
        ids: The ids that decisions are about.
    """
    known = list(aliases)
    if {alias.id for alias in known}.issuperset(ids):
        return {}
    return {alias_id(alias.name, type_): alias.id for alias in known for type_ in _TYPES}


def _writing(name: str) -> tuple[bool, bool, str]:
    # one that is not shouted, and has its capitals
    return (name != name.upper(), name != name.lower(), name)


def _fullness(alias: Alias) -> tuple[int, bool, int, str]:
    key = name_key(alias.name)
    return (len(joined(key)), is_marked(key), len(alias.source_ids), alias.name)


# Knowledge: generalisations over many facts and episodes.

Form = Literal["pattern", "rule", "preference", "generalisation"]

MIN_SOURCES = 2
"""Fewer say nothing beyond themselves."""


class Reference(BaseModel, extra="forbid", frozen=True):
    """A summary of a conversation in which this was said; the meta graph links with it.

    Args:
        to: The summary.
        kind: The kind of the link.
    """

    to: str
    kind: Literal["summarization"] = "summarization"


class Knowledge(Record):
    """Something that holds across memories, found like a fact, and shown as what it is.

    It is not history: when what it stands on has changed, it is drawn again or dropped, and its sources have theirs.

    Args:
        form: A pattern (what keeps happening), a rule (what to do), a preference or a generalisation.
        about: Whom or what it is about, in one form.
        proofs: How many memories say so: its sources.
        confidence: 0 to 1: how often what was seen speaks for it, counting one for and one against beforehand.
        made_by: `rules`, where it was counted; else the model that worded it.
        links: The summaries of the conversations that it comes from.
        current: As with a fact, so that one filter finds both.
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
    """Return how likely something is that was seen so often, and the opposite so often.

    >>> confidence(3, 0), confidence(3, 3)
    (0.8, 0.5)
    """
    return (proofs + 1) / (proofs + against + 2)


# The record of a conversation's context chain: its latest messages, and the summaries in the place of the others.

MAX_TEXT = 600
"""Characters of a message that the chain carries, the beginning: the share of the prompt that any memory has."""

_LATEST = 16
"""Ids that tell what has joined last: eight turns, as many as are drawn from at once."""


class ChainEntry(BaseModel, extra="forbid", frozen=True):
    """One link of a chain.

    Args:
        id: The record of the message or the summary.
        kind: Which of the two it is.
        level: A summary's level; empty for a message.
        role: Who said a message; empty for a summary.
        text: A summary, or the beginning of a message.
        at: When the last of it was said.
        first_turn: The place in the conversation of the first message that it covers.
        last_turn: The place of the last one.
        covers: How many messages it stands for.
        origin: Who vouches for it.
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
        """Set the origin of a message from who says it, where it is not given."""
        if not isinstance(data, dict) or "origin" in data or data.get("kind") != "message":
            return data
        return {**data, "origin": origin_of_role(data.get("role"))}

    @classmethod
    def of(cls, message: Message) -> Self:
        """Return the link that a message is."""
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
        """Return whether it is a message, which nothing has summed up yet."""
        return self.kind == "message"


class ContextChain(Record):
    """The chain of one conversation; looked up, never searched, so that its text is empty.

    Folded until nothing is due, it has at most (n_sum - 1) messages, (n_sum_sum - 1) summaries of each level below
    max_sum_lvl, (sum_window - 1) of that level, and one master.

    Args:
        entries: Its links, in the order of the conversation.
        latest: The messages that joined last, the newest at the end, whether or not they have been summed up since.
        behind: Whether messages of the conversation have yet to join.
    """

    kind: Literal["chain"] = "chain"
    text: str = ""
    entries: tuple[ChainEntry, ...] = ()
    latest: tuple[str, ...] = ()
    behind: bool = False

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a chain as taken in from a file, with its links."""
        return super().as_imported({**value, "entries": [*map(imported, value.get("entries", ()))]})

    @classmethod
    def begin(cls, session_id: str, agent_id: str) -> Self:
        """Return the empty chain of a conversation."""
        return cls(id=record_id("chain", session_id), session_id=session_id, agent_id=agent_id)

    @property
    def waiting(self) -> int:
        """Return how many messages have not been summed up."""
        return sum(entry.is_message for entry in self.entries)

    def has(self, message_id: str) -> bool:
        """Return whether a message waits in the chain, or was one of the last to join it."""
        return message_id in self.latest or any(entry.id == message_id for entry in self.entries)

    def append(self, messages: Sequence[Message]) -> Self:
        """Return the chain with messages at its end; those that it has already are left out, as those without words.

        Args:
            messages: Messages of the conversation, in order.
        """
        known = {*self.latest, *(entry.id for entry in self.entries)}
        new = [message for message in messages if message.id not in known]
        latest = (*self.latest, *(message.id for message in new))[-_LATEST:]
        entries = (*self.entries, *(ChainEntry.of(message) for message in new if message.text))
        return self.model_copy(update={"entries": entries, "latest": latest})
