"""Words of texts that LangGraph's own store wrote, which keeps none: read from the items themselves.

They are kept with the index at hand, and not written to the database: `reembed` does that.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, LiteralString

import numpy as np
from psycopg.rows import DictRow

from react_mem.memory.index.entries import Entry, term_number
from react_mem.memory.index.segments import NO_PLACE, NO_TIME, TextColumns
from react_mem.memory.index.weights import microseconds
from react_mem.memory.store.owner_texts import COLUMNS, OwnerTexts, columns_of
from react_mem.memory.store.stored_text import entries_of_fields

_UNREAD: LiteralString = f"""
    SELECT m.dims, {COLUMNS}, json_agg(v.value)::text AS items, json_agg(v.fields)::text AS fields
    FROM memory_embedding m, (
        SELECT v.*, s.value, ARRAY(
            SELECT f.field_name FROM store_vectors f WHERE f.owner = v.owner AND f.prefix = v.prefix AND f.key = v.key
        ) AS fields
        FROM store_vectors v JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
        WHERE v.owner = %s AND v.prefix = %s AND v.key = ANY(%s::text[]) AND v.words IS NULL
    ) v
    GROUP BY m.dims, v.prefix
"""  # noqa: S608 - of literals


_READ_AT_ONCE = 1_000
"""Texts, so that what was read of many is kept, though something is written meanwhile."""


def unread_keys(known: OwnerTexts, prefix: str, without: Container[str]) -> list[str]:
    """Return the keys of some items of a namespace whose words are not known.

    Args:
        known: The index.
        prefix: The namespace.
        without: Keys that are left out.
    """
    texts = known.namespaces.get(prefix)
    if texts is None or not texts.unread.any():
        return []
    # no further than needed: this runs on the event loop, and again for each part of a namespace of which all is unread
    unread = (texts.key(int(text)) for text in texts.order[texts.unread[texts.order]])
    keys: dict[str, None] = {}
    for key in unread:
        if key not in without:
            keys[key] = None
        if len(keys) == _READ_AT_ONCE:
            break
    return list(keys)


def unread_statement(owner: str, prefix: str, keys: list[str]) -> tuple[LiteralString, tuple[str, str, list[str]]]:
    """Return the statement that reads unread texts of items, and its parameters."""
    return _UNREAD, (owner, prefix, keys)


def with_words(known: OwnerTexts, prefix: str, rows: Sequence[DictRow]) -> OwnerTexts:
    """Return an index with the words of what was unread. Blocking: some 0.1 ms a text.

    Args:
        known: The index.
        prefix: The namespace.
        rows: The answer to `unread_statement`, in binary form.
    """
    texts = known.namespaces[prefix]
    for row in rows:  # one, or none where the items have gone
        texts = texts.with_changes(_read(row))
    return replace(known, namespaces={**known.namespaces, prefix: texts})


def _read(row: DictRow) -> TextColumns:
    columns = columns_of(row, row["dims"])
    items, fields = json.loads(row["items"]), json.loads(row["fields"])
    read = [
        entries_of_text(value, name, names)
        for value, name, names in zip(items, columns.field_names, fields, strict=True)
    ]
    words = [sorted({term_number(term) for entry in entries for term in entry.terms}) for entries in read]
    firsts = [entries[0] if entries else None for entries in read]
    return replace(
        columns,
        places=np.array([NO_PLACE if first is None or first.place is None else first.place for first in firsts]),
        said_at=np.array(
            [NO_TIME if first is None or first.said_at is None else microseconds(first.said_at) for first in firsts]
        ),
        lengths=np.array([sum(entry.length for entry in entries) for entries in read], dtype=np.float32),
        unread=np.zeros(len(read), dtype=np.bool_),
        words=np.array([number for numbers in words for number in numbers], dtype=np.int32),
        word_ends=np.cumsum([len(numbers) for numbers in words]),
    )


def entries_of_text(value: Mapping[str, Any], name: str, names: Sequence[str]) -> list[Entry]:
    """Return what the index holds of one text of an item.

    Args:
        value: The item's value.
        name: The text's field name.
        names: Those of all of the item's texts: where a long one has no pieces, it stands for all of them.
    """
    found = {entry.field_name: entry for entry in entries_of_fields(value, [name])}
    if any(other.startswith(f"{name}#") for other in names):
        return [found[name]] if name in found else []
    return [entry for other, entry in found.items() if other == name or other.startswith(f"{name}#")]
