"""The tree of a conversation: what is on the path that is followed, and what has been left behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from react_mem.memory.model.records import record_id


def start_of(session_id: str, message_id: str) -> str:
    """Return what stands before the first message of a conversation: the root of its tree, which is not a record."""
    return record_id("start", session_id, message_id)


def root_of(id_: str, after: Mapping[str, str]) -> str:
    """Return what the tree of a message begins with.

    Args:
        id_: The message.
        after: What each known message follows on; empty where nobody noted it.
    """
    return [id_, *_line(id_, after)][-1]


def left_behind(after: Mapping[str, str], tip: str, shown: Collection[str] = ()) -> set[str]:
    """Return the messages that a conversation has left behind: those of the same tree that are not on its path.

    Args:
        after: What each message of the conversation follows on, by id.
        tip: The message that the conversation goes on from.
        shown: More messages that are on its path, whatever they follow on.
    """
    on_path = {*shown, *_line(tip, after)}
    roots = {root_of(id_, after) for id_ in {tip, *shown}}
    return {id_ for id_ in after if id_ not in on_path and root_of(id_, after) in roots}


def with_trunk(after: Mapping[str, str], trunk: Sequence[str]) -> dict[str, str]:
    """Return what each message follows on, with what a thread held before its messages were noted.

    Args:
        after: What each message follows on.
        trunk: What the thread began with, in order; the first stands before the first message.
    """
    known = {id_: before for before, id_ in pairwise(trunk)}
    return known | {id_: before for id_, before in after.items() if before or id_ not in known}


def with_lost_starts(after: Mapping[str, str], questions: Collection[str], tip: str) -> dict[str, str]:
    """Return what each message follows on, with first messages that nothing followed on at the start of the path.

    A run that was taken back leaves such a message behind: the thread has begun again, with another one.

    Args:
        after: What each message follows on.
        questions: The messages of the user that were said before the tip.
        tip: The message that the conversation goes on from.
    """
    answered = set(after.values())
    lost = (id_ for id_ in questions if id_ not in answered and id_ != tip and after[id_] and after[id_] not in after)
    return {**after, **dict.fromkeys(lost, root_of(tip, after))}


def following(id_: str, after: Mapping[str, str]) -> set[str]:
    """Return all that follows on a message.

    Args:
        id_: The message.
        after: What each message follows on, by id.
    """
    children: dict[str, list[str]] = {}
    for child, before in after.items():
        children.setdefault(before, []).append(child)
    found: set[str] = set()
    waiting = [id_]
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(new)
        waiting += new
    return found


def _line(id_: str, after: Mapping[str, str]) -> list[str]:
    """Return a message and all that it follows on, up to the root."""
    line: dict[str, None] = {}
    while id_ and id_ not in line:
        line[id_] = None
        id_ = after.get(id_, "")
    return list(line)
