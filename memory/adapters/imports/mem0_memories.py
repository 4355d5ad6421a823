"""Mem0's memories, as `get_all()` of its open-source library and of its platform returns them, and as it exports them.

An array, {"results": [...]} (or "memories"), or JSON Lines of {"id", "memory", "user_id", "agent_id", "run_id",
"created_at", "updated_at", "expiration_date", "metadata", "categories"}; each page of the platform is a file. Rows of
the library's `history()`, {"memory_id", "old_memory", "new_memory", "event", ...}, become dated history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from react_mem.memory.adapters.imports.file_source import NO_OBJECT, FileSource, noted, text_of
from react_mem.memory.adapters.imports.import_times import time_in, written_at
from react_mem.memory.adapters.imports.json_stream import json_elements
from react_mem.memory.rights.importing.foreign_entry import ForeignEntry, UnusableEntry

_FILES = re.compile(r"\.jsonl?$", re.IGNORECASE)
_SECTIONS = ("", "results", "memories", "history")
_PAGE = ("count", "next", "previous")
_NOTED = ("agent_id", "app_id", "run_id", "actor_id", "role", "categories", "metadata")


class Mem0Memories(FileSource):
    """Memories of Mem0."""

    name = "mem0"

    def entries(self) -> Iterator[ForeignEntry | UnusableEntry]:
        """Yield the memories, and what an earlier version of one said as dated history."""
        for name, stream in self.file.parts(_FILES):
            found, strange = False, False
            for section, line, value in json_elements(stream, name):
                place = f"{name}, line {line}"
                if section == "relations":
                    yield UnusableEntry(place, "is a relation between two names, which the memories say in words")
                elif section in _SECTIONS:
                    found = True
                    yield _entry(value, place)
                else:
                    strange = strange or section not in _PAGE
            if strange and not found:
                raise ValueError(
                    f'{name}: has no memories of Mem0, neither an array nor {{"results": [...]}}; give what '
                    "`get_all()` returned, as JSON"
                )


def _entry(value: Any, place: str) -> ForeignEntry | UnusableEntry:
    if not isinstance(value, dict):
        return UnusableEntry(place, NO_OBJECT)
    if "memory_id" in value and "event" in value:
        return _past(value, place)
    text = text_of(value.get("memory") or value.get("data") or value.get("text"))
    id_ = text_of(value.get("id"))
    if not id_ or not text.strip():
        return UnusableEntry(place, "has no `id` or no `memory`")
    at, misdated = written_at(value.get("created_at"), value.get("updated_at"))
    return ForeignEntry(
        id=id_,
        text=text,
        owner=text_of(value.get("user_id")),
        at=at,
        misdated=misdated,
        updated_at=written_at(value.get("updated_at"))[0],
        valid_to=time_in(value.get("expiration_date")),
        notes=noted(value, *_NOTED),
    )


def _past(value: dict[str, Any], place: str) -> ForeignEntry | UnusableEntry:
    """Return what a memory said before it was changed or deleted."""
    text = text_of(value.get("old_memory"))
    if not text.strip():
        return UnusableEntry(place, "is the beginning of a memory's history: what it says now is in `get_all()`")
    changed, misdated = written_at(value.get("updated_at"), value.get("created_at"))
    began = written_at(value.get("created_at"))[0]
    if changed is None:
        return UnusableEntry(place, "is history without a time")
    return ForeignEntry(
        id=f"{text_of(value['memory_id'])}/{text_of(value.get('id'))}",
        text=text,
        owner=text_of(value.get("user_id")),
        at=min(began or changed, changed),
        misdated=misdated,
        valid_to=changed,
        expired_at=changed,
        notes=noted(value, "event", "actor_id", "role"),
    )
