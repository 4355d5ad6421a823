"""The messages of a conversation that said something which is forgotten: by their ids, without a word of them.

The thread keeps its messages. Who stores them again, as after a fork or an outage, or shows them to a model, leaves out
those that are noted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from memory.changes import Change
from memory.namespaces import meta_namespace
from memory.records import record_id

_KIND = "forgotten"


def forgotten_key(session_id: str) -> str:
    """Return the key under which an owner's bookkeeping has what is forgotten of a conversation."""
    return record_id(_KIND, session_id)


def forgotten_in(item: Item | None) -> frozenset[str]:
    """Return the records of the messages that are forgotten, as `forgotten_key` has them."""
    return frozenset(item.value["messages"]) if item is not None else frozenset()


async def read_forgotten(store: BaseStore, user_id: str, session_id: str) -> frozenset[str]:
    """Return the records of a conversation's messages that are forgotten, wholly or in part.

    Args:
        store: The store.
        user_id: The owner.
        session_id: The conversation.
    """
    return forgotten_in(await store.aget(meta_namespace(user_id), forgotten_key(session_id), refresh_ttl=False))


async def forgotten_changes(store: BaseStore, user_id: str, messages: Mapping[str, Iterable[str]]) -> list[Change]:
    """Return the writes that note messages as forgotten, for the batch that forgets them.

    Args:
        store: The store.
        user_id: The owner.
        messages: The records of the messages, by conversation.
    """
    namespace = meta_namespace(user_id)
    sessions = sorted(messages)
    found = await store.abatch([GetOp(namespace, forgotten_key(session)) for session in sessions]) if sessions else []
    changes: list[Change] = []
    for session, item in zip(sessions, found, strict=True):
        known = forgotten_in(item if isinstance(item, Item) else None)
        after = known.union(messages[session])
        if after != known:
            value = {"kind": _KIND, "messages": sorted(after)}
            changes.append(PutOp(namespace, forgotten_key(session), value, index=False))
    return changes


def without_forgotten(user_id: str, session_id: str) -> Change:
    """Return the removal of what is noted of a conversation."""
    return PutOp(meta_namespace(user_id), forgotten_key(session_id), None)
