"""Lineage: whatever is derived from records is trusted no more than the least trusted of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import origin_of
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import AnyRecord, with_origin

_SOURCES = (MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.EXPERIENCE)
"""Scopes of records that others name as their sources."""


async def origins_of(store: BaseStore, user_id: str, ids: Iterable[str]) -> dict[str, Origin]:
    """Return who vouches for the records with these ids, as far as there are any.

    Args:
        store: The store.
        user_id: The owner.
        ids: Records that are named as sources.
    """
    wanted = [GetOp(scope_namespace(user_id, scope), id_) for id_ in dict.fromkeys(ids) for scope in _SOURCES]
    found = cast("list[Item | None]", await store.abatch(wanted)) if wanted else []
    return {item.key: origin_of(item.value) for item in found if item is not None}


async def capped(store: BaseStore, user_id: str, records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """Return records of which each is trusted no more than its sources, whatever whoever wrote it says.

    Args:
        store: The store.
        user_id: The owner.
        records: What is about to be written.
    """
    known = await origins_of(store, user_id, (source for record in records for source in record.source_ids))
    return [with_origin(record, filter(None, map(known.get, record.source_ids))) for record in records]
