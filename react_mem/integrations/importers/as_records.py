"""Neutral entries of other systems, the records they become, the owners of an import and its outcome."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from react_mem.memory import Document, Episode, Fact, Message, Origin, Record
from react_mem.memory.records import KINDS, MAX_INDEXED_CHARS, normalise, storable

# Entries of other systems in one neutral form, between the sources and the importer.

Role = Literal["user", "assistant", "system", "tool", "agent", "observer"]
BATCH = 200  # Entries that are read, and written, at a time
Told = Callable[[int, int | None], None]  # Progress callback: entries done, and the total where there is one
EntryKind = Literal["fact", "message", "document", "episode"]


def nobody_listens(_done: int, _total: int | None) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class ForeignEntry:
    """One memory of another system; the same `id` is the same memory."""

    id: str
    text: str
    kind: EntryKind = "fact"
    owner: str = ""  # by the source's name; empty where it names none
    owner_also: str = ""  # another name of the owner
    is_persons: bool = True  # false for an owner such as an agent, who has no memory here
    at: datetime | None = None  # first written; None where unknown
    updated_at: datetime | None = None  # last confirmed or changed, where later
    misdated: bool = False  # true where the source gives an impossible time
    about: str = "user"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expired_at: datetime | None = None  # from then on the source itself no longer believes the fact
    conversation: str = ""
    role: Role = "user"
    speaker: str = ""
    turn: int = 0  # place of a message in the conversation
    title: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""  # in the file, such as a line, for an entry whose id is generated

    @property
    def called(self) -> str:
        """Return the name of the entry in messages to a person."""
        return self.place or f"{self.kind} {self.id}"[:80]


@dataclass(frozen=True)
class UnusableEntry:
    """Part of a source that becomes no memory, with its place and the reason, by which outcomes count."""

    place: str
    reason: str


class NothingToImportError(ValueError):
    """Error for a source without any usable entry: empty, or of another system."""


Entry = ForeignEntry | UnusableEntry
Entries = Sequence[Entry]


class ForeignSource(Protocol):
    """Memories of another system, which can be read more than once."""

    @property
    def name(self) -> str:
        """Name of the system."""

    @property
    def personal(self) -> bool:
        """True for the export of one person: the only owner it names becomes the user of the import."""

    def batches(self) -> AsyncIterator[Entries]:
        """Yield the entries from the beginning, in batches; ValueError names place, cause and cure."""


def digest_of(*parts: str) -> str:
    """Return a short hash of the parts, which does not reveal them."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


DOCUMENT = KINDS["document"]
EPISODE = KINDS["episode"]
MESSAGE = KINDS["message"]
MAX_TEXT = 1_000_000  # Characters of one entry; a longer one is a file and no memory
_MAX_ABOUT = 100
_MAX_TITLE = 300
_MAX_NOTE = 500


