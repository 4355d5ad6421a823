"""Table of record kinds: storage, index, display, import and forgetting of each.

All code that stores, searches, lists, exports or erases records asks this table. A new kind is its record and one
`declare`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any, Literal

from react_mem.memory.model.concepts import Concept, ContextChain, Knowledge
from react_mem.memory.model.files import AgentFile
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import PENDING as WAITING
from react_mem.memory.model.namespaces import Namespace, owner_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.profile_schema import Profile
from react_mem.memory.model.records import Document, Episode, Fact, Message, Record, Summary, origin_of_role, record_id
from react_mem.memory.model.states import (
    Conversation,
    FlowState,
    PendingTurn,
    Skill,
    StepExperience,
    Task,
    TaskStep,
    TurnOutcome,
)


class WhenUnsaid(Enum):
    """Treatment of a record about something that is to be forgotten."""

    GONE = "it goes as a whole"
    GONE_IF_TOLD = "it goes as a whole, if its own words say it"
    REWRITTEN = "it is rewritten without it"
    STAYS = "it stays: it has no words of its own, or goes with what it is made of"


@dataclass(frozen=True, eq=False)
class Kind:
    """Kind of record.

    Args:
        record: Its model; the default of `kind` is its name.
        place: Where an owner's are stored: a scope, or the place of pending turns.
        indexed: Whether it is found by meaning and words; each costs an embedding when it is written.
        unindexed_if: A field and its value that take a record out of the index.
        wordless: The field that is indexed where the text is empty.
        marks: Fields by which a search can filter beside the kind.
        title: Fields with a short title, the first that is not empty.
        listed: Whether a list shows it where its scope is not named: internal records are not shown.
        node: Whether it is a node of the graph: state and bookkeeping are none.
        line: The scope of its chronological links: a conversation, or all of the owner's.
        refers: Fields that name other records, by id or as {"to": id}; erased records are removed from them.
        supported: Whether it survives with its remaining sources. Other kinds were made of all sources at once, and
            go with the first.
        worked_on: Whether abandoning a branch takes it only with the last of its sources.
        set_aside: Whether abandoning a branch takes it at all: other kinds have their own rules, or name no messages.
        made_anew: Whether it is made again, under the same id, from the sources that a branch leaves.
        told_in: Fields that retell its sources in sentences.
        listed_in: Fields that retell them in lists.
        when_unsaid: The treatment of records about something that is to be forgotten.
    """

    record: type[Record]
    place: str = ""
    indexed: bool = True
    unindexed_if: tuple[str, str] | None = None
    wordless: str = ""
    marks: tuple[str, ...] = ()
    title: tuple[str, ...] = ("text",)
    listed: bool = True
    node: bool = True
    line: Literal["session", "owner"] | None = None
    refers: tuple[str, ...] = ()
    supported: bool = False
    worked_on: bool = False
    set_aside: bool = True
    made_anew: bool = False
    told_in: tuple[str, ...] = ()
    listed_in: tuple[str, ...] = ()
    when_unsaid: WhenUnsaid = WhenUnsaid.GONE

    @cached_property
    def name(self) -> str:
        """The name of the kind, as its records and filters have it; empty of no kind in particular."""
        return self.record.kind_name()

    def matches(self, value: Mapping[str, Any]) -> bool:
        """Return true if a record, as JSON, is of this kind.

        >>> FACT.matches({"kind": "fact"}), FACT.matches({})
        (True, False)
        """
        return value.get("kind") == self.name

    def may_be(self, data: Mapping[str, Any]) -> bool:
        """Return true if data for a new record names this kind, or none."""
        return bool(data.get("kind", self.name) == self.name)

    def id(self, *parts: str) -> str:
        """Return the deterministic id of a record of this kind from its identifying parts."""
        return record_id(self.name, *parts)

    def namespace(self, user_id: str) -> Namespace:
        """Return the namespace of an owner's records of this kind."""
        return (*owner_namespace(user_id), self.place)

    def index(self, value: Mapping[str, Any]) -> Literal[False] | list[str] | None:
        """Return the store's index argument for a record: None for the default fields, False for none.

        >>> MESSAGE.index({"text": "", "keywords": "Miu"}), MESSAGE.index({"text": ""}), MESSAGE.index({"text": "Hi"})
        (['keywords'], False, None)
        """
        left = self.unindexed_if is not None and value.get(self.unindexed_if[0]) == self.unindexed_if[1]
        if left or not self.indexed:
            return False
        if not self.wordless or value.get("text"):
            return None
        return [self.wordless] if value.get(self.wordless) else False


KINDS: dict[str, Kind] = {}
"""All kinds by name, in listing order; the first of a scope is the default for data without a `kind`."""

OTHER = Kind(Record)  # default for a kind outside the table: of a later version, or of another user of the store


def declare(kind: Kind) -> Kind:
    """Add a kind to the table."""
    KINDS[kind.name] = kind
    return kind


_internal = partial(Kind, indexed=False, listed=False, node=False, set_aside=False, when_unsaid=WhenUnsaid.STAYS)
"""Kinds of state and bookkeeping: looked up, and neither searched nor listed."""

