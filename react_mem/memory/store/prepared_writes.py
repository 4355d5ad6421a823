"""Writes as the database takes them: their values as JSON, and the index's entries of them with their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from langgraph.store.base import PutOp, validate_op_namespace

from react_mem.memory.model.kinds import kind_of
from react_mem.memory.model.namespaces import ROOT
from react_mem.memory.model.receipt import NO_FIELDS
from react_mem.memory.store.stored_text import check_identity, index_entries, to_json
from react_mem.memory.store.stored_vectors import PlacedEntry, perhaps_stored
from react_mem.memory.store.vectors import DocumentVectors
from react_mem.memory.store.writes import ItemRow, Writes, index_rows

_INLINE_CHARS = 1_000
"""Characters of a text whose words are found at once, in a quarter of a millisecond; more, beside the event loop."""


class PreparedWrites:
    """Makes ready what a store writes. No connection is held while a model embeds.

    Args:
        vectors: Embeds what is searchable.
        fields: Paths of what is searchable of a value that is not a record of memory, where a write does not say.
    """

    def __init__(self, vectors: DocumentVectors, fields: Sequence[str]) -> None:
        self._vectors = vectors
        self._fields = fields

    async def writes(self, puts: Sequence[PutOp]) -> Writes:
        """Return writes with the rows that the index is to hold of them.

        Args:
            puts: The writes.

        Raises:
            ValueError: If one of them cannot be stored as it is.
        """
        # the words and dates of a few long texts take a while to find
        at_once = all(map(self._is_short, puts))
        writes, entries = self._read(puts) if at_once else await asyncio.to_thread(self._read, puts)
        later = {(".".join(op.namespace), op.key) for op in puts if _by_words_alone(op)}
        embedded = [placed for placed in entries if placed[:2] not in later] if later else entries
        vectors: dict[str, bytes | None] = dict.fromkeys(entry.text for _, _, entry in entries)
        vectors |= await self._vectors.of([entry.text for _, _, entry in embedded], perhaps_stored(puts, embedded))
        if entries:
            rows = index_rows(entries, vectors) if at_once else await asyncio.to_thread(index_rows, entries, vectors)
            writes.rows += rows
        return writes

    def _is_short(self, op: PutOp) -> bool:
        """Return whether what the index holds of an item is found at once."""
        if op.value is None or self._paths(op) is False:
            return True
        return _by_words_alone(op) and len(str(op.value.get("text") or "")) <= _INLINE_CHARS

    def _read(self, puts: Sequence[PutOp]) -> tuple[Writes, list[PlacedEntry]]:
        writes = Writes()
        entries: list[PlacedEntry] = []
        # The last write of an item is the one that counts.
        for (namespace, key), op in {(op.namespace, op.key): op for op in puts}.items():
            validate_op_namespace(op)  # joined by dots, a label with a dot would be another namespace
            check_identity(namespace, key)
            prefix = ".".join(namespace)
            if op.value is None:
                writes.deletes.append((prefix, key))
                continue
            writes.items.append(ItemRow(prefix, key, to_json(op.value), op.ttl))
            entries.extend((prefix, key, entry) for entry in index_entries(op.value, self._paths(op)))
        return writes, entries

    def _paths(self, op: PutOp) -> Literal[False] | Sequence[str] | None:
        if _by_words_alone(op):
            return kind_of(op.value or {}).index(op.value or {})
        if op.index is not None or not self._fields or op.namespace[0] == ROOT:
            return op.index
        return self._fields


def _by_words_alone(op: PutOp) -> bool:
    """Return whether a write is one of memory's that is not embedded yet."""
    return op.index == NO_FIELDS and op.namespace[0] == ROOT
