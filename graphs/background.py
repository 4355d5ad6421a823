"""Extraction behind a turn: a debounced run of the graph `extractor` on a server, a task of this process elsewhere."""

from __future__ import annotations

import uuid

from langgraph_sdk import get_client

from memory.background import background
from memory.interface import MemoryPolicy
from memory.turns import Turns

EXTRACTOR = "extractor"
"""The graph's name in langgraph.json."""

_THREADS = uuid.UUID("5b1c2a52-7f5d-4b7c-9a54-0f1f6f3c6d10")


async def extract_later(turns: Turns, policy: MemoryPolicy, *, on_server: bool) -> None:
    """Have the turns of a conversation drawn from once it has been quiet for a moment.

    Args:
        turns: The turns; already durable.
        policy: Says how long quiet is.
        on_server: Whether a LangGraph server runs us.
    """
    if not on_server:
        background().schedule(_key(turns.user_id, turns.session_id), policy.debounce, turns.extract)
        return
    # in-process: the server knows us, and the owner is the one this very run belongs to
    await get_client().runs.create(
        extractor_thread(turns.user_id, turns.session_id),
        EXTRACTOR,
        input={},
        context={"user_id": turns.user_id, "agent": turns.agent_id, "session_id": turns.session_id},
        after_seconds=int(policy.debounce + 0.5),
        # a newer turn of the conversation takes the older ones along
        multitask_strategy="rollback",
        if_not_exists="create",
    )


def extractor_thread(user_id: str, session_id: str) -> str:
    """Return the thread on which a conversation is extracted: one run at a time."""
    return str(uuid.uuid5(_THREADS, _key(user_id, session_id)))


def _key(user_id: str, session_id: str) -> str:
    # no separator that either could hold as well: two users must never share one
    return f"{len(user_id)}:{user_id}\x1f{session_id}"
