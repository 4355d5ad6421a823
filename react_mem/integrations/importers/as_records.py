"""Entries of other systems as records: dated as they were, trusted as what a file says."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from react_mem.integrations.importers.source_updates import SETTLED
from react_mem.memory import Document, Episode, Fact, Message, Origin, Record
from react_mem.memory.records import KINDS, MAX_INDEXED_CHARS, normalise, storable

# Entries of other systems in one neutral form: what a source is read into, and an importer writes.

Role = Literal["user", "assistant", "system", "tool", "agent", "observer"]

BATCH = 200
"""Entries that are read, and written, at a time."""

Told = Callable[[int, int | None], None]
"""Is told how many entries are done, and of how many."""

EntryKind = Literal["fact", "message", "document", "episode"]


def nobody_listens(_done: int, _total: int | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class ForeignEntry:
    """One memory of another system.

    Args:
        id: The system's own id of it: the same id is the same memory.
        text: What it says.
        kind: What it becomes.
        owner: Whose it is, as the system names them; empty where it does not say.
        owner_also: Another name that the system has for the same owner.
        is_persons: Whether the owner is somebody; an agent, say, is nobody, and has no memory here of its own.
        owner_is_elsewhere: Whether it is somebody's whom another entry names, which is not there.
        at: When it was first written; None where nobody knows.
        updated_at: When it was last confirmed or changed, where that is later.
        misdated: Whether the system gives a time that cannot be.
        about: Of a fact, whom or what it is about.
        valid_from: Since when it is true.
        valid_to: Until when.
        expired_at: Since when the system itself does not believe it any more.
        conversation: The conversation that it is of, as the system names it.
        role: Of a message, who says it.
        speaker: Of a message, the name of whoever says it.
        turn: Of a message, its place in the conversation, from 0.
        title: Of a document, what it is called.
        steps: Of an episode, what was done.
        outcome: Of an episode, how it ended.
        notes: What the system keeps beside it: ids and labels.
        place: Where it stands, such as a line, where the id is made up and tells nobody which one it is.
    """

    id: str
    text: str
    kind: EntryKind = "fact"
    owner: str = ""
    owner_also: str = ""
    is_persons: bool = True
    owner_is_elsewhere: bool = False
    at: datetime | None = None
    updated_at: datetime | None = None
    misdated: bool = False
    about: str = "user"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expired_at: datetime | None = None
    conversation: str = ""
    role: Role = "user"
    speaker: str = ""
    turn: int = 0
    title: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""

    @property
    def called(self) -> str:
        """Return what a person is told of which entry it is."""
        return self.place or f"{self.kind} {self.id}"[:80]


@dataclass(frozen=True)
class UnusableEntry:
    """Part of a source that becomes no memory.

    Args:
        place: Where it stands, such as a line.
        reason: Why, in words that are the same for all of its kind.
    """

    place: str
    reason: str


class NothingToImportError(ValueError):
    """A source has nothing that could become a memory: it is empty, or not what it was said to be."""


Entries = Sequence[ForeignEntry | UnusableEntry]


class ForeignSource(Protocol):
    """Memories of another system, which can be read more than once."""

    @property
    def name(self) -> str:
        """Return what the system is called."""

    @property
    def personal(self) -> bool:
        """Return whether it is one person's: whom it names is then whoever it is imported for."""

    def batches(self) -> AsyncIterator[Entries]:
        """Yield what is in it, from the beginning, some at a time.

        Raises:
            ValueError: If it cannot be read; the message says where and why, and what to do.
        """


def digest_of(*parts: str) -> str:
    """Return a short name of what these parts identify, from which nobody can tell them.

    >>> digest_of("mem0", "1") == digest_of("mem0", "1"), digest_of("mem0", "1") == digest_of("mem", "01")
    (True, False)
    """
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


DOCUMENT = KINDS["document"]
EPISODE = KINDS["episode"]
MESSAGE = KINDS["message"]

MAX_TEXT = 1_000_000
"""Characters of one entry. Whatever is longer is a file, and no memory."""

_MAX_ABOUT = 100
_MAX_TITLE = 300
_MAX_NOTE = 500


def session_of(source: str, conversation: str) -> str:
    """Return the conversation of an entry: no thread of this system has such a name."""
    return f"{source}:{storable(conversation)}" if conversation else f"import:{source}"


