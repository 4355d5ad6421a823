"""Topics of an export, for a person: the profile, facts by whom they are about, what was drawn, what was said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from react_mem.memory.model.kinds import FACT, KINDS, MESSAGE, PROFILE, title_of

MAX_TITLE = 300

_TIMES = {
    "said_at": "said",
    "valid_from": "since",
    "valid_to": "until",
    "event_at": "about",
    "retired_at": "not believed since",
    "updated_at": "changed",
    "created_at": "written",
}
"""Times of a record that are shown with it, by what they are."""


def topics_of(entries: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the entries of an export by their topics, each in the order in which they are read.

    Args:
        entries: The lines of an export behind the first, read.
    """
    topics: dict[str, list[Mapping[str, Any]]] = {}
    for entry in sorted(entries, key=_place):
        topics.setdefault(_topic(entry), []).append(entry)
    return topics


def texts_of(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return what the records of an export say, by their ids."""
    return {str(entry["record"].get("id")): text_of_record(entry) for entry in entries}


def text_of_record(entry: Mapping[str, Any]) -> str:
    """Return what an entry of an export says, in short."""
    record = entry["record"]
    title = title_of(record) or record.get("ref") or record.get("id") or ""
    return title if isinstance(title, str) else json.dumps(title, ensure_ascii=False)


def told_of_record(record: Mapping[str, Any], texts: Mapping[str, str]) -> list[str]:
    """Return what is told beside what a record says: its times, who vouches for it, what it was and became.

    Args:
        record: The record.
        texts: What the records of the export say, by their ids.
    """
    told = [f"{name} {str(record[field])[:19]}" for field, name in _TIMES.items() if record.get(field)]
    if record.get("origin"):
        told.append(f"origin: {record['origin']}")
    if successor := record.get("superseded_by"):
        told.append(f"then: {texts.get(str(successor), str(successor))[:MAX_TITLE]}")
    wordings: Sequence[Mapping[str, Any]] = record.get("wordings") or ()
    return [*told, *(f"also put: {text_of_record({'record': wording})[:MAX_TITLE]}" for wording in wordings)]


def _place(entry: Mapping[str, Any]) -> tuple[int, str, str]:
    record = entry["record"]
    if PROFILE.matches(record):
        return 0, "", ""
    if FACT.matches(record):
        about = str(record.get("about") or "user")
        return (1, "", _when(record)) if about == "user" else (2, about, _when(record))
    order = [*KINDS]
    kind = str(record.get("kind", ""))
    place = order.index(kind) if kind in order else len(order)
    if MESSAGE.matches(record):
        return 3 + len(order), str(record.get("session_id", "")), _when(record)
    return 3 + place, kind, _when(record)


def _topic(entry: Mapping[str, Any]) -> str:
    record = entry["record"]
    if PROFILE.matches(record):
        return "Profile"
    if FACT.matches(record):
        about = str(record.get("about") or "user")
        return "Facts about the user" if about == "user" else f"Facts about {about}"
    if MESSAGE.matches(record):
        return f"Conversation {record.get('session_id', '')}"
    return str(record.get("kind") or entry["in"]).replace("_", " ").capitalize()


def _when(record: Mapping[str, Any]) -> str:
    return str(record.get("said_at") or record.get("created_at") or "")
