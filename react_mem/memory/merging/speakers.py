"""Speakers in a user's conversations, by name.

A question names them all the time ("What did Ann say about the trip?") and their own words hardly ever do: their names
say who is speaking and are not words to look for. Names are few and change rarely, so a process keeps them for a while
and a read needs no round trip to learn them.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence

from langgraph.store.base import BaseStore, Item, PutOp

from react_mem.memory.model.changes import Change
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.records import Message, record_id
from react_mem.memory.store.process_state import kept_with

_KIND = "speaker"
_MAX_SPEAKERS = 100
_MAX_OWNERS = 1_000
_NEVER = float("-inf")
_FRESH_SECONDS = 300.0
"""A name that another process learnt meanwhile costs only the ranking of questions that use it."""


class Known(OrderedDict[str, tuple[float, tuple[str, ...], int]]):
    """Cache of owners' speakers: when they were read, their names, and how many there are with what was written since.

    The last used comes last.
    """


async def speakers_of(store: BaseStore, user_id: str) -> tuple[str, ...]:
    """Return the names of those who take part in a user's conversations.

    Args:
        store: The store.
        user_id: The owner.
    """
    owners = kept_with(store, Known)
    if user_id in owners:
        learnt, names, _ = owners[user_id]
        if time.monotonic() - learnt < _FRESH_SECONDS:
            owners.move_to_end(user_id)
            return names
    found = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=_MAX_SPEAKERS, refresh_ttl=False)
    names = tuple(sorted(str(item.value["name"]) for item in found))
    owners[user_id] = (time.monotonic(), names, len(names))
    _bound(owners, user_id)
    return names


def _bound(owners: Known, user_id: str) -> None:
    owners.move_to_end(user_id)
    while len(owners) > _MAX_OWNERS:
        owners.popitem(last=False)


def speaker_changes(store: BaseStore, user_id: str, messages: Sequence[Message]) -> list[Change]:
    """Return the writes that make the speakers of new messages known.

    Args:
        store: The store.
        user_id: The owner.
        messages: What is written with them.
    """
    owners = kept_with(store, Known)
    _, known, written = owners.get(user_id, (_NEVER, (), 0))
    new = sorted({message.speaker for message in messages if message.speaker} - set(known))
    new = new[: max(0, _MAX_SPEAKERS - written)]
    if new:
        # read again: what is written now may fail; until then it counts, so that they cannot become more and more
        owners[user_id] = (_NEVER, known, written + len(new))
        _bound(owners, user_id)
    namespace = meta_namespace(user_id)
    return [PutOp(namespace, record_id(_KIND, name), {"kind": _KIND, "name": name}, index=False) for name in new]


async def silenced(store: BaseStore, user_id: str, left: Sequence[Item]) -> list[Change]:
    """Return the removal of the names of which no message is left.

    Args:
        store: The store.
        user_id: The owner.
        left: Everything of the owner that stays.
    """
    speaking = {item.value.get("speaker") for item in left}
    found = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=_MAX_SPEAKERS, refresh_ttl=False)
    return [PutOp(item.namespace, item.key, None) for item in found if item.value["name"] not in speaking]


def forget_speakers(store: BaseStore, user_id: str) -> None:
    """Let this process forget what it knows of a user's speakers."""
    kept_with(store, Known).pop(user_id, None)
