"""Process-local state of an open store, which ends with the store; and process-wide locks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from langgraph.store.base import BaseStore

Kept = TypeVar("Kept")

_NAME = "_react_mem"

_WITHOUT_ROOM: WeakKeyDictionary[BaseStore, dict[Any, Any]] = WeakKeyDictionary()
"""State of LangGraph's own stores, whose `__slots__` leave no room for an attribute."""


def kept_with(store: BaseStore, make: Callable[[], Kept]) -> Kept:
    """Return an object attached to a store, made by `make` the first time; `make`, mostly a class, is its name.

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
"""Locks in use, by event loop and place."""


def lock_of(namespace: tuple[str, ...], key: str) -> asyncio.Lock:
    """Return the lock of an item in this event loop, shared by all stores, of which several may be on one database."""
    return _LOCKS.setdefault((id(asyncio.get_running_loop()), f"{namespace}/{key}"), asyncio.Lock())
