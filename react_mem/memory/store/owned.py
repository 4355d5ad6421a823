"""Everything that belongs to one owner, as the store has it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.model.namespaces import (
    ABANDONED,
    LINKS,
    META,
    ROOT,
    Namespace,
    abandoned_namespace,
    decode,
    owner_namespace,
    terminal_namespace,
)

WHOLE = 1_000_000_000
"""No owner has more items. Asked for at once, they are one snapshot; page by page, a write in between moves some."""


_PAGE = 200
"""Items read at once where they are read in parts."""


_OWNERS = 500
"""Owners who are listed at once."""


class OwnedPage(NamedTuple):
    """Part of what an owner has.

    Args:
        items: The items.
        behind: The place to go on behind: a path, its labels joined by dots, and the key of a row, of a sealed item not
            its own.
    """

    items: list[Item]
    behind: tuple[str, str]


@runtime_checkable
class PagedStore(Protocol):
    """A store that can be read in parts, in an order that no write of other items changes."""

    @property
    def pages_by_key(self) -> bool:
        """Return whether that is the order of the items' keys; of those that are sealed it is not."""

    async def apage(self, namespace: Namespace, behind: tuple[str, str], limit: int) -> OwnedPage:
        """Return the next items of a namespace and those below it, by their namespaces and the keys of their rows.

        Args:
            namespace: The namespace, of one owner.
            behind: The place behind which to begin: that of the page before, at first two empty texts.
            limit: Items at most.
        """


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
    return sorted(filter(is_record, found), key=lambda item: (item.namespace, item.key))


async def in_pages(store: BaseStore, user_id: str) -> AsyncIterator[Sequence[Item]]:
    """Yield every record of an owner, as `everything` does, in parts; what is written meanwhile may be missing.

    The database does not know the order of keys that are sealed: there the places of all records are read first, and
    then the records by these, so that of them too no more than a part is held.
    """
    if not isinstance(store, PagedStore):
        items = await everything(store, user_id)
        for start in range(0, len(items), _PAGE):
            yield items[start : start + _PAGE]
        return
    if store.pages_by_key:
        async for page in _pages(store, owner_namespace(user_id)):
            yield page
        return
    places = [(item.namespace, item.key) async for page in _pages(store, owner_namespace(user_id)) for item in page]
    places.sort()
    for start in range(0, len(places), _PAGE):
        ops = [GetOp(*place, refresh_ttl=False) for place in places[start : start + _PAGE]]
        yield [item for item in await store.abatch(ops) if isinstance(item, Item)]


async def in_any_order(store: BaseStore, namespace: Namespace) -> AsyncIterator[Sequence[Item]]:
    """Yield every record of a namespace in parts, in whatever order; what is written meanwhile may be missing.

    Args:
        store: The store, which holds no more than a part where it can be read so.
        namespace: The namespace, of one owner.
    """
    if isinstance(store, PagedStore):
        async for page in _pages(store, namespace):
            yield page
        return
    found = [item for item in await store.asearch(namespace, limit=WHOLE, refresh_ttl=False) if is_record(item)]
    for start in range(0, len(found), _PAGE):
        yield found[start : start + _PAGE]


async def _pages(store: PagedStore, namespace: Namespace) -> AsyncIterator[list[Item]]:
    """Yield the records of a namespace of one owner in the order of the store."""
    behind = ("", "")
    while True:
        page = await store.apage(namespace, behind, _PAGE)
        behind = page.behind
        if kept := [item for item in page.items if is_record(item)]:
            yield kept
        if len(page.items) < _PAGE:
            return


async def set_aside(store: BaseStore, user_id: str) -> list[Item]:
    """Return the records of an owner that belong to branches of conversations which are no longer followed."""
    found = await store.asearch(abandoned_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    return sorted(found, key=lambda item: (item.namespace, item.key))


async def bookmarks(store: BaseStore, user_id: str) -> list[Item]:
    """Return which conversations the terminal would go on with for a user."""
    return list(await store.asearch(terminal_namespace(user_id), limit=WHOLE, refresh_ttl=False))


async def users_with(store: BaseStore, *scopes: str) -> list[str]:
    """Return the users who have anything in some scopes, such as turns that wait.

    Args:
        store: The store.
        scopes: The last part of a namespace each.
    """
    users: dict[str, None] = {}
    for last in scopes:
        offset = 0
        while True:
            page = await store.alist_namespaces(prefix=(ROOT,), suffix=(last,), limit=_OWNERS, offset=offset)
            users.update(dict.fromkeys(decode(user) for _, user, *_ in page))
            if len(page) < _OWNERS:
                break
            offset += _OWNERS
    return list(users)


def is_record(item: Item) -> bool:
    """Return whether an item of an owner is a record that is in force, and no bookkeeping."""
    return item.namespace[2] not in (ABANDONED, LINKS, META)


# A store that knows what its index lacks.


@runtime_checkable
class IndexedStore(Protocol):
    """A store that knows which of its items its index holds nothing of."""

    async def aunindexed(self, namespace: Namespace, kind: str, *, after: str, limit: int) -> list[str]:
        """Return the keys of such items of one namespace and kind, in order, beginning behind a key."""
