"""Records with what they are linked with, by an index of what a record names.

The statement is a function of the database, so that the server plans it once a connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import Namespace, owner_of

_MOST = 2_000
"""Records that one step of a read follows, the latest: what everything leads to says little about any of it."""

FIELDS = (
    *("source_ids", "linked_steps", "depends_on", "needs", "superseded_by", "links", "episodes", "task_preferences"),
    "alike",
)
"""The fields of a record that name others, as the function `memory_target_keys` of the database has them."""

_ROW = ("id", "kind", "level", "session_id", "turn", "created_at", *FIELDS)
"""The fields that the function `memory_linked` of the database returns, behind the prefix."""


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
    conn: AsyncConnection[DictRow], namespaces: Sequence[Namespace], ids: Sequence[str]
) -> list[tuple[Namespace, dict[str, Any]]]:
    """Return some records with all that their links are derived from: see `LinkedStore`."""
    asked = (owner_of(namespaces[0]), [".".join(namespace) for namespace in namespaces], list(ids), _MOST)
    # as text, which is read beside the event loop
    rows = await (await conn.execute("SELECT memory_linked(%s, %s, %s, %s)::text AS found", asked)).fetchall()
    spaces = {".".join(namespace): namespace for namespace in namespaces}
    return await asyncio.to_thread(_parsed, rows[0]["found"], spaces)


def _parsed(found: str | None, spaces: Mapping[str, Namespace]) -> list[tuple[Namespace, dict[str, Any]]]:
    # in one order, however they were found
    rows = sorted(json.loads(found or "[]"), key=lambda row: (row[0], str(row[1])))
    return [(spaces[prefix], dict(zip(_ROW, values, strict=True))) for prefix, *values in rows]
