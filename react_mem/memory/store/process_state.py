"""Process-local state: that of an opened store hangs on it and goes with it; locks are those of the whole process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from langgraph.store.base import BaseStore

Kept = TypeVar("Kept")

_NAME = "_react_mem"

_WITHOUT_ROOM: WeakKeyDictionary[BaseStore, dict[Any, Any]] = WeakKeyDictionary()
"""Of LangGraph's own stores, whose `__slots__` leave no room for an attribute."""


def kept_with(store: BaseStore, make: Callable[[], Kept]) -> Kept:
    """Return what hangs on a store, made the first time.

    Args:
        store: The store.
        make: Makes it, and names it: most often a class.

    >>> from langgraph.store.memory import InMemoryStore
    >>> store = InMemoryStore()
    >>> kept_with(store, dict) is kept_with(store, dict), kept_with(store, dict) is kept_with(InMemoryStore(), dict)
    (True, False)
    """
    try:
        state = vars(store).setdefault(_NAME, {})
    except TypeError:
        state = _WITHOUT_ROOM.setdefault(store, {})
    kept: Kept = state[make] if make in state else state.setdefault(make, make())
    return kept


_LOCKS: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
"""Locks that somebody holds or waits for, by event loop and place."""


def lock_of(namespace: tuple[str, ...], key: str) -> asyncio.Lock:
    """Return the lock of an item in this event loop: one for all stores, of which several may be on one database.

    Args:
        namespace: The item's namespace.
        key: The item's key.
    """
    return _LOCKS.setdefault((id(asyncio.get_running_loop()), f"{namespace}/{key}"), asyncio.Lock())
