"""Graphs of Zep and Graphiti: facts on edges with the times of their validity, and the episodes behind them.

{"nodes": [...], "edges": [...], "episodes": [...]}, or an array of edges or episodes, with the fields of Graphiti's
`EntityEdge`, `EpisodicNode` and `EntityNode`, or those of Zep's `Edge`, `Episode` and `Node`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from react_mem.integrations.importers.as_records import Entry, ForeignEntry, Role, UnusableEntry
from react_mem.integrations.importers.foreign_fields import JSON_FILES, NO_OBJECT, noted, text_of, time_in, written_at
from react_mem.integrations.importers.import_files import Element, ImportFile

_ROLES: Mapping[str, Role] = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_SPOKEN = re.compile(r"\s*([^:\n]{1,100}):\s")
_OWNERS = ("user_id", "group_id", "graph_id", "graph_uuid")
"""Fields that name the owner; a group and a graph are owners too, since Graphiti has users as groups."""

_OF_AN_EDGE = frozenset({"source_node_uuid", "target_node_uuid", "source_node", "target_node"})
_OF_AN_EPISODE = frozenset({"source_description", "entity_edges"})
"""Fields that nodes do not have."""

_MAX_NAMES = 1_000_000


def zep_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield facts, messages and documents of a graph; nodes give the facts their subjects' names."""
    names = _names(file)
    turns: dict[str, int] = {}
    for element in file.elements(JSON_FILES):
        section, value, place = element.section, element.value, element.place
        if not isinstance(value, dict):
            if not section or section in ("nodes", "edges", "episodes"):
                yield UnusableEntry(place, NO_OBJECT)
        elif any(isinstance(value.get(name), dict | list | bool) for name in _OWNERS):
            yield UnusableEntry(place, "names an owner that is neither a text nor a number")
        elif _is_edge(element):
            yield _fact(value, place, names)
        elif _is_episode(element):
            yield _episode(value, place, turns)
        elif "name" in value:
            yield UnusableEntry(place, "is a node: what its summary says, its facts say")
        else:
            yield UnusableEntry(place, "is neither an edge with a `fact` nor an episode with a `content`")


def _names(file: ImportFile) -> dict[str, str]:
    """Return the names of the nodes, by uuid."""
    names: dict[str, str] = {}
    for element in file.elements(JSON_FILES):
        node = element.value
        if len(names) < _MAX_NAMES and isinstance(node, dict) and not (_is_edge(element) or _is_episode(element)):
            uuid, name = text_of(node.get("uuid")), _name_of(node)
            if uuid and name:
                names[uuid] = name
    return names


def _is_edge(element: Element) -> bool:
    """Return true for an edge, even without its fact."""
    fields = element.value.keys()
    return "fact" in fields or ("content" not in fields and (element.section == "edges" or bool(fields & _OF_AN_EDGE)))


def _is_episode(element: Element) -> bool:
    """Return true if an object that is no edge is an episode or a message, even without its content."""
    fields = element.value.keys()
    return "content" in fields or element.section in ("episodes", "messages") or bool(fields & _OF_AN_EPISODE)


def _name_of(node: Mapping[str, Any]) -> str:
    """Return the name of a node; "user" for the user's own."""
    labels = node.get("labels")
    return "user" if isinstance(labels, list) and "User" in labels else text_of(node.get("name"))


def _owner_of(value: Mapping[str, Any]) -> str:
    return next((owner for name in _OWNERS if (owner := text_of(value.get(name)))), "")


def _fact(value: dict[str, Any], place: str, names: Mapping[str, str]) -> Entry:
    text, id_ = text_of(value.get("fact")), text_of(value.get("uuid"))
    if not id_ or not text.strip():
        return UnusableEntry(place, "has no `uuid` or no `fact`")
    source, target = value.get("source_node"), value.get("target_node")
    about = (
        text_of(value.get("source_node_name"))
        or (_name_of(source) if isinstance(source, dict) else "")
        or names.get(text_of(value.get("source_node_uuid")), "")
    )
    other = (
        text_of(value.get("target_node_name"))
        or (_name_of(target) if isinstance(target, dict) else "")
        or names.get(text_of(value.get("target_node_uuid")), "")
    )
    at, misdated = written_at(value.get("created_at"), value.get("valid_at"))
    return ForeignEntry(
        id=id_,
        text=text,
        owner=_owner_of(value),
        at=at,
        misdated=misdated,
        about=about or "user",
        valid_from=time_in(value.get("valid_at")),
        valid_to=time_in(value.get("invalid_at")),
        expired_at=time_in(value.get("expired_at")),
        notes={**noted(value, "name", "fact_name", "episodes", "attributes"), **({"target": other} if other else {})},
    )


def _episode(value: dict[str, Any], place: str, turns: dict[str, int]) -> Entry:
    text, id_ = text_of(value.get("content")), text_of(value.get("uuid"))
    if not id_ or not text.strip():
        return UnusableEntry(place, "has no `uuid` or no `content`")
    at, misdated = written_at(value.get("valid_at"), value.get("reference_time"), value.get("created_at"))
    said: dict[str, Any] = {"owner": _owner_of(value), "at": at, "misdated": misdated}
    where = text_of(value.get("thread_id") or value.get("thread_uuid") or value.get("source_description"))
    if value.get("source") not in ("message", None) or not ("source" in value or "role" in value):
        title = text_of(value.get("name") or value.get("source_description"))
        return ForeignEntry(id=id_, text=text, kind="document", title=title, conversation=where, **said)
    role = text_of(value.get("role"))
    speaker = text_of(value.get("role_name") or (value.get("name") if role else ""))
    if not role and (spoken := _SPOKEN.match(text)):
        # Graphiti writes the speaker before the words
        role, text = spoken[1].strip(), text[spoken.end() :]
        speaker = "" if role.lower() in _ROLES else role
    place_ = f"{said['owner']}/{where}"
    turns[place_] = turns.get(place_, -1) + 1
    return ForeignEntry(
        id=id_,
        text=text,
        kind="message",
        conversation=where or "episodes",
        role=_ROLES.get(role.lower(), "observer"),
        speaker=speaker,
        turn=turns[place_],
        **said,
    )
