"""Reads of everything that belongs to one owner."""

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
"""Limit that no owner reaches. One read is a snapshot; page by page, a write in between moves some items."""


_PAGE = 200
"""Items a page."""


_OWNERS = 500
"""Owners a page."""


class OwnedPage(NamedTuple):
    """Page of an owner's items.

    Args:
        items: The items.
        behind: The start of the next page: a path, its labels joined by dots, and the key of a row (for an encrypted
            item not its own).
    """

    items: list[Item]
    behind: tuple[str, str]


@runtime_checkable
class PagedStore(Protocol):
    """Store that can be read in parts, in an order that no write of other items changes."""

    @property
    def pages_by_key(self) -> bool:
        """Return true if that is the order of the items' keys, which it is not for encrypted ones."""

    async def apage(self, namespace: Namespace, behind: tuple[str, str], limit: int) -> OwnedPage:
        """Return the next items of an owner's namespace and those below it, by namespace and key of the row.

        `behind` is that of the page before; two empty texts for the first page.
        """


async def everything(store: BaseStore, user_id: str) -> list[Item]:
    """Return every record of an owner in all scopes, and turns that wait for extraction, by namespace and key.

    Records set aside with an abandoned branch of a conversation are not among them: see `set_aside`.
    """
    found = await store.asearch(owner_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    return sorted(filter(is_record, found), key=lambda item: (item.namespace, item.key))


async def in_pages(store: BaseStore, user_id: str) -> AsyncIterator[Sequence[Item]]:
    """Yield every record of an owner, like `everything`, in parts; concurrent writes may be missing.

    The database does not know the order of encrypted keys: there the places of all records are read first, and then the
    records by their places, so that only one part at a time is in memory.
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
    """Yield every record of one owner's namespace in parts, in any order; concurrent writes may be missing."""
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
    """Return the records of an owner that belong to abandoned branches of conversations."""
    found = await store.asearch(abandoned_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    return sorted(found, key=lambda item: (item.namespace, item.key))


async def bookmarks(store: BaseStore, user_id: str) -> list[Item]:
    """Return the conversations that the terminal would resume for a user."""
    return list(await store.asearch(terminal_namespace(user_id), limit=WHOLE, refresh_ttl=False))


async def users_with(store: BaseStore, *scopes: str) -> list[str]:
    """Return the users who have items in some scopes, each the last label of a namespace, such as turns that wait."""
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
    """Return true for a record in force: no bookkeeping, and no abandoned branch."""
    return item.namespace[2] not in (ABANDONED, LINKS, META)


# A store that knows what its index lacks.


@runtime_checkable
class IndexedStore(Protocol):
    """Store that can list the items without an entry in its index."""

    async def aunindexed(self, namespace: Namespace, kind: str, *, after: str, limit: int) -> list[str]:
        """Return the keys of such items of one namespace and kind, in order, behind `after`."""
