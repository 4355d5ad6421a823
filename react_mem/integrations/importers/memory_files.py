"""Files of memories: exports of Mem0 and of the graphs of Zep and Graphiti, JSON Lines, and lists in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, cast, get_args

from react_mem.integrations.importers import import_files
from react_mem.integrations.importers.as_records import (
    Entry,
    EntryKind,
    ForeignEntry,
    NothingToImportError,
    Role,
    UnusableEntry,
    digest_of,
)
from react_mem.memory.records import normalise

# Exports of memory services: Mem0, and the graphs of Zep and Graphiti.

# Memories of Mem0, as `get_all()` of its open-source library and its platform returns them, and as it exports them.

_SECTIONS = ("", "results", "memories", "history")
_PAGE = ("count", "next", "previous")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_OF_NO_USER = ("agent_id", "app_id", "run_id")
_CURE = "give what `get_all()` returned, as JSON"
_NOTED = ("agent_id", "app_id", "run_id", "actor_id", "role", "attributed_to", "categories", "metadata")


def mem0_entries(file: import_files.ImportFile) -> Iterator[Entry]:
    """Yield the memories of Mem0; an assistant's statement is a message of the assistant."""
    any_file, turns = False, count()
    for name, stream in file.parts(import_files.JSON_FILES):
        any_file = True
        found, strange = False, False
        for element in import_files.json_elements(stream, name):
            section, place = element.section, element.place
            if section == "relations":
                yield UnusableEntry(place, "is a relation between two names, which the memories say in words")
            elif section in _SECTIONS:
                found = True
                yield _entry(_read(element.value), place, turns)
            else:
                strange = strange or section not in _PAGE
        if strange and not found:
            told = 'has no memories of Mem0, neither an array nor {"results": [...]}'
            raise NothingToImportError(f"{name}: {told}; {_CURE}")
    if not any_file:
        raise NothingToImportError(f"{file.name}: has no file of JSON in it; {_CURE}")


def _read(value: Any) -> Any:
    """Return an element with the field names of Mem0's Python library in the place of the TypeScript ones."""
    if not isinstance(value, dict):
        return value
    return {**{_CAPITAL.sub("_", name).lower(): part for name, part in value.items()}, **value}


def _owner_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return the owner of a memory as fields of an entry; empty for none."""
    if user := import_files.text_of(value.get("user_id")):
        return {"owner": user}
    named = next((f"{name} {id_}" for name in _OF_NO_USER if (id_ := import_files.text_of(value.get(name)))), "")
    return {"owner": named, "is_persons": False} if named else {}


def _said_by(value: Mapping[str, Any]) -> Role:
    """Return the role of the speaker behind a memory, `user` for an unknown one."""
    named = import_files.text_of(value.get("attributed_to")) or import_files.text_of(value.get("role"))
    role = named.strip().lower()
    return _ROLES.get(role) or (cast("Role", role) if role in get_args(Role) else "user")


def _entry(value: Any, place: str, turns: Iterator[int]) -> Entry:
    if not isinstance(value, dict):
        return UnusableEntry(place, import_files.NO_OBJECT)
    if isinstance(value.get("user_id"), dict | list | bool):
        return UnusableEntry(place, "has a `user_id` that is neither a text nor a number")
    if "memory_id" in value and "event" in value:
        return UnusableEntry(place, "is of a memory's history: what it says now is in `get_all()`")
    text = import_files.text_of(value.get("memory") or value.get("data") or value.get("text"))
    id_ = import_files.text_of(value.get("id"))
    if not id_ or not text.strip():
        return UnusableEntry(place, "has no `id` or no `memory`")
    at, misdated = import_files.written_at(value.get("created_at"), value.get("updated_at"))
    updated_at, is_odd = import_files.written_at(value.get("updated_at"))
    said: dict[str, Any] = {}
    if (role := _said_by(value)) != "user":
        # no fact about the user, whatever it says
        who, where = (import_files.text_of(value.get(name)) for name in ("actor_id", "run_id"))
        said = {"kind": "message", "role": role, "speaker": who, "conversation": where, "turn": next(turns)}
    return ForeignEntry(
        id=id_,
        text=text,
        **_owner_of(value),
        **said,
        at=at,
        misdated=misdated or is_odd,
        updated_at=updated_at,
        valid_to=import_files.time_in(value.get("expiration_date")),
        notes=import_files.noted(value, *_NOTED),
    )


# Graphs of Zep and Graphiti: facts on edges with the times of their validity, and the episodes behind them.

_ROLES: Mapping[str, Role] = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_SPOKEN = re.compile(r"\s*([^:\n]{1,100}):\s")
# Fields that name the owner; a group and a graph are owners too, since Graphiti has users as groups
_OWNERS = ("user_id", "group_id", "graph_id", "graph_uuid")

_OF_AN_EDGE = frozenset({"source_node_uuid", "target_node_uuid", "source_node", "target_node"})
_OF_AN_EPISODE = frozenset({"source_description", "entity_edges"})  # Fields that nodes do not have
_MAX_NAMES = 1_000_000


def zep_entries(file: import_files.ImportFile) -> Iterator[Entry]:
    """Yield facts, messages and documents of a graph; nodes give the facts their subjects' names."""
    names = _names(file)
    turns: dict[str, int] = {}
    for element in file.elements(import_files.JSON_FILES):
        section, value, place = element.section, element.value, element.place
        if not isinstance(value, dict):
            if not section or section in ("nodes", "edges", "episodes"):
                yield UnusableEntry(place, import_files.NO_OBJECT)
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


