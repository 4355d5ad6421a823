"""Cache of where conversations stand, in the process: what a write expects to find, which the write itself checks."""

from __future__ import annotations

from collections import OrderedDict

from langgraph.store.base import BaseStore

from react_mem.memory.store.process_state import kept_with

_MOST = 10_000
"""Conversations kept: some three hundred bytes each."""


class KnownTips(OrderedDict[tuple[str, str], str]):
    """Tips of conversations by owner and conversation, as they were last read or written; the last used comes last."""


def note_tip(store: BaseStore, user_id: str, session_id: str, tip: str | None) -> None:
    """Take note of the tip of a conversation.

    Args:
        store: The store.
        user_id: The owner.
        session_id: The conversation.
        tip: The tip; empty where memory has none, None where it is not known any more.
    """
    tips = kept_with(store, KnownTips)
    tips.pop((user_id, session_id), None)
    if tip is not None:
        tips[user_id, session_id] = tip
    while len(tips) > _MOST:
        tips.popitem(last=False)


def known_tip(store: BaseStore, user_id: str, session_id: str) -> str | None:
    """Return the tip of a conversation as it was last seen; None where this process has not seen it."""
    return kept_with(store, KnownTips).get((user_id, session_id))


def forget_tips(store: BaseStore, user_id: str) -> None:
    """Drop what is known of an owner's conversations."""
    tips = kept_with(store, KnownTips)
    for place in [place for place in tips if place[0] == user_id]:
        del tips[place]
