"""Contract of extraction: transcript and known facts in, checked proposals out. An extractor never writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Literal, Protocol

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel, Field

from react_mem.memory import telemetry
from react_mem.memory.language.secrets import kept_of, masked, secrets_in
from react_mem.memory.model.kinds import Kind, kind_named
from react_mem.memory.model.namespaces import READING, off_loop
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import REFUSED, Record, Role, SecretPolicy, fact_id, now

Relation = Literal["new", "same", "changes", "ends", "corrects", "unsure", "forget"]
"""Relation of a statement to a known fact: independent of it; the same in other words; its new state; its end; it
never was so; it may contradict it; the user asks to forget it.
"""


@dataclass(frozen=True)
class TranscriptMessage:
    """Message of the transcript.

    A message of the `context` was read before, and only resolves references. The `origin` of an answer made of a tool's
    result or a page is no higher than theirs. `snapshot` is true if the switching engine asks for one of its turn. The
    `speaker` is the name of who says it, where that is another person than the user.
    """

    id: str
    role: Role
    text: str
    at: datetime | None = None
    context: bool = False
    origin: Origin = Origin.USER
    snapshot: bool = False
    speaker: str = ""


@dataclass(frozen=True)
class ExistingMemory:
    """Known fact that the transcript may change or end.

    `at` is when it was last said, `until` its end, past or future; `also` has other wordings, for comparing, not shown.
    """

    id: str
    text: str
    about: str = "user"
    at: datetime | None = None
    until: datetime | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """Change to the facts, checked against the transcript; its fields mean the same as a `Fact`'s.

    Args:
        text: The user's statement, in their own words; empty where they only end or forget something.
        about: Its subject: `user`, or a name.
        target_id: The fact it changes, ends, corrects, repeats, doubts or forgets; None for a new one.
        quote: The user's exact words, where `text` differs.
        reading: The model's wording, for the index.
        topic: Words to find it by that are not in its text, for the index.
        speaker: The name of who says it, where that is another person than the user.
    """

    relation: Relation
    text: str
    about: str = "user"
    target_id: str | None = None
    quote: str = ""
    reading: str = ""
    source_ids: tuple[str, ...] = ()
    origin: Origin = Origin.USER
    event_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    needs: tuple[str, ...] = ()
    topic: str = ""
    speaker: str = ""

    @property
    def id(self) -> str:
        """Id of the fact it states."""
        return fact_id(self.about, self.text)


@dataclass(frozen=True)
class Unread:
    """User's words without a label of the extraction; they are stored verbatim."""

    text: str
    source_id: str


@dataclass(frozen=True)
class EpisodeDraft:
    """Attempt and its outcome. A milestone has a name, and a snapshot of a few sentences as its text.

    `situation` is the request that began it, in the user's words; `importance` is from 0 to 1.
    """

    goal: str
    steps: tuple[str, ...] = ()
    outcome: str = ""
    lessons: tuple[str, ...] = ()
    milestone: str = ""
    situation: str = ""
    snapshot: str = ""
    importance: float = 0.5
    origin: Origin = Origin.ASSISTANT


@dataclass(frozen=True)
class ProfileChange:
    """Change of one field of the user's profile; the latest value wins, an empty one clears the field."""

    field: str
    value: str
    source_ids: tuple[str, ...]


@dataclass(frozen=True)
class Extraction:
    """Result of one extraction.

    Args:
        profile_changes: Checked changes, each field at most once.
        summary: The request, the work and its result; empty if the model gave no usable one.
        standing: The messages with a standing instruction of the user.
        rejected: Reasons of the checks that refused a part of the model's answer, in words that are safe to show.
        calls: Number of model calls.
        complete: Whether the model saw every word of the user's and everything it sent is in the other fields. False
            when something was rejected, its answer broke off, or a message of the user's had to be cut or left out.
    """

    ops: tuple[Operation, ...] = ()
    unread: tuple[Unread, ...] = ()
    episode: EpisodeDraft | None = None
    profile_changes: tuple[ProfileChange, ...] = ()
    summary: str = ""
    standing: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    calls: int = 0
    complete: bool = True


class Extractor(Protocol):
    """Extractor of proposals from a transcript."""

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        """Ask the model for facts in the transcript, and check its answer against the transcript.

        There is no call if the user said nothing. Long messages are cut for the model: the user's at 4,000 characters,
        others at 600. Only the last 80 messages and the first 20 facts (the most relevant first) are shown. An
        unreadable answer is repaired once; the client's own retries are off. The deadline is in seconds from now.
        """


# Receipt of a forgetting, with its checks; and writes as values.

_READ_FROM_ROWS = frozenset({"arm", "arms", "cache", "caches", "export"})
"""First words of the checks of derived places: the rows themselves are checked too."""

UNREAD = "unread"  # first word of the checks that name a place never read


class Check(BaseModel, extra="forbid", frozen=True):
    """One look at a place that could still hold it.

    Args:
        name: Where was looked, such as `scope semantic`, `arm vector`, `cache last_known`, `export`.
        hits: How many records there are about it.
        ids: The first of them.
        problem: Why it could not be looked at; empty where it was. A place that is never read, whose name begins with
            `unread`, says so here.
    """

    name: str
    hits: int = 0
    ids: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_limit(self) -> bool:
        """True if it names a place that is never read."""
        return self.name.startswith(f"{UNREAD} ")


