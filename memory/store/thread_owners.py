"""Owners of threads, as runs name them: what a thread belongs to is noted when it is written to.

The messages of a conversation say whose it is only as long as they are remembered, and an agent without memory
remembers none. The note lies with the owner's bookkeeping, so that it goes with them.
"""

from __future__ import annotations

import time
from collections import OrderedDict

from langgraph.store.base import BaseStore, Item

from react_mem.memory.model.namespaces import encode, meta_namespace
from react_mem.memory.model.records import now
from react_mem.memory.store.owned import WHOLE, bookmarks
from react_mem.memory.store.process_state import kept_with

_KIND = "thread"

_MOST = 10_000
_FRESH_SECONDS = 600.0
"""For so long a process does not note a thread again: another one may have forgotten its user meanwhile."""


class NotedThreads(OrderedDict[tuple[str, str], float]):
    """Threads that this process has noted, by user and thread, with the time; the latest comes last."""


async def note_thread(store: BaseStore, user_id: str, thread_id: str) -> None:
    """Note that a user speaks in a thread; nothing is written where this process did so a moment ago.

    Args:
        store: The store.
        user_id: The user, as the run names them.
        thread_id: The thread.
    """
    noted, place = kept_with(store, NotedThreads), (user_id, thread_id)
    if time.monotonic() - noted.get(place, -_FRESH_SECONDS) < _FRESH_SECONDS:
        return
    # before it is written: of the tool calls of a turn, only the first writes
    noted[place] = time.monotonic()
    noted.move_to_end(place)
    while len(noted) > _MOST:
        noted.popitem(last=False)
    value = {"kind": _KIND, "thread_id": thread_id, "noted_at": now().isoformat()}
    try:
        await store.aput(meta_namespace(user_id), f"{_KIND}-{encode(thread_id)}", value, index=False)
    except BaseException:
        noted.pop(place, None)
        raise


async def thread_marks(store: BaseStore, user_id: str) -> list[Item]:
    """Return the items that say which threads are a user's: what runs noted, and where the terminal left off."""
    noted = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=WHOLE, refresh_ttl=False)
    return [*await bookmarks(store, user_id), *noted]


def forget_threads(store: BaseStore, user_id: str) -> None:
    """Let this process forget which threads it has noted of a user."""
    noted = kept_with(store, NotedThreads)
    for place in [place for place in noted if place[0] == user_id]:
        del noted[place]
