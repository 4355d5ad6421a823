"""The SQL of a batch of writes: one transaction, four statements, whatever the number of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow

# Arrays: a statement takes 65,535 parameters at most, and an array is one. Sorted by item, so that two batches over the
# same items lock them in the same order.
_DELETE = """
    DELETE FROM store s USING unnest(%s::text[], %s::text[]) AS gone (prefix, key)
    WHERE s.prefix = gone.prefix AND s.key = gone.key
"""
_UPSERT = """
    INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
    SELECT prefix, key, value::jsonb, now(), now(), now() + ttl * interval '1 minute', round(ttl)::int
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::float8[]) AS new (prefix, key, value, ttl)
    ON CONFLICT (prefix, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
        expires_at = excluded.expires_at, ttl_minutes = excluded.ttl_minutes
"""
_DELETE_STALE_VECTORS = """
    DELETE FROM store_vectors v USING unnest(%s::text[], %s::text[]) AS written (prefix, key)
    WHERE v.prefix = written.prefix AND v.key = written.key AND NOT EXISTS (
        SELECT FROM unnest(%s::text[], %s::text[], %s::text[]) AS kept (prefix, key, field_name)
        WHERE kept.prefix = v.prefix AND kept.key = v.key AND kept.field_name = v.field_name
    )
"""
_UPSERT_VECTORS = """
    INSERT INTO store_vectors (prefix, key, field_name, embedding, created_at, updated_at)
    SELECT prefix, key, field_name, embedding::vector, now(), now()
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS new (prefix, key, field_name, embedding)
    ON CONFLICT (prefix, key, field_name) DO UPDATE
    SET embedding = excluded.embedding, updated_at = excluded.updated_at
"""


# The lock makes two writers queue even where the item does not exist yet and there is no row to lock.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_HOLDS = "SELECT value FROM store WHERE prefix = %s AND key = %s"


@dataclass
class Writes:
    """What a batch writes, each item at most once.

    Args:
        deletes: (prefix, key).
        items: (prefix, key, JSON value, minutes to live).
        vectors: (prefix, key, field name, vector literal) of `items`.
    """

    deletes: list[tuple[str, str]] = field(default_factory=list)
    items: list[tuple[str, str, str, float | None]] = field(default_factory=list)
    vectors: list[tuple[str, str, str, str]] = field(default_factory=list)


async def write(conn: AsyncConnection[DictRow], writes: Writes) -> None:
    """Carry out all writes, or none."""
    items = _columns(sorted(writes.items, key=lambda item: item[:2]), 4)
    vectors = _columns(sorted(writes.vectors), 4)
    async with conn.pipeline(), conn.transaction():
        if writes.deletes:
            await conn.execute(_DELETE, _columns(sorted(writes.deletes), 2))
        if writes.items:
            await conn.execute(_UPSERT, items)
            await conn.execute(_DELETE_STALE_VECTORS, [*items[:2], *vectors[:3]])
        if writes.vectors:
            await conn.execute(_UPSERT_VECTORS, vectors)


async def write_if(
    conn: AsyncConnection[DictRow], writes: Writes, prefix: str, key: str, value: dict[str, Any] | None
) -> bool:
    """Carry out all writes if an item still holds this value, None for nothing; tell whether it did."""
    async with conn.transaction():
        await conn.execute(_LOCK, (f"{prefix}/{key}",))
        row = await (await conn.execute(_HOLDS, (prefix, key))).fetchone()
        if (row["value"] if row else None) != value:
            return False
        await write(conn, writes)
        return True


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