def as_record(source: str, entry: ForeignEntry) -> Record:
    """Return the record of an entry with a text."""
    text = storable(entry.text).strip()
    at = entry.at or datetime.now(UTC)
    common: dict[str, Any] = {
        "created_at": at,
        # no thread of this system has it
        "session_id": f"{source}:{storable(entry.conversation)}" if entry.conversation else f"import:{source}",
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
    told = {"id": DOCUMENT.id(uri, text), "uri": uri, "title": storable(entry.title)[:_MAX_TITLE], "text": text}
    return _noted(Document, source, entry, {**common, **told})


def _finite(value: Any) -> Any:
    """Return a value with None for the numbers that JSON lacks (NaN, infinity)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list) else value


def is_unnoted(entry: ForeignEntry, record: Record) -> bool:
    """Return true if the notes of an entry did not fit into the metadata of its record."""
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
        # a fact that was over when it was written is history from the beginning
        "retired_at": entry.expired_at,
        "current": entry.expired_at is None and not over,
    }


def _noted(kind: type[Record], source: str, entry: ForeignEntry, data: dict[str, Any]) -> Record:
    where = {"source": source, "id": storable(entry.id)[:_MAX_NOTE]}
    try:
        return kind.model_validate({**data, "meta": {**_finite(storable(dict(entry.notes))), **where}})
    except (ValidationError, RecursionError):
        return kind.model_validate({**data, "meta": where})


# Reasons for leaving an entry that was imported before as it is.

FORGOTTEN = "was imported before, and has been forgotten since"
KEPT = "says something else at its source by now; what was corrected or said again here, or is over, stays as it is"
OLDER = "is an older version of what was imported of it"
SAID = "says something else here or at its source by now; a message stays as it was imported"

# Reasons for leaving an entry as it is that are no fault of the import
SETTLED = frozenset({FORGOTTEN, KEPT, OLDER, SAID})


# Outcome of an import: how many entries became memories, which were there, and why the rest became none.

_EXAMPLES = 3  # Places named for each reason


@dataclass
class ImportOutcome:
    """Outcome of an import, or of a dry run: counts of entries, by owner where they became or are memories."""

    dry_run: bool = False
    added: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)  # remembered already: imported before, or in the same words
    kinds: Counter[str] = field(default_factory=Counter)  # of the new memories
    skipped: Counter[str] = field(default_factory=Counter)  # by reason
    places: dict[str, list[str]] = field(default_factory=dict)  # the first places of these, by reason
    undated: int = 0  # with an impossible time, which got a neighbour's or the time of the import
    to_read: int = 0  # turns queued for fact extraction by a worker
    updated: Counter[str] = field(default_factory=Counter)  # imported earlier, replaced by the source's newer version
    same: Counter[str] = field(default_factory=Counter)  # known, and not imported before: others say the same
    own: int = 0  # new internal records of an export of this system, which are no memories
    unnoted: int = 0  # memories without the source's metadata, which was too large

    @property
    def owners(self) -> list[str]:
        """Owners of all memories added, updated or known, sorted."""
        return sorted({*self.added, *self.updated, *self.known})

    @property
    def is_nothing(self) -> bool:
        """Return true if every entry was skipped, and not only because of later changes by the user."""
        is_any = self.added.total() + self.updated.total() + self.known.total() + self.own
        return not is_any and bool(self.skipped.keys() - SETTLED)

    def skip(self, place: str, reason: str) -> None:
        """Count an entry that became no memory, with its place and the reason."""
        self.skipped[reason] += 1
        named = self.places.setdefault(reason, [])
        if len(named) < _EXAMPLES:
            named.append(place)

    def skipped_in_words(self) -> list[str]:
        """Return a line for each reason, with the first places."""
        return [
            f"{count} skipped: {reason} ({', '.join(places)}{', ...' if count > len(places) else ''})"
            for reason, count in self.skipped.most_common()
            for places in [self.places.get(reason, [])]
        ]

    def unnoted_in_words(self) -> str:
        """Return a sentence about the memories without their source's metadata."""
        return (
            f"{self.unnoted} {'is' if self.unnoted == 1 else 'are'} kept without what the source has beside the memory "
            f"(`meta`, `metadata`): more than 4,000 bytes, or what is no JSON, is not kept"
        )

    def to_data(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
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


# Owners of an import: from the names of the source to the users here.

MAX_USER = 512  # Characters of a user id, as in a run's context
_SHOWN = 5


@dataclass(frozen=True)
class ImportOwners:
    """Choice of the owners of an import; by default each entry keeps the owner that the source names.

    With `mapped`, from names of the source to users, others' entries are skipped; the empty name stands for no owner.
    """

    user: str = ""  # of everything; allowed where the source names at most one owner
    mapped: Mapping[str, str] = field(default_factory=dict)
    nobodys: str = ""  # owner of the entries that name none

    def check(self, named: Collection[str], *, personal: bool, nobody: Collection[str] = ()) -> ImportOwners:
        """Return the choice for a source that names these owners; `nobody` are agents and the like among them.

        Raises ValueError if several owners would become one user, or an agent's memories have no user to go to.
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

    def of(self, named: str, also: str = "") -> str:
        """Return the owner here for an owner of the source, or for its other name; empty for none."""
        if self.user:
            return self.user
        if self.mapped:
            return self.mapped.get(named) or (self.mapped.get(also, "") if also else "")
        return named or self.nobodys


def names_shown(named: Collection[str]) -> str:
    """Return some owners of a source for a message."""
    shown = ", ".join(repr(name)[:60] for name in sorted(named)[:_SHOWN])
    return shown + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")


def why_no_owner(user_id: str) -> str:
    """Return the reason why a name is no valid user id; empty for a valid one."""
    if not user_id:
        return "belongs to nobody who was named"
    if len(user_id) > MAX_USER or not user_id.isprintable():
        return f"names an owner who is not 1 to {MAX_USER} printable characters"
    return ""