def as_record(source: str, entry: ForeignEntry) -> Record:
    """Return an entry as the record that it becomes.

    Args:
        source: The system it is from.
        entry: The entry, with a text.
    """
    text = storable(entry.text).strip()
    at = entry.at or datetime.now(UTC)
    common: dict[str, Any] = {
        "created_at": at,
        "session_id": session_of(source, entry.conversation),
        "agent_id": source,
        "origin": Origin.IMPORT,
    }
    match entry.kind:
        case "message":
            id_ = MESSAGE.id(common["session_id"], entry.id)
            said = {"role": entry.role, "speaker": storable(entry.speaker), "content": text, "turn": entry.turn}
            return _noted(Message, source, entry, {**common, **said, "id": id_, "text": text[:MAX_INDEXED_CHARS]})
        case "episode":
            goal = text[:MAX_INDEXED_CHARS]
            told = storable({"steps": list(entry.steps), "outcome": entry.outcome})
            words = " ".join(filter(None, [goal, told["outcome"]]))[:MAX_INDEXED_CHARS]
            id_ = EPISODE.id(common["session_id"], normalise(goal))
            return _noted(Episode, source, entry, {**common, **told, "id": id_, "goal": goal, "text": words})
        case "fact" if len(text) <= MAX_INDEXED_CHARS:
            return _noted(Fact, source, entry, {**common, **_fact(entry, text, at)})
    # a fact of several pages is a document: it is found by each of its pieces
    uri = storable(f"{source}:{entry.id}")
    title = storable(entry.title)[:_MAX_TITLE]
    return _noted(
        Document, source, entry, {**common, "id": DOCUMENT.id(uri, text), "uri": uri, "title": title, "text": text}
    )