class Receipt(BaseModel, extra="forbid", frozen=True):
    """Receipt of what was forgotten, by ids and without a word of it, and of the checks afterwards.

    The thread keeps its messages: that of the conversation is the application's to delete.

    Args:
        at: When.
        removed: The ids of the records that are gone, by kind.
        rewritten: The ids of the records that stay, without it, by kind.
        messages: How many messages of the user's said it.
        checks: What was read again.
    """

    at: datetime = Field(default_factory=now)
    removed: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    rewritten: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    messages: int = 0
    checks: tuple[Check, ...] = ()

    @property
    def gone(self) -> frozenset[str]:
        """Ids of the removed records."""
        return frozenset(id_ for ids in self.removed.values() for id_ in ids)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of removed records, by kind."""
        return {kind: len(ids) for kind, ids in self.removed.items()}

    @property
    def problems(self) -> tuple[str, ...]:
        """Remaining records and failed checks, in words; empty where everything is gone as far as anybody looks."""
        return tuple(
            f"{check.name}: {check.problem or f'{check.hits} left'}"
            for check in self.checks
            if (check.problem or check.hits) and not check.is_limit
        )

    @property
    def left(self) -> tuple[Check, ...]:
        """Checks that found something."""
        return tuple(check for check in self.checks if check.hits)

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """Checks that could not be made: they prove nothing."""
        return tuple(check for check in self.checks if check.problem and not check.hits and not check.is_limit)

    @property
    def limits(self) -> tuple[Check, ...]:
        """Checks of places that are never read."""
        return tuple(check for check in self.checks if check.is_limit)

    @property
    def is_gone(self) -> bool:
        """True where the rows are gone: all of them were read, and no check found anything.

        A failed search, cache or export does not change that: it has no rows of its own.
        """
        missed = {check.name.split()[0] for check in self.unchecked}
        return not self.left and missed <= _READ_FROM_ROWS

    def in_short(self) -> str:
        """Return the receipt in a line, such as "2 removed, 1 rewritten; 17 checks, nothing left"."""
        gone, less = (sum(map(len, part.values())) for part in (self.removed, self.rewritten))
        left = "; ".join(f"{check.name}: {check.hits} left" for check in self.left) or "nothing left"
        looks = len(self.checks) - len(self.unchecked) - len(self.limits)
        told = f"{gone} removed, {less} rewritten; {looks} checks, {left}"
        if self.unchecked:
            rows = "The rows are gone. " if self.is_gone else ""
            told += f". {rows}Not looked at: {_listed(self.unchecked)}; ask again, and it is looked at again"
        if self.limits:
            told += f". Never looked at: {_listed(self.limits)}"
        return told


def _listed(checks: Iterable[Check]) -> str:
    return "; ".join(f"{check.name.removeprefix(f'{UNREAD} ')} ({check.problem})" for check in checks)


# Writes, as values: gathered first, applied in one batch by the facade.

Change = PutOp  # write in a batch: a record, or the removal of one
NO_FIELDS: list[str] = []
"""Index argument of a write that embeds nothing, so that nobody waits for an embedder. A `MemoryStore` finds such a
record by its words at once; other stores search the records themselves (see `memory.retrieval.stock_recall`).
"""


def put(user_id: str, record: Record, *, indexed: bool = True) -> Change:
    """Return the write of a record to the place of its kind; not `indexed`, nothing of it is embedded for now."""
    kind, value = kind_named(record.kind), record.to_value()
    return PutOp(kind.namespace(user_id), record.id, value, index=kind.index(value) if indexed else False)


def put_unembedded(user_id: str, record: Record) -> Change:
    """Return the write of a record that is found by its words alone until it is written again."""
    change = put(user_id, record)
    return change if change.index is False else change._replace(index=NO_FIELDS)


def delete(user_id: str, kind: Kind, id_: str) -> Change:
    """Return the removal of a record from the place of its kind."""
    return PutOp(kind.namespace(user_id), id_, None)


async def write(store: BaseStore, changes: Sequence[Change]) -> None:
    """Write a batch, all or nothing on a store with atomic batches."""
    with telemetry.span("write") as measured:
        measured.set(changes=len(changes))
        if isinstance(store, InMemoryStore):
            await _write_in_memory(store, changes)
        else:
            await store.abatch(list(changes))


async def _write_in_memory(store: InMemoryStore, changes: Sequence[Change]) -> None:
    # LangGraph's InMemoryStore fails on a batch in which two items to embed have the same text: one batch for each
    # repetition. The removal of a note, which says that work is done, is in the last: what is cut short is done again.
    once = list({(change.namespace, change.key): change for change in changes}.values())
    rest = [change for change in once if _embedded(change)]
    at_once = [change for change in once if not _embedded(change)]
    while True:
        batch: dict[str, Change] = {}
        for change in rest:
            batch.setdefault(_embedded(change), change)
        rest = [change for change in rest if batch[_embedded(change)] is not change]
        await store.abatch([*batch.values(), *([] if rest else at_once)])
        if not rest:
            return


def _embedded(change: Change) -> str:
    """Return the embedded text of a write; empty for a write that embeds nothing."""
    if change.value is None or change.index in (False, NO_FIELDS):
        return ""
    [field, *_] = change.index or ["text"]
    return str(change.value.get(field) or change.key)


async def discreet_text(text: str, policy: SecretPolicy = "mask") -> str:
    """Return a user's text without its secrets; a ValueError if it is off the record or holds a refused secret.

    A text of some length is read in a thread.

    >>> import asyncio
    >>> asyncio.run(discreet_text("My PIN is 4821."))
    'My PIN is [secret: code].'
    """
    return await off_loop(READING * len(text), partial(_discreet, text, policy))


def _discreet(text: str, policy: SecretPolicy) -> str:
    left = kept_of(text)
    if left is None:
        raise ValueError("text: is said off the record, so it is not kept")
    found = secrets_in(left) if policy == "refuse" else []
    if found:
        raise ValueError(REFUSED.format(found[0].kind))
    return left if policy == "keep" else masked(left)
