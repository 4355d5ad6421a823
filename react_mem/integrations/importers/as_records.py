"""Entries of other systems as records: dated as they were, trusted as what a file says."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from react_mem.integrations.importers.foreign_entry import ForeignEntry
from react_mem.memory import Document, Episode, Fact, Message, Origin, Record
from react_mem.memory.records import KINDS, MAX_INDEXED_CHARS, normalise, storable

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