def _finite(value: Any) -> Any:
    """Return a value with nothing in the place of numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list) else value


def is_unnoted(entry: ForeignEntry, record: Record) -> bool:
    """Return whether what the source keeps beside an entry was too much to be kept beside its record."""
    return any(storable(name) not in record.meta for name in entry.notes)


def _fact(entry: ForeignEntry, text: str, at: datetime) -> dict[str, Any]:
    name = " ".join(storable(entry.about).split())[:_MAX_ABOUT]
    about = "user" if normalise(name) in ("", "user") else name
    said_at = max(at, entry.updated_at or at)
    over = entry.valid_to is not None and entry.valid_to < said_at
    return {
        "id": Fact.identity(about, text),
        "text": text,
        "about": about,
        "said_at": said_at,
        "valid_from": entry.valid_from,
        "valid_to": entry.valid_to or entry.expired_at,
        # what was over when it was written is history from the beginning
        "retired_at": entry.expired_at,
        "current": entry.expired_at is None and not over,
    }


def _noted(kind: type[Record], source: str, entry: ForeignEntry, data: dict[str, Any]) -> Record:
    """Return a record with what the source keeps beside it, as far as that is small enough."""
    where = {"source": source, "id": storable(entry.id)[:_MAX_NOTE]}
    try:
        return kind.model_validate({**data, "meta": {**_finite(storable(dict(entry.notes))), **where}})
    except (ValidationError, RecursionError):
        return kind.model_validate({**data, "meta": where})


# Outcome of an import: how many entries became memories, which were there, and why the rest became none.

_EXAMPLES = 3
"""Places that are named of those with the same reason."""


@dataclass
class ImportOutcome:
    """Outcome of an import, or of one that wrote nothing.

    Args:
        dry_run: Whether nothing was written.
        added: Memories that are new, by owner.
        known: Entries that say what is remembered already, by owner: imported before, or known in the same words.
        kinds: Memories that are new, by kind.
        skipped: Entries that became no memory, by the reason.
        places: Some of their places, by the reason.
        undated: Entries whose own time cannot be: they are dated as what stands beside it, or with the import.
        unnoted: Entries that became memories without what their source keeps beside them, which is too large.
        to_read: Turns that were queued for a worker to draw facts from.
        updated: Memories that were imported before and say by now what their source says, by owner.
        same: Of the known entries, those that were not imported before: another one says the same, or what is
            remembered from elsewhere does.
        own: Records of an export that are new and no memories: memory keeps them for itself.
    """

    dry_run: bool = False
    added: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    undated: int = 0
    to_read: int = 0
    updated: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    own: int = 0
    unnoted: int = 0

    @property
    def owners(self) -> list[str]:
        """The owners of what was imported, or was there."""
        return sorted({*self.added, *self.updated, *self.known})

    @property
    def is_nothing(self) -> bool:
        """Tell whether all of it was skipped, and not because of what the user did with it since."""
        is_any = self.added.total() + self.updated.total() + self.known.total() + self.own
        return not is_any and bool(self.skipped.keys() - SETTLED)

    def skip(self, place: str, reason: str) -> None:
        """Count what became no memory.

        Args:
            place: Where it stands.
            reason: Why.
        """
        self.skipped[reason] += 1
        named = self.places.setdefault(reason, [])
        if len(named) < _EXAMPLES:
            named.append(place)

    def skipped_in_words(self) -> list[str]:
        """Return why entries became no memory, and where the first of each kind stand."""
        said = []
        for reason, count in self.skipped.most_common():
            places = self.places.get(reason, [])
            said.append(f"{count} skipped: {reason} ({', '.join(places)}{', ...' if count > len(places) else ''})")
        return said

    def unnoted_in_words(self) -> str:
        """Return how many memories came without what stood beside them, and why."""
        return (
            f"{self.unnoted} {'is' if self.unnoted == 1 else 'are'} kept without what the source has beside the memory "
            f"(`meta`, `metadata`): more than 4,000 bytes, or what is no JSON, is not kept"
        )

    def to_data(self) -> dict[str, Any]:
        """Return the outcome as JSON has it."""
        return {
            "dry_run": self.dry_run,
            "added": self.added.total(),
            "updated": self.updated.total(),
            "known": self.known.total(),
            "same": self.same.total(),
            "own_records": self.own,
            "kinds": dict(sorted(self.kinds.items())),
            "skipped": [
                {"reason": reason, "count": count, "such_as": self.places.get(reason, [])}
                for reason, count in self.skipped.most_common()
            ],
            "owners": {
                owner: {"added": self.added[owner], "updated": self.updated[owner], "known": self.known[owner]}
                for owner in self.owners
            },
            "undated": self.undated,
            "unnoted": self.unnoted,
            "to_read": self.to_read,
        }


# Owners of what is imported: whom a source names, and who that is here.

MAX_USER = 512
"""Characters of a user's id, as a run's context takes it."""

_SHOWN = 5


@dataclass(frozen=True)
class ImportOwners:
    """Choice of the owners of an import.

    Args:
        user: The one owner of everything: for a source that names one owner, or none.
        mapped: Owners here, by the names that the source has for them; what is anybody else's stays out. The empty name
            stands for what the source says of nobody.
        nobodys: The owner of what the source says of nobody, where each keeps the owner that the source names.
    """

    user: str = ""
    mapped: Mapping[str, str] = field(default_factory=dict)
    nobodys: str = ""

    def check(self, named: Collection[str], *, personal: bool, nobody: Collection[str] = ()) -> ImportOwners:
        """Return the choice for a source that names these owners.

        Args:
            named: The owners, without the empty one.
            personal: Whether the source is one person's.
            nobody: Those among them who are no person.

        Raises:
            ValueError: If everything is to be one user's, and the source names several; or if nobody says whose it
                becomes what is no person's.
        """
        if self.user and len(named) > 1:
            raise ValueError(
                f"it has the memories of {len(named)} owners ({names_shown(named)}), which cannot all be one user's: "
                "say whose is whose (react-mem import --map NAME=USER, more than once), or leave --user out there, and "
                "each keeps their own"
            )
        if nobody and not self.user and not self.mapped:
            raise ValueError(
                f"it has memories of no user, but of {names_shown(nobody)}: say whose they become (react-mem import "
                "--map NAME=USER, more than once, and what is anybody else's stays out)"
            )
        if not self.user and not self.mapped and personal and len(named) == 1 and self.nobodys:
            return ImportOwners(user=self.nobodys)
        return self

    def of(self, named: str, also: str = "", *, elsewhere: bool = False) -> str:
        """Return who an owner of the source is here; empty where nobody is.

        Args:
            named: What the source calls them.
            also: What else it calls them.
            elsewhere: Whether they are somebody whom the source does not name here: nobody else's owner is theirs.
        """
        if self.user:
            return self.user
        if self.mapped:
            return self.mapped.get(named) or (self.mapped.get(also, "") if also else "")
        return named or ("" if elsewhere else self.nobodys)


def names_shown(named: Collection[str]) -> str:
    """Return some owners of a source as a message names them."""
    shown = ", ".join(repr(name)[:60] for name in sorted(named)[:_SHOWN])
    return shown + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")


OWNER_ELSEWHERE = (
    "is of a memory that is not in this import, which alone says whose it is; give the memories in the same import, or "
    "say whose it becomes (--user)"
)
"""Reason for which an entry becomes no memory whose owner only another one names."""


def why_no_owner(user_id: str) -> str:
    """Return why a name cannot be an owner's; empty where it can."""
    if not user_id:
        return "belongs to nobody who was named"
    if len(user_id) > MAX_USER or not user_id.isprintable():
        return f"names an owner who is not 1 to {MAX_USER} printable characters"
    return ""
