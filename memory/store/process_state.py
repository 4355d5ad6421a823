"""Process-local state of an opened store: it hangs on the store, and goes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

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
