"""Entries that anybody can write: JSON Lines, and lists in Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, cast, get_args

from react_mem.integrations.importers.as_records import (
    Entry,
    EntryKind,
    ForeignEntry,
    NothingToImportError,
    Role,
    UnusableEntry,
    digest_of,
)
from react_mem.integrations.importers.import_files import (
    JSON_FILES,
    NO_OBJECT,
    ImportFile,
    text_of,
    text_stream,
    time_in,
    written_at,
)
from react_mem.memory.records import normalise

# Our exchange format: JSON Lines or an array of objects with a `text` and optional fields.

_TIMES = ("created_at", "updated_at", "valid_from", "valid_to")
_OF_A_MESSAGE = ("conversation", "role", "speaker")
_FIELDS = {"text", "id", "user", "kind", "about", "title", "outcome", "steps", "meta", *_TIMES, *_OF_A_MESSAGE}


def jsonl_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield the entries in order; a message follows the one before it in the same conversation."""
    turns: dict[tuple[str, str], int] = {}
    for element in file.elements(JSON_FILES):
        if element.section:
            raise NothingToImportError(
                f"{element.place}: must be an object a line, or an array of them, and not one object"
            )
        yield _entry(element.value, element.place, turns)


def _entry(value: Any, place: str, turns: dict[tuple[str, str], int]) -> Entry:
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
    # without an id the words identify an entry, and in a conversation its place
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


# Lists in Markdown: each item is a fact, such as memories that were copied from a page of settings.

_FILES_OF_MARKDOWN_LIST = re.compile(r"\.(md|markdown|txt)$", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_MAX_LINE = 1_000_000


def markdown_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield the items with their indented continuation lines; text between lists is ignored."""
    for name, stream in file.parts(_FILES_OF_MARKDOWN_LIST):
        item, first, number = "", 0, 0
        lines = text_stream(stream)
        while line := _line(lines, name, number):
            number += 1
            found = _ITEM.match(line)
            if found is None and item and line[:1] in " \t" and line.strip():
                item = f"{item} {line.strip()}"
                continue
            yield from _said(item, name, first)
            item, first = (found[1].strip(), number) if found else ("", 0)
        yield from _said(item, name, first)


def _line(lines: io.TextIOWrapper, name: str, number: int) -> str:
    try:
        return lines.readline(_MAX_LINE)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}, behind line {number}: is not UTF-8 ({error.reason}); save it as UTF-8") from None


def _said(item: str, name: str, line: int) -> Iterator[Entry]:
    # nothing else tells an item in a list from another
    if item:
        yield ForeignEntry(id=digest_of("item", normalise(item)), text=item, place=f"{name}, line {line}")
    elif line:
        yield UnusableEntry(f"{name}, line {line}", "is an empty item")
