"""Reading of results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph.store.base import BaseStore, Item

Space = tuple[str, ...]


def keys(items: Iterable[Item]) -> list[str]:
    """Return the keys of items, in order."""
    return [item.key for item in items]


async def value_of(store: BaseStore, space: Space, key: str) -> dict[str, Any] | None:
    """Return what a store holds under a key; None where there is nothing."""
    item = await store.aget(space, key)
    return None if item is None else item.value
