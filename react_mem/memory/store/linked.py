"""Records with what they are linked with, by an index of what a record names.

The statement is a function of the database, so that the server plans it once a connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, Protocol, runtime_checkable

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import Namespace, owner_of
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.sealing.sealed_items import opened_text
from react_mem.memory.store.wall import has_wall, walled

_MOST = 2_000
"""Records that one step of a read follows, the latest: what everything leads to says little about any of it."""

FIELDS = (
    *("source_ids", "linked_steps", "depends_on", "needs", "superseded_by", "links", "episodes", "task_preferences"),
    "alike",
)
"""The fields of a record that name others, as the function `memory_target_keys` of the database has them."""

_ROW = ("id", "kind", "level", "session_id", "turn", "created_at", *FIELDS)
"""The fields that the function `memory_linked` of the database returns, behind the prefix."""


_LINKED: LiteralString = "SELECT memory_linked(%s, %s, %s, %s)::text AS found"
_SEALED: LiteralString = "SELECT memory_linked_sealed(%s, %s, %s, %s)::text AS found"
_WITHIN: Mapping[LiteralString, LiteralString] = {
    _LINKED: "SELECT memory_linked_within(%s, %s, %s, %s)::text AS found",
    _SEALED: "SELECT memory_linked_sealed_within(%s, %s, %s, %s)::text AS found",
}
"""Statements that take their places behind a wall: see `row_security`."""


@runtime_checkable
class LinkedStore(Protocol):
    """A store that finds what records are linked with without reading all of an owner's."""

    async def alinked(
        self, namespaces: Sequence[Namespace], ids: Sequence[str]
    ) -> list[tuple[Namespace, dict[str, Any]]]:
        """Return some records with all that their links are derived from, texts left out.

        Args:
            namespaces: Where an owner's records are.
            ids: The records.
        """


async def read_linked(
    conn: AsyncConnection[DictRow], namespaces: Sequence[Namespace], ids: Sequence[str], key: OwnerKey | None = None
) -> list[tuple[Namespace, dict[str, Any]]]:
    """Return some records with all that their links are derived from: see `LinkedStore`.

    Args:
        conn: A connection.
        namespaces: Where an owner's records are.
        ids: The records.
        key: The owner's key, where they may be sealed.

    Raises:
        SealError: If one does not open.
    """
    stored = list(ids) if key is None else [*ids, *map(key.keyed, ids)]
    asked = (owner_of(namespaces[0]), [".".join(namespace) for namespace in namespaces], stored, _MOST)
    # as text, which is read beside the event loop
    async with walled(conn, asked[:1]):
        statement = _LINKED if key is None else _SEALED
        read = await conn.execute(_WITHIN[statement] if has_wall(conn) else statement, asked)
    rows = await read.fetchall()
    spaces = {".".join(namespace): namespace for namespace in namespaces}
    return await asyncio.to_thread(_parsed, rows[0]["found"], spaces, key)


def _parsed(
    found: str | None, spaces: Mapping[str, Namespace], key: OwnerKey | None
) -> list[tuple[Namespace, dict[str, Any]]]:
    rows: list[Any] = json.loads(found or "[]")
    if key is not None:
        rows = [_opened(row, key) for row in rows]
    # in one order, however they were found
    rows.sort(key=lambda row: (row[0], str(row[1])))
    return [(spaces[prefix], dict(zip(_ROW, values, strict=True))) for prefix, *values in rows]


def _opened(row: list[Any], key: OwnerKey) -> list[Any]:
    *fields, stored, sealed = row
    if sealed is None:
        return fields
    _, value = opened_text(key, row[0], stored, sealed)
    return [row[0], *(value.get(name) for name in _ROW)]
