"""Entries that anybody can write: JSON Lines, or an array, of objects with a `text` and what else is known of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast, get_args

from react_mem.integrations.importers.file_source import NO_OBJECT, FileSource, text_of
from react_mem.integrations.importers.foreign_entry import (
    EntryKind,
    ForeignEntry,
    NothingToImportError,
    Role,
    UnusableEntry,
    digest_of,
)
from react_mem.integrations.importers.import_times import time_in, written_at
from react_mem.integrations.importers.json_stream import json_elements

_FILES = re.compile(r"\.jsonl?$", re.IGNORECASE)
_TIMES = ("created_at", "updated_at", "valid_from", "valid_to")
_OF_A_MESSAGE = ("conversation", "role", "speaker")
_FIELDS = {"text", "id", "user", "kind", "about", "title", "outcome", "steps", "meta", *_TIMES, *_OF_A_MESSAGE}


class JsonlEntries(FileSource):
    """Memories in fields that are documented."""

    name = "jsonl"

    def entries(self) -> Iterator[ForeignEntry | UnusableEntry]:
        """Yield the entries, in their order; a message without a place follows the one before it."""
        turns: dict[tuple[str, str], int] = {}
        for name, stream in self.file.parts(_FILES):
            for element in json_elements(stream, name):
                place = element.place(name)
                if element.section:
                    raise NothingToImportError(
                        f"{place}: must be an object a line, or an array of them, and not one object"
                    )
                yield _entry(element.value, place, turns)


def _entry(value: Any, place: str, turns: dict[tuple[str, str], int]) -> ForeignEntry | UnusableEntry:
    if not isinstance(value, dict):
        return UnusableEntry(place, NO_OBJECT)
    if value.keys() == {"in", "record"}:
        raise ValueError(f"{place}: is of an export of this system, of which the first line is missing")
    if unknown := sorted(value.keys() - _FIELDS):
        return UnusableEntry(place, f"has a field {unknown[0]!r:.60}, of which nobody knows what it means")
    kind, role = value.get("kind") or "fact", value.get("role") or "user"
    if kind not in get_args(EntryKind):
        return UnusableEntry(place, f"has a `kind` that is none of {', '.join(get_args(EntryKind))}")
    if role not in get_args(Role):
        return UnusableEntry(place, f"has a `role` that is none of {', '.join(get_args(Role))}")
    if isinstance(value.get("user"), dict | list | bool):
        return UnusableEntry(place, "has a `user` that is neither a text nor a number")
    text, owner, where = (text_of(value.get(name)) for name in ("text", "user", "conversation"))
    told = str(value.get("created_at") or "")
    at, misdated = written_at(value.get("created_at"))
    updated_at, is_odd = written_at(value.get("updated_at"))
    turn = 0
    if kind == "message":
        turn = turns[owner, where] = turns.get((owner, where), -1) + 1
    # what has no id is told by what it says, and in a conversation by its place there
    own_id = text_of(value.get("id"))
    id_ = own_id or digest_of(kind, text, told, role, str(turn))
    steps = value.get("steps")
    notes = value.get("meta")
    return ForeignEntry(
        id=id_,
        place="" if own_id else place,
        text=text,
        kind=cast("EntryKind", kind),
        owner=owner,
        at=at,
        misdated=misdated or is_odd,
        updated_at=updated_at,
        valid_from=time_in(value.get("valid_from")),
        valid_to=time_in(value.get("valid_to")),
        about=text_of(value.get("about")) or "user",
        conversation=where,
        role=cast("Role", role),
        speaker=text_of(value.get("speaker")),
        turn=turn,
        title=text_of(value.get("title")),
        outcome=text_of(value.get("outcome")),
        steps=tuple(map(text_of, steps)) if isinstance(steps, list) else (),
        notes=notes if isinstance(notes, dict) else {} if notes is None else {"meta": notes},
    )
