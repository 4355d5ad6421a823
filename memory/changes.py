"""Writes, as values: gathered first, applied in one batch by the facade."""

from __future__ import annotations

from langgraph.store.base import PutOp

from memory.interface import MemoryScope
from memory.namespaces import pending_namespace, scope_namespace
from memory.records import Record

Change = PutOp
"""One write of a batch: a record, or the removal of one."""


def put(user_id: str, scope: MemoryScope, record: Record) -> Change:
    """Return the write of a record into its scope."""
    namespace, value = scope_namespace(user_id, scope), record.to_value()
    if scope is MemoryScope.STATE:
        # nobody searches state by meaning
        return PutOp(namespace, record.id, value, index=False)
    return PutOp(namespace, record.id, value)


def put_pending(user_id: str, record: Record) -> Change:
    """Return the write of a turn that waits to be extracted; it is not indexed: nobody searches it by meaning."""
    return PutOp(pending_namespace(user_id), record.id, record.to_value(), index=False)


def delete_pending(user_id: str, id_: str) -> Change:
    """Return the removal of a turn that has been extracted."""
    return PutOp(pending_namespace(user_id), id_, None)
