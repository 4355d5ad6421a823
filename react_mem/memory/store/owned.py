"""Reads of everything that belongs to one owner."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

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
from react_mem.memory.store.capabilities import capabilities

WHOLE = 1_000_000_000
"""Limit that no owner reaches. One read is a snapshot; page by page, a write in between moves some items."""


_PAGE = 200
"""Items a page."""


class OwnedPage(NamedTuple):
    """Page of an owner's items, and the place of the last: its namespace with dots, and the key of its row."""

    items: list[Item]
    behind: tuple[str, str]


async def everything(store: BaseStore, user_id: str) -> list[Item]:
    """Return every record of an owner in all scopes, and turns that wait for extraction, by namespace and key.

    Records set aside with an abandoned branch of a conversation are not among them: see `set_aside`.
    """
    return await _whole(store, owner_namespace(user_id))


async def in_pages(store: BaseStore, user_id: str) -> AsyncIterator[Sequence[Item]]:
    """Yield every record of an owner, like `everything`, in parts; concurrent writes may be missing.

    The database does not know the order of encrypted keys: there the places of all records are read first, and then the
    records by their places, so that only one part at a time is in memory.
    """
    if capabilities(store).pages_by_key:
        async for page in in_any_order(store, owner_namespace(user_id)):
            yield page
        return
    pages = in_any_order(store, owner_namespace(user_id))
    places = sorted([(item.namespace, item.key) async for page in pages for item in page])
    for start in range(0, len(places), _PAGE):
        ops = [GetOp(*place, refresh_ttl=False) for place in places[start : start + _PAGE]]
        yield [item for item in await store.abatch(ops) if isinstance(item, Item)]


async def in_any_order(store: BaseStore, namespace: Namespace) -> AsyncIterator[Sequence[Item]]:
    """Yield every record of one owner's namespace in parts, in any order; concurrent writes may be missing."""
    behind = ("", "")
    while (page := await capabilities(store).apage(namespace, behind, _PAGE)) is not None:
        behind = page.behind
        if kept := [item for item in page.items if is_record(item)]:
            yield kept
        if len(page.items) < _PAGE:
            return
    found = await _whole(store, namespace)
    for start in range(0, len(found), _PAGE):
        yield found[start : start + _PAGE]


async def _whole(store: BaseStore, namespace: Namespace) -> list[Item]:
    found = await store.asearch(namespace, limit=WHOLE, refresh_ttl=False)
    return sorted(filter(is_record, found), key=lambda item: (item.namespace, item.key))


async def set_aside(store: BaseStore, user_id: str) -> list[Item]:
    """Return the records of an owner that belong to abandoned branches of conversations."""
    found = await store.asearch(abandoned_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    return sorted(found, key=lambda item: (item.namespace, item.key))


async def bookmarks(store: BaseStore, user_id: str) -> list[Item]:
    """Return the conversations that the terminal would resume for a user."""
    return list(await store.asearch(terminal_namespace(user_id), limit=WHOLE, refresh_ttl=False))


async def users_with(store: BaseStore, *scopes: str) -> list[str]:
    """Return the users who have items in some scopes, each the last label of a namespace, such as turns that wait."""
    found = [await store.alist_namespaces(prefix=(ROOT,), suffix=(last,), limit=WHOLE) for last in scopes]
    return list(dict.fromkeys(decode(user) for spaces in found for _, user, *_ in spaces))


def is_record(item: Item) -> bool:
    """Return true for a record in force: no bookkeeping, and no abandoned branch."""
    return item.namespace[2] not in (ABANDONED, LINKS, META)


# Every item below a namespace, in parts, from any store.

_READ_PAGE = 1_000


async def read_all(
    store: BaseStore,
    prefix: Namespace = (),
    *,
    page: int = _READ_PAGE,
    report: Callable[[int], None] = lambda done: None,
) -> AsyncIterator[Sequence[Item]]:
    """Yield every item below a namespace once, in parts. A digest of eight bytes an item stays in memory.

    Not every store keeps its order from page to page. Where an item comes twice, another may have been missed; then the
    rest is read at once. `report` is called with the number of items so far.
    """
    seen: set[bytes] = set()
    read, asked = 0, page
    while True:
        found = await store.asearch(prefix, limit=asked, offset=0 if asked == WHOLE else read, refresh_ttl=False)
        read += len(found)
        new = []
        for item in found:
            place = hashlib.blake2b(repr((tuple(item.namespace), item.key)).encode(), digest_size=8).digest()
            if place not in seen:
                seen.add(place)
                new.append(item)
        for start in range(0, len(new), page):
            yield new[start : start + page]
        report(len(seen))
        if asked == WHOLE or (len(found) < asked and len(seen) == read):
            return
        if len(found) < asked:
            asked = WHOLE
