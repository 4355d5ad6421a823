"""Memories with their links, read from a store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping

from langgraph.store.base import BaseStore

from react_mem.memory.graph.derived import LinkDocument, derived
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.store.linked import LinkedStore
from react_mem.memory.store.owned import everything

Reader = Callable[[Collection[str]], Awaitable[Mapping[str, LinkDocument]]]
"""Reads some memories with their links; what does not exist is left out."""

_SCOPES = sorted(set(MemoryScope) - {MemoryScope.PROFILE})


def reader(store: BaseStore, user_id: str) -> Reader:
    """Return what reads a user's memories with their links: one round trip for many, on a store that has an index.

    On any other all records of the user are read, once, however often what is returned is called.

    Args:
        store: The store.
        user_id: The owner.
    """
    whole: dict[str, LinkDocument] = {}

    async def read(ids: Collection[str]) -> dict[str, LinkDocument]:
        nonlocal whole
        if not ids:
            return {}
        found = whole
        if isinstance(store, LinkedStore):
            rows = await store.alinked([scope_namespace(user_id, scope) for scope in _SCOPES], sorted(ids))
            found = await asyncio.to_thread(derived, [(space[2], value) for space, value in rows], frozenset(ids))
        elif not whole:
            items = await everything(store, user_id)
            found = whole = await asyncio.to_thread(derived, [(item.namespace[2], item.value) for item in items])
        return {id_: found[id_].strongest() for id_ in ids if id_ in found}

    return read