FACT = Kind(
    Fact,
    MemoryScope.SEMANTIC,
    marks=("current",),
    refers=("needs", "needed_by", "doubts"),
    supported=True,
    set_aside=False,
    when_unsaid=WhenUnsaid.REWRITTEN,
)
PROFILE = Kind(Profile, MemoryScope.PROFILE, node=False, set_aside=False, when_unsaid=WhenUnsaid.STAYS)
KNOWLEDGE = Kind(Knowledge, MemoryScope.SEMANTIC, marks=("current",), refers=("links",), made_anew=True)
SKILL = Kind(
    Skill,
    MemoryScope.PROCEDURAL,
    unindexed_if=("status", "archived"),
    marks=("status", "task_type"),
    supported=True,
    when_unsaid=WhenUnsaid.GONE_IF_TOLD,
)
STATE = _internal(FlowState, MemoryScope.STATE, title=("state",))
TASK = Kind(Task, MemoryScope.STATE, indexed=False, refers=("steps",), worked_on=True)
DOCUMENT = Kind(
    Document, MemoryScope.SEMANTIC, marks=("current",), title=("title", "text"), when_unsaid=WhenUnsaid.STAYS
)
EPISODE = Kind(
    Episode,
    MemoryScope.EPISODIC,
    title=("milestone_title", "goal", "text"),
    line="owner",
    refers=("linked_steps",),
    told_in=("goal", "situation", "thoughts", "outcome", "milestone_title", "text"),
    listed_in=("steps", "lessons"),
    when_unsaid=WhenUnsaid.REWRITTEN,
)
MESSAGE = Kind(
    Message,
    MemoryScope.DIALOG,
    wordless="keywords",
    marks=("role", "standing"),
    title=("text", "keywords"),
    line="session",
    refers=("used",),
    set_aside=False,
    when_unsaid=WhenUnsaid.REWRITTEN,
)
SUMMARY = Kind(
    Summary,
    MemoryScope.DIALOG,
    refers=("episodes", "task_preferences"),
    told_in=("text",),
    when_unsaid=WhenUnsaid.REWRITTEN,
)
TASK_STEP = Kind(
    TaskStep,
    MemoryScope.STATE,
    indexed=False,
    # its name numbers it within its task: every task has an `s1`
    title=("text", "name"),
    refers=("depends_on",),
    worked_on=True,
)
EXPERIENCE = Kind(StepExperience, MemoryScope.EXPERIENCE, indexed=False, title=("text", "tool"), listed=False)
FILE = Kind(
    AgentFile,
    MemoryScope.FILES,
    wordless="keywords",
    title=("path",),
    node=False,
    # it names no messages, and several conversations may have written it
    set_aside=False,
    when_unsaid=WhenUnsaid.REWRITTEN,
)
OUTCOME = Kind(TurnOutcome, MemoryScope.EXPERIENCE, indexed=False, listed=False, node=False)
CONCEPT = _internal(Concept, MemoryScope.SEMANTIC, title=("name", "text"), node=True)
CONVERSATION = _internal(Conversation, MemoryScope.STATE)
CHAIN = _internal(ContextChain, MemoryScope.STATE)
PENDING = _internal(PendingTurn, WAITING, when_unsaid=WhenUnsaid.REWRITTEN)
_CONTENT = (FACT, PROFILE, KNOWLEDGE, SKILL, STATE, TASK, DOCUMENT, EPISODE, MESSAGE, SUMMARY, TASK_STEP, EXPERIENCE)
for _kind in (*_CONTENT, FILE, OUTCOME, CONCEPT, CONVERSATION, CHAIN, PENDING):
    declare(_kind)


def kind_named(name: Any) -> Kind:
    """Return the kind with this name; `OTHER` where there is none."""
    return KINDS.get(name, OTHER) if isinstance(name, str) else OTHER


def kind_of(value: Mapping[str, Any]) -> Kind:
    """Return the kind of a record, given as JSON; `OTHER` where it is not in the table."""
    return kind_named(value.get("kind"))


def kinds_of(place: str) -> list[Kind]:
    """Return the kinds of a scope, or of the place of pending turns."""
    return [kind for kind in KINDS.values() if kind.place == place]


def searched_scopes() -> list[MemoryScope]:
    """Return the scopes with kinds that are searched by meaning."""
    return [scope for scope in MemoryScope if any(kind.indexed for kind in kinds_of(scope))]


def filter_marks() -> set[str]:
    """Return the fields by which a search can filter."""
    return {"kind", *(mark for kind in KINDS.values() for mark in kind.marks)}


def title_of(value: Mapping[str, Any]) -> Any:
    """Return the short title of a record; empty where it has none."""
    return next((value[name] for name in kind_of(value).title if value.get(name)), "")


def about_of(value: Mapping[str, Any]) -> str:
    """Return the subject of a record, given as JSON, by name; empty for the user or no subject.

    >>> about_of({"about": "Lan"}), about_of({"about": "user"}), about_of({"kind": "message"})
    ('Lan', '', '')
    """
    name = str(value.get("about") or "")
    return "" if name == "user" else name


def speaker_of(value: Mapping[str, Any]) -> str:
    """Return the name of another person than the user who said a record, given as JSON, without marks; else empty.

    >>> speaker_of({"origin": "speaker", "speaker": "Bob [admin]"}), speaker_of({"origin": "user", "speaker": "Ann"})
    ('Bob admin', '')
    """
    name = str(value.get("speaker") or "") if value.get("origin") == Origin.SPEAKER else ""
    return " ".join(_MARKS.sub(" ", name).split())


_MARKS = re.compile(r"[\[\](){}<>,:]")


def origin_of(value: Mapping[str, Any]) -> Origin:
    """Return the provenance of a record, given as JSON; older records get theirs from their role or kind.

    >>> origin_of({"kind": "message", "role": "assistant"}).value
    'assistant'
    """
    if "origin" in value:
        return Origin(value["origin"])
    if "role" in value:
        return origin_of_role(value["role"])
    origin = kind_of(value).record.model_fields["origin"].default
    assert isinstance(origin, Origin)  # noqa: S101 - narrows for the type checker
    return origin
