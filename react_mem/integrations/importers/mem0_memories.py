"""Memories of Mem0, as `get_all()` of its open-source library and its platform returns them, and as it exports them.

An array, {"results": [...]} (or "memories"), or JSON Lines of {"id", "memory", "user_id", "agent_id", "run_id",
"created_at", "updated_at", "expiration_date", "metadata", "categories"}; each page of the platform is a file. Rows of
the library's `history()`, {"memory_id", "old_memory", "new_memory", "event", ...}, become dated history of the
memory's owner; without the memory their owner is unknown. Memories of an agent, an app or a run alone belong to no
user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from react_mem.integrations.importers.as_records import Entry, ForeignEntry, NothingToImportError, UnusableEntry
from react_mem.integrations.importers.foreign_fields import JSON_FILES, NO_OBJECT, noted, text_of, time_in, written_at
from react_mem.integrations.importers.import_files import ImportFile, json_elements

_SECTIONS = ("", "results", "memories", "history")
_PAGE = ("count", "next", "previous")
_OF_NO_USER = ("agent_id", "app_id", "run_id")
_NAMES = {
    "userId": "user_id",
    "agentId": "agent_id",
    "appId": "app_id",
    "runId": "run_id",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "expirationDate": "expiration_date",
}
_MAX_IDS = 1_000_000
_NOTED = ("agent_id", "app_id", "run_id", "actor_id", "role", "categories", "metadata")


def mem0_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield the memories of Mem0, and their earlier versions as dated history."""
    owners = _owners(file)
    any_file = False
    for name, stream in file.parts(JSON_FILES):
        any_file = True
        found, strange = False, False
        for element in json_elements(stream, name):
            section, place = element.section, element.place
            if section == "relations":
                yield UnusableEntry(place, "is a relation between two names, which the memories say in words")
            elif section in _SECTIONS:
                found = True
                yield _entry(_read(element.value), place, owners)
            else:
                strange = strange or section not in _PAGE
        if strange and not found:
            raise NothingToImportError(
                f'{name}: has no memories of Mem0, neither an array nor {{"results": [...]}}; give what '
                "`get_all()` returned, as JSON"
            )
    if not any_file:
        raise NothingToImportError(f"{file.name}: has no file of JSON in it; give what `get_all()` returned, as JSON")


def _owners(file: ImportFile) -> dict[str, dict[str, Any]]:
    """Return the owners of the memories by id; empty without history, which alone needs them."""
    owners: dict[str, dict[str, Any]] = {}
    is_needed = False
    for element in file.elements(JSON_FILES):
        if not isinstance(value := _read(element.value), dict):
            continue
        if _is_past(value):
            is_needed = True
        elif len(owners) < _MAX_IDS:
            owners[text_of(value.get("id"))] = _owner_of(value)
    return owners if is_needed else {}


def _read(value: Any) -> Any:
    """Return an element with the field names of Mem0's Python library in the place of the TypeScript ones."""
    if not isinstance(value, dict):
        return value
    return {**{_NAMES[name]: part for name, part in value.items() if name in _NAMES}, **value}


def _is_past(value: dict[str, Any]) -> bool:
    return "memory_id" in value and "event" in value


def _owner_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return the owner of a memory as fields of an entry; empty for none."""
    if user := text_of(value.get("user_id")):
        return {"owner": user}
    named = next((f"{name} {id_}" for name in _OF_NO_USER if (id_ := text_of(value.get(name)))), "")
    return {"owner": named, "is_persons": False} if named else {}


def _entry(value: Any, place: str, owners: Mapping[str, dict[str, Any]]) -> Entry:
    if not isinstance(value, dict):
        return UnusableEntry(place, NO_OBJECT)
    if isinstance(value.get("user_id"), dict | list | bool):
        return UnusableEntry(place, "has a `user_id` that is neither a text nor a number")
    if _is_past(value):
        return _past(value, place, owners)
    text = text_of(value.get("memory") or value.get("data") or value.get("text"))
    id_ = text_of(value.get("id"))
    if not id_ or not text.strip():
        return UnusableEntry(place, "has no `id` or no `memory`")
    at, misdated = written_at(value.get("created_at"), value.get("updated_at"))
    updated_at, is_odd = written_at(value.get("updated_at"))
    return ForeignEntry(
        id=id_,
        text=text,
        **_owner_of(value),
        at=at,
        misdated=misdated or is_odd,
        updated_at=updated_at,
        valid_to=time_in(value.get("expiration_date")),
        notes=noted(value, *_NOTED),
    )


def _past(value: dict[str, Any], place: str, owners: Mapping[str, dict[str, Any]]) -> Entry:
    """Return the text of a memory before a change or deletion."""
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
        **(_owner_of(value) or owners.get(text_of(value["memory_id"]), {"owner_is_elsewhere": True})),
        at=min(began or changed, changed),
        misdated=misdated,
        valid_to=changed,
        expired_at=changed,
        notes=noted(value, "event", "actor_id", "role"),
    )
