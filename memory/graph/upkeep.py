"""Keeping links with the records: what a batch writes is linked and what it removes is unlinked, in the same batch.

So no removal, whoever asks for it, leaves a link to what is gone. It costs reading the documents of what is written and
of what that is linked with, one or two round trips, and nothing where a batch holds no memories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.graph.documents import Stored, read_stored
from react_mem.memory.graph.links import Link, Node, links_of, node_of
from react_mem.memory.graph.relinking import Relinked, relinked
from react_mem.memory.model.changes import Change
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import links_namespace, meta_namespace, owner_namespace, scope_namespace

COMPLETE = "linked"
"""The key, among the bookkeeping of a user, that says that all of the user's memories are linked."""

_SCOPES = frozenset(set(MemoryScope) - {MemoryScope.PROFILE})

Records = dict[str, tuple[Node, Sequence[Link]]]


async def upkeep(
    store: BaseStore,
    user_id: str,
    changes: Sequence[Change],
    *,
    stored: Iterable[tuple[MemoryScope, str]] = (),
) -> list[Change]:
    """Return the writes of links that belong to a batch; called within `memory.store.transactions.transact`.

    Args:
        store: The store.
        user_id: The owner of everything in the batch.
        changes: The batch.
        stored: Records that were written without their links, and are to be linked with this batch.
    """
    records, gone = _read(user_id, changes)
    records |= await _stored(store, user_id, stored)
    if not records and not gone:
        return []
    return await link_changes(store, user_id, records, gone)


async def link_changes(
    store: BaseStore, user_id: str, records: Records, gone: Collection[str] = (), alike: Sequence[Link] = ()
) -> list[Change]:
    """Return the writes of links that follow when memories are written, removed or found to be alike.

    Args:
        store: The store.
        user_id: The owner.
        records: The memories that are written, by id.
        gone: The ids of those that are removed.
        alike: Pairs of memories that a search found to be alike.
    """
    known: dict[str, Stored | None] = {}
    done = await _decided(store, user_id, known, records, gone, alike)
    # what was written before there were links is noticed once something is linked with it
    noticed = await _found(store, user_id, done.absent - set(gone)) if done.absent else []
    if noticed:
        done = await _decided(store, user_id, known, records, gone, alike, noticed)
    namespace = links_namespace(user_id)
    changes = [
        PutOp(namespace, id_, document.to_value() if document is not None else None, index=False)
        for id_, document in sorted(done.changed.items())
    ]
    if done.behind:
        changes.append(PutOp(meta_namespace(user_id), COMPLETE, None))
    return changes


async def _decided(
    store: BaseStore,
    user_id: str,
    known: dict[str, Stored | None],
    records: Records,
    gone: Collection[str],
    alike: Sequence[Link],
    noticed: Sequence[Node] = (),
) -> Relinked:
    while (done := relinked(known, records, gone, alike, noticed)).missing:
        known |= await read_documents(store, user_id, done.missing)
    return done


async def read_documents(store: BaseStore, user_id: str, ids: Iterable[str]) -> dict[str, Stored | None]:
    """Return documents and lines by id, None for those that do not exist, in one round trip."""
    wanted = sorted(set(ids))
    namespace = links_namespace(user_id)
    found = await store.abatch([GetOp(namespace, id_) for id_ in wanted]) if wanted else []
    return {
        id_: read_stored(id_, item.value) if item is not None else None
        for id_, item in zip(wanted, cast("list[Item | None]", found), strict=True)
    }


def _read(user_id: str, changes: Sequence[Change]) -> tuple[Records, set[str]]:
    """Return the memories that a batch writes, and the ids of what it removes."""
    owner = owner_namespace(user_id)
    records: Records = {}
    gone: set[str] = set()
    # of two writes of one item the last is the one that counts
    for (namespace, key), change in {(change.namespace, change.key): change for change in changes}.items():
        if namespace[:2] != owner or namespace[2] not in _SCOPES:
            continue
        if change.value is None:
            gone.add(key)
        elif node := node_of(namespace[2], change.value):
            records[node.id] = (node, links_of(change.value))
    return records, gone - records.keys()


async def _stored(store: BaseStore, user_id: str, wanted: Iterable[tuple[MemoryScope, str]]) -> Records:
    ops = [GetOp(scope_namespace(user_id, scope), id_) for scope, id_ in wanted]
    found = cast("list[Item | None]", await store.abatch(ops)) if ops else []
    return {node.id: (node, links_of(value)) for node, value in _nodes(found)}


async def _found(store: BaseStore, user_id: str, ids: Collection[str]) -> list[Node]:
    """Return those of some ids that are memories, whatever their scope."""
    ops = [GetOp(scope_namespace(user_id, scope), id_) for id_ in sorted(ids) for scope in sorted(_SCOPES)]
    found = cast("list[Item | None]", await store.abatch(ops))
    return [node for node, _ in _nodes(found)]


def _nodes(items: Iterable[Item | None]) -> list[tuple[Node, Mapping[str, object]]]:
    held = [(node_of(item.namespace[2], item.value), item.value) for item in items if item is not None]
    return [(node, value) for node, value in held if node is not None]
