"""Base of the parts of the facade, and the caches that a forgetting drops."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from react_mem.memory.llm.causes import checked_calls
from react_mem.memory.merging.transcript import forget_speakers
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval import last_known
from react_mem.memory.store.checkpointer import forget_threads
from react_mem.memory.store.room import forget_count


class FacadePart:
    """Calls of the facade on one subject; each checks the types of its arguments."""

    store: BaseStore
    policy: MemoryPolicy
    checkpointer: BaseCheckpointSaver[Any] | None

    def __init_subclass__(cls) -> None:
        checked_calls(cls)


def forget_caches(store: BaseStore, user_id: str) -> None:
    """Drop everything that this process caches about a user outside of the store."""
    forget_speakers(store, user_id)
    forget_threads(store, user_id)
    forget_count(store, user_id)
    last_known.forget(store, user_id)
