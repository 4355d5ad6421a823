"""Owners of threads, recorded when a run writes to a thread.

The messages of a conversation name its owner only as long as they are remembered, and an agent without memory
stores none. The note is in the owner's bookkeeping, so that an erasure removes it too.
"""

from __future__ import annotations

from typing import Any

from cachetools import TTLCache
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, Item

from react_mem.memory.model.namespaces import encode, meta_namespace
from react_mem.memory.model.records import now
from react_mem.memory.store.capabilities import WHOLE, bookmarks
from react_mem.memory.store.process_state import kept_with

OWNER_KEYS = ("langgraph_auth_user_id", "user_id", "owner")
"""Keys of a checkpoint's metadata that name the thread's owner; the first one present counts."""

OWNER_OF_THREAD = f"coalesce({', '.join(f'metadata ->> {key!r}' for key in OWNER_KEYS)})"
"""SQL for the owner in a checkpoint's metadata."""

_KIND = "thread"

_MOST = 10_000
_FRESH_SECONDS = 600.0
"""Seconds that a process does not record a thread again: another may have forgotten its user meanwhile."""


class NotedThreads(TTLCache[tuple[str, str], bool]):
    """Threads recorded lately by this process, by user and thread."""

    def __init__(self) -> None:
        super().__init__(_MOST, _FRESH_SECONDS)


async def note_thread(store: BaseStore, user_id: str, thread_id: str) -> None:
    """Record that a user speaks in a thread; repeated calls within ten minutes write nothing."""
    noted, place = kept_with(store, NotedThreads), (user_id, thread_id)
    if place in noted:
        return
    # before it is written: of the tool calls of a turn, only the first writes
    noted[place] = True
    value = {"kind": _KIND, "thread_id": thread_id, "noted_at": now().isoformat()}
    try:
        await store.aput(meta_namespace(user_id), f"{_KIND}-{encode(thread_id)}", value, index=False)
    except BaseException:
        noted.pop(place, None)
        raise


async def thread_marks(store: BaseStore, user_id: str) -> list[Item]:
    """Return the items that name a user's threads: those recorded by runs, and the terminal's bookmarks."""
    noted = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=WHOLE, refresh_ttl=False)
    return [*await bookmarks(store, user_id), *noted]


async def threads_of(
    checkpointer: BaseCheckpointSaver[Any], user_id: str, thread_id: str | None = None
) -> list[str] | None:
    """Return the threads, or the given one, that name a user in their metadata, also threads of graphs without memory.

    None if the checkpointer cannot list threads.
    """
    if (looked_up := getattr(checkpointer, "athreads_of", None)) is not None:
        threads: list[str] = await looked_up(user_id, thread_id)
        return threads
    where: RunnableConfig | None = {"configurable": {"thread_id": thread_id}} if thread_id is not None else None
    found: dict[str, None] = {}
    try:
        for key in OWNER_KEYS:
            async for one in checkpointer.alist(where, filter={key: user_id}):
                if next(str(one.metadata[name]) for name in OWNER_KEYS if name in one.metadata) == user_id:  # type: ignore[literal-required]
                    found[one.config["configurable"]["thread_id"]] = None
    except NotImplementedError:
        return None
    return [*found]


def forget_threads(store: BaseStore, user_id: str) -> None:
    """Drop this process's cache of a user's recorded threads."""
    noted = kept_with(store, NotedThreads)
    for place in [place for place in noted if place[0] == user_id]:
        noted.pop(place, None)
