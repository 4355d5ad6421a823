"""Nodes and links that follow from records. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from react_mem.memory.model.kinds import EPISODE, MESSAGE, SUMMARY, kind_named, kind_of
from react_mem.memory.model.records import Level, with_zone


class LinkKind(StrEnum):
    """Kind of a link: the reason for it."""

    SUPPORT = "support"
    SUMMARIZATION = "summarization"
    MILESTONE = "milestone"
    DEPENDENCY = "dependency"
    TIMELINE = "timeline"
    SEMANTIC = "semantic"

    # an enumeration's own is a function in Python, and every link is looked up by it
    __hash__ = str.__hash__


class Node(NamedTuple):
    """A memory, as far as the graph has to know it: a tuple, as links are, because thousands are made at once.

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
    def place(self) -> tuple[int, str, str]:
        """Return the position on its line, by which it is sorted."""
        return (0, self.at, self.id) if self.turn is None else (self.turn, "", self.id)


class Link(NamedTuple):
    """A link between two memories.

    Args:
        source: The one that the link starts from: a fact, a summary.
        target: The one that it leads to: the message that supports the fact, what is summed up.
        kind: Why.
        weight: How strong it is, up to 1.
        at: When the later of the two was first believed, in UTC.
        mutual: Whether it leads both ways.
    """

    source: str
    target: str
    kind: LinkKind
    weight: float = 1.0
    at: str = ""
    mutual: bool = False


_FIELDS = {
    "source_ids": LinkKind.SUPPORT,
    "linked_steps": LinkKind.SUPPORT,
    "depends_on": LinkKind.DEPENDENCY,
    "needs": LinkKind.DEPENDENCY,
    "superseded_by": LinkKind.TIMELINE,
    "episodes": LinkKind.SUMMARIZATION,
    "task_preferences": LinkKind.SUMMARIZATION,
}
"""The fields that name other records, and why those are linked. The function `memory_target_keys` of the database reads
these, `links` and `alike`: a further field needs a migration."""

_NAMING = (*_FIELDS, "links", "alike")

_OF_SOURCES = {SUMMARY.name: LinkKind.SUMMARIZATION}
"""Kind of a link other than support, by the kind of the record."""

_TOLD = {str(kind): kind for kind in LinkKind if kind is not LinkKind.TIMELINE}
"""Kinds of links that a record names itself; its place in time follows from when and where it was said."""


def node_of(scope: str, value: Mapping[str, Any]) -> Node | None:
    """Return the node that a record is; None where it is none.

    Args:
        scope: The scope it is kept in.
        value: The record, as the store has it.
    """
    id_, kind = value.get("id"), value.get("kind")
    if not isinstance(id_, str) or not isinstance(kind, str) or not kind_of(value).node:
        return None
    turn = value.get("turn")
    return Node(
        id=id_,
        type=kind,
        scope=scope,
        session_id=str(value.get("session_id") or ""),
        at=in_utc(value.get("created_at")),
        turn=turn if MESSAGE.matches(value) and isinstance(turn, int) else None,
    )


def links_of(value: Mapping[str, Any], only: Container[str] | None = None) -> list[Link]:
    """Return the links that follow from a record alone, each once; nobody has checked that there are such memories.

    - `source_ids`: what supports it; of a summary what it sums up, of a milestone what led to it.
    - `linked_steps`: the steps that were taken in an episode.
    - `depends_on`: what a step of a task has to wait for; `needs`: what a fact holds only as long as it does.
    - `superseded_by`: the fact that came in its place.
    - `episodes`, `task_preferences`: what a summary stands for beside what it sums up.
    - `links`: whatever else its writer knows: an id that supports it, or {"to", "kind", "weight"}, each.
    - `alike`: what says something like it, and how much.

    Args:
        value: The record, as the store has it.
        only: The memories to which links are asked for; None for all.

    >>> fact = {"id": "f", "kind": "fact", "source_ids": ["m", "m:steps"]}
    >>> [(link.target, str(link.kind)) for link in links_of(fact)]
    [('m', 'support')]
    """
    if not any(map(value.get, _NAMING)):
        return []
    id_, at = str(value.get("id")), in_utc(value.get("created_at"))
    found: dict[tuple[str, LinkKind], Link] = {}

    def add(target: Any, kind_: LinkKind, weight: float = 1.0, *, mutual: bool = False) -> None:
        if isinstance(target, str) and target and target != id_ and (only is None or target in only):
            found.setdefault((target, kind_), Link(id_, target, kind_, weight, at, mutual))

    milestone = EPISODE.matches(value) and value.get("level") == Level.MILESTONE
    supports = LinkKind.MILESTONE if milestone else _OF_SOURCES.get(kind_of(value).name, LinkKind.SUPPORT)
    for name, why in _FIELDS.items():
        named = value.get(name) or ()
        for target in named if isinstance(named, list | tuple) else (named,):
            # a part of a message, such as the steps of its turn, is the message
            whole = target.partition(":")[0] if name == "source_ids" and isinstance(target, str) else target
            add(whole, supports if why is LinkKind.SUPPORT else why)
    for link in value.get("links") or ():
        if isinstance(link, str):
            add(link, LinkKind.SUPPORT)
        elif isinstance(link, Mapping) and link.get("kind") in _TOLD:
            add(link.get("to"), _TOLD[str(link["kind"])], _weight(link.get("weight")))
    for other, weight in (value.get("alike") or {}).items():
        add(other, LinkKind.SEMANTIC, _weight(weight), mutual=True)
    return list(found.values())


def line_of(node: Node) -> tuple[str, str] | None:
    """Return the line in which a memory follows on others of its kind: a conversation, a user's episodes.

    Returns:
        What is the same for all of the line; None for what stands in none.
    """
    line = kind_named(node.type).line
    return line and (node.type, node.session_id if line == "session" else "")


def in_utc(at: Any) -> str:
    """Return a time in the one form in which times can be compared as texts; empty where it is none.

    >>> in_utc("2026-03-01T09:00:00+07:00") == in_utc("2026-03-01T02:00:00Z")
    True
    """
    return _in_utc(str(at))


@lru_cache(maxsize=4096)
def _in_utc(at: str) -> str:
    try:
        return with_zone(datetime.fromisoformat(at)).astimezone(UTC).isoformat(timespec="microseconds")
    # the first and the last hours that there are have none in UTC
    except (ValueError, OverflowError):
        return ""


def _weight(weight: Any) -> float:
    return min(max(float(weight), 0.0), 1.0) if isinstance(weight, int | float) else 1.0
