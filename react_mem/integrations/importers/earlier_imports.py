"""Earlier imports from a source, as an owner has them: which records came of which entry.

The ledger does not say so, for a record is named by its words, and of what was forgotten none is to be left. It is read
from the records, once an import, and only where an entry says something else than it did.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.integrations.importers.foreign_entry import digest_of
from react_mem.integrations.importers.source_updates import entry_of
from react_mem.memory import Record
from react_mem.memory.records import KINDS, in_any_order, kind_named

DOCUMENT = KINDS["document"]
EPISODE = KINDS["episode"]
FACT = KINDS["fact"]

_CHANGEABLE = (FACT, DOCUMENT, EPISODE)
"""Kinds that are named by their words; a message is named by its entry."""


class EarlierImports:
    """Records of an owner by the entries of a source that they were imported from.

    Args:
        ids: The kinds and ids of the records, by a digest of the entry.
    """

    def __init__(self, ids: dict[str, set[tuple[str, str]]]) -> None:
        self._ids = ids

    @classmethod
    async def of(cls, store: BaseStore, user_id: str, source: str) -> EarlierImports:
        """Return what an owner has of a source.

        Args:
            store: The store.
            user_id: The owner.
            source: The system.
        """
        earlier = cls({})
        for namespace in {kind.namespace(user_id) for kind in _CHANGEABLE}:
            async for items in in_any_order(store, namespace):
                for item in items:
                    value: dict[str, Any] = item.value
                    kind, meta = kind_named(value.get("kind")), value.get("meta") or {}
                    if kind in _CHANGEABLE and meta.get("source") == source:
                        earlier._add((source, meta.get("id"), value.get("session_id")), kind.name, item.key)
        return earlier

    def note(self, records: Iterable[Record]) -> None:
        """Take in what has been written since."""
        for record in records:
            self._add(entry_of(record), record.kind, record.id)

    def of_entry(self, record: Record) -> set[tuple[str, str]]:
        """Return the kinds and ids of the records that came of the entry that a record is made of."""
        return self._ids.get(_named(entry_of(record)), set())

    def _add(self, entry: tuple[Any, ...], kind: str, id_: str) -> None:
        self._ids.setdefault(_named(entry), set()).add((kind, id_))


def _named(entry: tuple[Any, ...]) -> str:
    return digest_of(*map(str, entry))
