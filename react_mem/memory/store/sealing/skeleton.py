"""Skeleton of a sealed value: the few of its fields that the database reads, ids among them keyed.

The functions and indexes of the database (`schema/*.sql`) and the filters of searches read these and no others: of what
kind a record is, how it stands, when it was and what it is linked with. All else of a value is sealed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from react_mem.memory.model.namespaces import ROOT, WORK

PLAIN = frozenset(
    (
        *("kind", "level", "turn", "created_at", "status", "current", "retired_at", "verbatim", "unread", "concluded"),
        *("chain", "open", "ended", "attempts", "failures", "agent", "agent_id", "due_at", "lease_by"),
    )
)
"""Fields that stay as they are: kinds, states, times, counts, and names of agents and workers."""

KEYED = frozenset(("id", "session_id", "session", "run_id", "task_type"))
"""Fields with one name of something, in place of which stands a keyed hash: the same within an owner."""

_LINKS = (
    *("source_ids", "linked_steps", "depends_on", "needs", "superseded_by", "links", "episodes"),
    "task_preferences",
)
"""Fields that name other records, as the function `memory_target_keys` of the database has them."""

_ALIKE = "alike"


def has_skeleton(prefix: str) -> bool:
    """Return whether values of a namespace have one: an application's own, and bookkeeping, are sealed as a whole.

    >>> has_skeleton("memory.ann.semantic"), has_skeleton("memory_work.ann"), has_skeleton("users.ann")
    (True, True, False)
    """
    return prefix.partition(".")[0] in (ROOT, WORK)


def skeleton_of(prefix: str, value: Mapping[str, Any], keyed: Callable[[str], str]) -> dict[str, Any]:
    """Return what of a value stays readable for the database.

    Args:
        prefix: The namespace of its item.
        value: The value.
        keyed: Makes of an id what stands for it.

    >>> skeleton_of("memory.ann.semantic", {"kind": "fact", "text": "tea", "source_ids": ["m1:0"]}, str.upper)
    {'kind': 'fact', 'source_ids': ['M1']}
    """
    if not has_skeleton(prefix):
        return {}
    found: dict[str, Any] = {}
    for name, part in value.items():
        if name in PLAIN:
            if part is None or isinstance(part, str | int | float):
                found[name] = part
        elif name in KEYED:
            if isinstance(part, str):
                found[name] = keyed(part) if part else ""
        elif name in _LINKS:
            found |= _links(name, part, keyed)
        elif name == _ALIKE and isinstance(part, Mapping):
            found[name] = dict.fromkeys(sorted(map(keyed, part)), 0)
    return found


def _links(name: str, named: Any, keyed: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(named, str):
        named = [named]
    if not isinstance(named, list | tuple):
        return {}
    ids = [one.get("to") if isinstance(one, Mapping) else one for one in named]
    # of a part of a message, the message
    return {
        name: [keyed(id_.partition(":")[0] if name == "source_ids" else id_) for id_ in ids if isinstance(id_, str)]
    }
