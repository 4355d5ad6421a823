"""Operations that a store may have beside LangGraph's interface; callers have a plain way for every other store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result

from react_mem.memory.index.recall import Recall, RecallOp
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

if TYPE_CHECKING:
    from react_mem.memory.model.operations import Check
    from react_mem.memory.store.audit_log import AuditLog
    from react_mem.memory.store.calibration import Calibration
    from react_mem.memory.store.embeddings import EmbeddingModel
    from react_mem.memory.store.key_ring import KeyRing
    from react_mem.memory.store.left_traces import Traces
    from react_mem.memory.store.room import Stored
    from react_mem.memory.store.searches import ConversationPlace, Listed, ListedConversations, ListPlace, Wanted
    from react_mem.memory.store.transactions import Guard


class StoreCapabilities:
    """Base of a store with such operations. The default of each says that the store lacks it: None, or nothing to do.

    Attributes:
        recalls: True if the store has `arecall`.
        guards: True if the store has `abatch_if`, also between processes.
        pages_by_key: True if `apage` follows the order of the items' keys.
        embedding: The embedding model; None if unknown.
        keys: The data keys of owners; None where nothing is encrypted.
        audit: The audit log; None without one.
        receipt_key: Signs receipts; None takes a key that memory makes.
    """

    __slots__ = ()

    recalls: bool = False
    guards: bool = False
    pages_by_key: bool = True
    embedding: EmbeddingModel | None = None
    keys: KeyRing | None = None
    audit: AuditLog | None = None
    receipt_key: Ed25519PrivateKey | None = None

    @property
    def calibration(self) -> Calibration | None:
        """Return the meaning of the embedder's cosines."""
        return None

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls in one batch; return their results, in order."""
        raise NotImplementedError

    async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
        """Write the batch and return true if the guard holds; otherwise write nothing."""
        raise NotImplementedError

    async def aerase_if(self, ops: Sequence[PutOp], guard: Guard) -> bool:
        """Delete everything of the guard's owner, with `ops` the deletes, and return true if the guard holds."""
        return await self.abatch_if(ops, guard)

    def refused_rows(self, user_id: str) -> list[str]:
        """Return the stored keys of an owner's rows that reads left out, since they do not open."""
        return []

    async def apage(self, namespace: Namespace, behind: tuple[str, str], limit: int) -> OwnedPage | None:
        """Return the next items of an owner's namespace and those below it, in an order that no write changes.

        `behind` is that of the page before; two empty texts for the first page.
        """

    async def alisted(self, wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed | None:
        """Return an owner's next records behind a place (None for the first page), the latest first."""

    async def arevision(self, owner: str) -> str | None:
        """Return a token that changes with every write of an owner."""

    async def aconversations(
        self, namespace: Namespace, behind: ConversationPlace | None, limit: int
    ) -> ListedConversations | None:
        """Return an owner's next conversations behind a place (None for the first page), the latest first."""

    async def alinked(
        self, namespaces: Sequence[Namespace], ids: Sequence[str]
    ) -> list[tuple[Namespace, dict[str, Any]]] | None:
        """Return records of an owner with the fields that their links come from, without texts."""

    async def ameasure(self, user_id: str) -> Stored | None:
        """Return the size of an owner's memory."""

    async def atraces(self, traces: Traces) -> list[Check] | None:
        """Return the rows of an erased record in each table, and the tables that were not read."""

    async def amake_up_vectors(self, namespace: Namespace = ()) -> int:
        """Make the missing vectors of a namespace and those below it, and return their number."""
        return 0


_NONE = StoreCapabilities()


def capabilities(store: BaseStore) -> StoreCapabilities:
    return store if isinstance(store, StoreCapabilities) else _NONE


# Reads of everything that belongs to one owner.

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
