"""Writes, as values: gathered first, applied in one batch by the facade."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory import telemetry
from react_mem.memory.model.kinds import Kind, kind_named
from react_mem.memory.model.records import Record

Change = PutOp
"""One write of a batch: a record, or the removal of one."""

NO_FIELDS: list[str] = []
"""Index of a write of which no field is embedded, where nobody is to wait for an embedder. A `MemoryStore` finds such a
record of memory by its words at once; of a store that has no index of words, they are read of the records themselves
(see `memory.retrieval.stock_index`)."""


def put(user_id: str, record: Record, *, indexed: bool = True) -> Change:
    """Return the write of a record to where its kind is kept.

    Args:
        user_id: The owner.
        record: The record.
        indexed: Whether it is found, where its kind is; without, nothing has to be embedded, and it can be indexed
            later.
    """
    kind, value = kind_named(record.kind), record.to_value()
    return PutOp(kind.namespace(user_id), record.id, value, index=kind.index(value) if indexed else False)


def put_unembedded(user_id: str, record: Record) -> Change:
    """Return the write of a record that is found by its words alone until it is written again.

    Args:
        user_id: The owner.
        record: The record.
    """
    change = put(user_id, record)
    return change if change.index is False else change._replace(index=NO_FIELDS)


def delete(user_id: str, kind: Kind, id_: str) -> Change:
    """Return the removal of a record from where its kind is kept."""
    return PutOp(kind.namespace(user_id), id_, None)


async def write(store: BaseStore, changes: Sequence[Change]) -> None:
    """Write a batch: all of it or nothing, on a store whose batches are atomic.

    Args:
        store: The store.
        changes: What to write.
    """
    with telemetry.span("write") as measured:
        measured.set(changes=len(changes))
        if isinstance(store, InMemoryStore):
            await _write_in_memory(store, changes)
        else:
            await store.abatch(list(changes))


async def _write_in_memory(store: InMemoryStore, changes: Sequence[Change]) -> None:
    # LangGraph's InMemoryStore fails on a batch in which two items to embed have the same text: one batch for each
    # repetition. The removal of a note, which says that work is done, is in the last: what is cut short is done again.
    once = list({(change.namespace, change.key): change for change in changes}.values())
    rest = [change for change in once if _is_embedded(change)]
    at_once = [change for change in once if not _is_embedded(change)]
    while True:
        texts: set[str] = set()
        batch: list[Change] = []
        later: list[Change] = []
        for change in rest:
            text = _embedded(change)
            (later if text in texts else batch).append(change)
            texts.add(text)
        if not later:
            await store.abatch([*batch, *at_once])
            return
        await store.abatch(batch)
        rest = later


def _embedded(change: Change) -> str:
    """Return what is embedded of a write, as far as that tells it from others."""
    [field, *_] = change.index or ["text"]
    return str((change.value or {}).get(field) or change.key)


def _is_embedded(change: Change) -> bool:
    return change.value is not None and change.index not in (False, NO_FIELDS)