def _names(file: import_files.ImportFile) -> dict[str, str]:
    names: dict[str, str] = {}
    for element in file.elements(import_files.JSON_FILES):
        node = element.value
        if len(names) < _MAX_NAMES and isinstance(node, dict) and not (_is_edge(element) or _is_episode(element)):
            uuid, name = import_files.text_of(node.get("uuid")), _name_of(node)
            if uuid and name:
                names[uuid] = name
    return names


def _is_edge(element: import_files.Element) -> bool:
    """Return true for an edge, even without its fact."""
    fields = element.value.keys()
    return "fact" in fields or ("content" not in fields and (element.section == "edges" or bool(fields & _OF_AN_EDGE)))


def _is_episode(element: import_files.Element) -> bool:
    """Return true if an object that is no edge is an episode or a message, even without its content."""
    fields = element.value.keys()
    return "content" in fields or element.section in ("episodes", "messages") or bool(fields & _OF_AN_EPISODE)


def _name_of(node: Mapping[str, Any]) -> str:
    labels = node.get("labels")
    return "user" if isinstance(labels, list) and "User" in labels else import_files.text_of(node.get("name"))


def _owner_of_graph(value: Mapping[str, Any]) -> str:
    return next((owner for name in _OWNERS if (owner := import_files.text_of(value.get(name)))), "")


def _fact(value: dict[str, Any], place: str, names: Mapping[str, str]) -> Entry:
    text, id_ = import_files.text_of(value.get("fact")), import_files.text_of(value.get("uuid"))
    if not id_ or not text.strip():
        return UnusableEntry(place, "has no `uuid` or no `fact`")
    about, other = (
        import_files.text_of(value.get(f"{end}_node_name"))
        or (_name_of(node) if isinstance(node := value.get(f"{end}_node"), dict) else "")
        or names.get(import_files.text_of(value.get(f"{end}_node_uuid")), "")
        for end in ("source", "target")
    )
    at, misdated = import_files.written_at(value.get("created_at"), value.get("valid_at"))
    return ForeignEntry(
        id=id_,
        text=text,
        owner=_owner_of_graph(value),
        at=at,
        misdated=misdated,
        about=about or "user",
        valid_from=import_files.time_in(value.get("valid_at")),
        valid_to=import_files.time_in(value.get("invalid_at")),
        expired_at=import_files.time_in(value.get("expired_at")),
        notes={
            **import_files.noted(value, "name", "fact_name", "episodes", "attributes"),
            **({"target": other} if other else {}),
        },
    )


