"""Everything that belongs to one owner, as the store has it."""

from __future__ import annotations

from langgraph.store.base import BaseStore, Item

from react_mem.memory.model.namespaces import (
    ABANDONED,
    LINKS,
    META,
    abandoned_namespace,
    owner_namespace,
    terminal_namespace,
)

WHOLE = 1_000_000_000
"""No owner has more items. Asked for at once, they are one snapshot; page by page, a write in between moves some."""


async def everything(store: BaseStore, user_id: str) -> list[Item]:
    """Return every record of an owner: all scopes, and what waits to be extracted.

    What has been set aside with a branch of a conversation is not among them: see `set_aside`.

    Args:
        store: The store.
        user_id: The owner.

    Returns:
        The items, in the order of their namespaces and keys.
    """
    found = await store.asearch(owner_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    items = [item for item in found if item.namespace[2] not in (ABANDONED, LINKS, META)]
    return sorted(items, key=lambda item: (item.namespace, item.key))


async def set_aside(store: BaseStore, user_id: str) -> list[Item]:
    """Return the records of an owner that belong to branches of conversations which are no longer followed."""
    found = await store.asearch(abandoned_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    return sorted(found, key=lambda item: (item.namespace, item.key))


async def bookmarks(store: BaseStore, user_id: str) -> list[Item]:
    """Return which conversations the terminal would go on with for a user."""
    return list(await store.asearch(terminal_namespace(user_id), limit=WHOLE, refresh_ttl=False))
