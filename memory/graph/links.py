"""Which memories are nodes, and which links follow from what a record says. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from react_mem.memory.model.records import record_id


class LinkKind(StrEnum):
    """Why one memory is linked with another."""

    SUPPORT = "support"
    SUMMARIZATION = "summarization"
    MILESTONE = "milestone"
    DEPENDENCY = "dependency"
    TIMELINE = "timeline"
    SEMANTIC = "semantic"

    # an enumeration's own is a function in Python, and every link is looked up by it
    __hash__ = str.__hash__


@dataclass(frozen=True)
class Node:
    """A memory, as far as the graph has to know it.

    Args:
        id: The record's.
        type: The record's kind, such as `fact`.
        scope: The scope that keeps the record.
        session_id: The conversation it came from; empty for none.
        at: When it was first believed, in UTC.
        turn: A message's place in its conversation.
    """

    id: str
    type: str
    scope: str
    session_id: str = ""
    at: str = ""
    turn: int | None = None

    @property
    def place(self) -> str:
        """Where it stands among those of its line: by this it is sorted."""
        return self.at if self.turn is None else f"{self.turn:09d} {self.at}"


@dataclass(frozen=True)
class Link:
    """A link between two memories.

    Args:
        source: The one that the link starts from: a fact, a summary.
        target: The one that it leads to: the message that supports the fact, what is summed up.
        kind: Why.
        weight: How strong it is, up to 1.
        at: When the later of the two was first believed, in UTC.
    """

    source: str
    target: str
    kind: LinkKind
    weight: float = 1.0
    at: str = ""


_NO_NODES = frozenset({"profile", "state", "conversation", "chain", "pending", "outcome"})
"""Records that no other memory comes from: how things stand, and bookkeeping. Every other kind is a node."""

_OF_SOURCES = {"summary": LinkKind.SUMMARIZATION}
_TOLD = {str(kind): kind for kind in LinkKind if kind is not LinkKind.TIMELINE}
"""What a record may say of itself: what comes after what is seen from when and where it was said."""


def node_of(scope: str, value: Mapping[str, Any]) -> Node | None:
    """Return the node that a record is; None where it is none.

    Args:
        scope: The scope it is kept in.
        value: The record, as the store has it.
    """
    id_, kind = value.get("id"), value.get("kind")
    if not isinstance(id_, str) or not isinstance(kind, str) or kind in _NO_NODES:
        return None
    turn = value.get("turn")
    return Node(
        id=id_,
        type=kind,
        scope=scope,
        session_id=str(value.get("session_id") or ""),
        at=in_utc(value.get("created_at")),
        turn=turn if kind == "message" and isinstance(turn, int) else None,
    )


def links_of(value: Mapping[str, Any]) -> list[Link]:
    """Return the links that follow from a record alone, each once; nobody has checked that there are such memories.

    - `source_ids`: what supports it; of a summary what it sums up, of a milestone what led to it.
    - `depends_on`: what a step of a task has to wait for; `needs`: what a fact holds only as long as it does.
    - `superseded_by`: the fact that came in its place.
    - `links`: whatever else its writer knows: an id that supports it, or {"to", "kind", "weight"}, each.

    Args:
        value: The record, as the store has it.

    >>> fact = {"id": "f", "kind": "fact", "source_ids": ["m", "m:steps"]}
    >>> [(link.target, str(link.kind)) for link in links_of(fact)]
    [('m', 'support')]
    """
    id_, kind, at = str(value.get("id")), str(value.get("kind")), in_utc(value.get("created_at"))
    found: dict[tuple[str, LinkKind], Link] = {}

    def add(targets: Iterable[Any], kind_: LinkKind, weight: float = 1.0) -> None:
        for target in targets:
            if isinstance(target, str) and target and target != id_:
                found.setdefault((target, kind_), Link(id_, target, kind_, weight, at))

    # a part of a message, such as the steps of its turn, is the message
    sources = (str(source).partition(":")[0] for source in value.get("source_ids") or ())
    is_milestone = kind == "episode" and value.get("level") == "milestone"
    add(sources, LinkKind.MILESTONE if is_milestone else _OF_SOURCES.get(kind, LinkKind.SUPPORT))
    add([*(value.get("depends_on") or ()), *(value.get("needs") or ())], LinkKind.DEPENDENCY)
    add([value.get("superseded_by")], LinkKind.TIMELINE)
    for link in value.get("links") or ():
        if isinstance(link, str):
            add([link], LinkKind.SUPPORT)
        elif isinstance(link, Mapping) and link.get("kind") in _TOLD:
            add([link.get("to")], _TOLD[str(link["kind"])], _weight(link.get("weight", 1.0)))
    return list(found.values())


def line_of(node: Node) -> str | None:
    """Return the line in which a memory follows on others of its kind: a conversation, a user's episodes.

    Returns:
        The key of the line; None for what stands in none.
    """
    if node.type == "message":
        return record_id("line", "message", node.session_id)
    return record_id("line", "episode") if node.type == "episode" else None


def in_utc(at: Any) -> str:
    """Return a time in the one form in which times can be compared as texts; empty where it is none.

    >>> in_utc("2026-03-01T09:00:00+07:00") == in_utc("2026-03-01T02:00:00Z")
    True
    """
    try:
        when = datetime.fromisoformat(str(at))
    except ValueError:
        return ""
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return when.astimezone(UTC).isoformat(timespec="microseconds")


def _weight(weight: Any) -> float:
    return min(max(float(weight), 0.0), 1.0) if isinstance(weight, int | float) else 1.0