def _episode(value: dict[str, Any], place: str, turns: dict[str, int]) -> Entry:
    text, id_ = import_files.text_of(value.get("content")), import_files.text_of(value.get("uuid"))
    if not id_ or not text.strip():
        return UnusableEntry(place, "has no `uuid` or no `content`")
    at, misdated = import_files.written_at(value.get("valid_at"), value.get("reference_time"), value.get("created_at"))
    said: dict[str, Any] = {"owner": _owner_of_graph(value), "at": at, "misdated": misdated}
    where = import_files.text_of(value.get("thread_id") or value.get("thread_uuid") or value.get("source_description"))
    if value.get("source") not in ("message", None) or not ("source" in value or "role" in value):
        title = import_files.text_of(value.get("name") or value.get("source_description"))
        return ForeignEntry(id=id_, text=text, kind="document", title=title, conversation=where, **said)
    role = import_files.text_of(value.get("role"))
    speaker = import_files.text_of(value.get("role_name") or (value.get("name") if role else ""))
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


# Entries that anybody can write: JSON Lines, and lists in Markdown.

# Our exchange format: JSON Lines or an array of objects with a `text` and optional fields.

_TIMES = ("created_at", "updated_at", "valid_from", "valid_to")
_OF_A_MESSAGE = ("conversation", "role", "speaker")
_FIELDS = {"text", "id", "user", "kind", "about", "title", "outcome", "steps", "meta", *_TIMES, *_OF_A_MESSAGE}


def jsonl_entries(file: import_files.ImportFile) -> Iterator[Entry]:
    """Yield the entries in order; a message follows the one before it in the same conversation."""
    turns: dict[tuple[str, str], int] = {}
    for element in file.elements(import_files.JSON_FILES):
        if element.section:
            told = "must be an object a line, or an array of them, and not one object"
            raise NothingToImportError(f"{element.place}: {told}")
        yield _plain_entry(element.value, element.place, turns)


def _plain_entry(value: Any, place: str, turns: dict[tuple[str, str], int]) -> Entry:
    if not isinstance(value, dict):
        return UnusableEntry(place, import_files.NO_OBJECT)
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
    text, owner, where = (import_files.text_of(value.get(name)) for name in ("text", "user", "conversation"))
    told = str(value.get("created_at") or "")
    at, misdated = import_files.written_at(value.get("created_at"))
    updated_at, is_odd = import_files.written_at(value.get("updated_at"))
    turn = 0
    if kind == "message":
        turn = turns[owner, where] = turns.get((owner, where), -1) + 1
    # without an id the words identify an entry, and in a conversation its place
    own_id = import_files.text_of(value.get("id"))
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
        valid_from=import_files.time_in(value.get("valid_from")),
        valid_to=import_files.time_in(value.get("valid_to")),
        about=import_files.text_of(value.get("about")) or "user",
        conversation=where,
        role=cast("Role", role),
        speaker=import_files.text_of(value.get("speaker")),
        turn=turn,
        title=import_files.text_of(value.get("title")),
        outcome=import_files.text_of(value.get("outcome")),
        steps=tuple(map(import_files.text_of, steps)) if isinstance(steps, list) else (),
        notes=notes if isinstance(notes, dict) else {} if notes is None else {"meta": notes},
    )


# Lists in Markdown: each item is a fact, such as memories that were copied from a page of settings.

_FILES_OF_MARKDOWN_LIST = re.compile(r"\.(md|markdown|txt)$", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_MAX_LINE = 1_000_000


def markdown_entries(file: import_files.ImportFile) -> Iterator[Entry]:
    """Yield the items with their indented continuation lines; text between lists is ignored."""
    for name, stream in file.parts(_FILES_OF_MARKDOWN_LIST):
        item, first = "", 0
        for number, line in enumerate(import_files.text_lines(stream, name, _MAX_LINE), start=1):
            found = _ITEM.match(line)
            if found is None and item and line[:1] in " \t" and line.strip():
                item = f"{item} {line.strip()}"
                continue
            yield from _said(item, name, first)
            item, first = (found[1].strip(), number) if found else ("", 0)
        yield from _said(item, name, first)


def _said(item: str, name: str, line: int) -> Iterator[Entry]:
    # nothing else tells an item in a list from another
    if item:
        yield ForeignEntry(id=digest_of("item", normalise(item)), text=item, place=f"{name}, line {line}")
    elif line:
        yield UnusableEntry(f"{name}, line {line}", "is an empty item")
