"""Facts whose own last day has passed: they are read as history, though nobody has ended them.

It is decided when they are read, for the time that the question is about: nothing is written for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from react_mem.memory.index.recall import Recall
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.records import with_zone


def is_over(value: Mapping[str, Any], at: datetime) -> bool:
    """Return whether a fact that is believed tells of something that was over by a time.

    Args:
        value: A record, as JSON.
        at: The time; one with a zone.
    """
    until = value.get("valid_to")
    if not FACT.matches(value) or not value.get("current", True) or not until:
        return False
    return with_zone(datetime.fromisoformat(str(until))) < at


def as_read(value: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return a record as it is read at a time: what is over by then is not current.

    Args:
        value: The record, as JSON.
        at: The time; one with a zone.
    """
    return {**value, "current": False} if is_over(value, at) else dict(value)


def only(answer: Any, wanted: Callable[[Mapping[str, Any]], bool]) -> Any:
    """Return a store's answer to a search with the items that are wanted.

    Args:
        answer: Items, or what a recall found.
        wanted: Returns whether the item with a value is.
    """
    if isinstance(answer, Recall):
        return Recall([one for one in answer.found if wanted(one.item.value)], answer.missing)
    return [item for item in answer if wanted(item.value)]
