"""The SQL of a batch of writes: one transaction, in statements of bounded size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, LiteralString, NamedTuple, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.index.entries import Entry, term_number
from react_mem.memory.store import binary
from react_mem.memory.store.model_guard import hold_model

_Row = TypeVar("_Row", bound=tuple[Any, ...])

_STATEMENT_ROWS = 1_000
"""Rows a statement: with 384 dimensions 2 MB. More are not faster, and would be in memory twice at once."""

# Arrays: a statement takes 65,535 parameters at most, and an array is one. Sorted by item, so that two batches over the
# same items lock them in the same order.
_DELETE = """
    DELETE FROM store s USING unnest(%s::text[], %s::text[]) AS gone (prefix, key)
    WHERE s.prefix = gone.prefix AND s.key = gone.key
"""
# Values in binary form: of an array as text each quotation mark and backslash costs a microsecond, and JSON has many.
_UPSERT = """
    INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
    SELECT prefix, key, value::jsonb, now(), now(), now() + ttl * interval '1 minute', ttl
    FROM unnest(%s::text[], %s::text[], %b::text[], %s::float8[]) AS new (prefix, key, value, ttl)
    ON CONFLICT (prefix, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
        expires_at = excluded.expires_at, ttl_minutes = excluded.ttl_minutes
"""
# Of an item that is written, every row goes that is not written again: what it no longer says is not found.
_DELETE_STALE_ROWS = """
    DELETE FROM store_vectors v USING unnest(%s::text[], %s::text[]) AS written (prefix, key)
    WHERE v.prefix = written.prefix AND v.key = written.key AND NOT EXISTS (
        SELECT FROM unnest(%s::text[], %s::text[], %s::text[]) AS kept (prefix, key, field_name)
        WHERE kept.prefix = v.prefix AND kept.key = v.key AND kept.field_name = v.field_name
    )
"""
INDEX_ROWS: LiteralString = """
    unnest(
        %s::text[], %s::text[], %s::text[], %s::vector[], %s::sparsevec[], %s::real[], %s::bigint[], %s::timestamptz[]
    ) AS new (prefix, key, field_name, embedding, terms, length, place, said_at)
"""
"""Rows as `index_columns` gives them."""
_UPSERT_ROWS = f"""
    INSERT INTO store_vectors
        (prefix, key, field_name, embedding, terms, length, place, said_at, created_at, updated_at)
    SELECT prefix, key, field_name, embedding, terms, length, place, said_at, now(), now() FROM {INDEX_ROWS}
    ON CONFLICT (prefix, key, field_name) DO UPDATE SET embedding = excluded.embedding, terms = excluded.terms,
        length = excluded.length, place = excluded.place, said_at = excluded.said_at, updated_at = excluded.updated_at
"""  # noqa: S608 - of literals

# The lock makes two writers queue even where the item does not exist yet and there is no row to lock.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
# A writer that does not guard takes no such lock: the row is locked as well, so that it cannot change after this look.
_HOLDS = "SELECT value FROM store WHERE prefix = %s AND key = %s FOR UPDATE"


class IndexRow(NamedTuple):
    """A row of `store_vectors`: one piece of an item's text, and what it is found by.

    Args:
        prefix: The item's namespace.
        key: The item's key.
        field_name: Which of its texts, and which piece of it.
        embedding: A `vector` in binary form.
        terms: A `sparsevec` in binary form.
        length: The number of words.
        place: Where in its conversation it stands.
        said_at: When it was said.
    """

    prefix: str
    key: str
    field_name: str
    embedding: bytes | None
    terms: bytes
    length: int
    place: int | None
    said_at: datetime | None


class ItemRow(NamedTuple):
    """A row of `store`.

    Args:
        prefix: The item's namespace.
        key: The item's key.
        value: JSON.
        ttl: Minutes to live.
    """

    prefix: str
    key: str
    value: str
    ttl: float | None


@dataclass
class Writes:
    """Writes of a batch, each item at most once.

    Args:
        deletes: (prefix, key).
        items: What is stored.
        rows: What the index holds of `items`.
    """

    deletes: list[tuple[str, str]] = field(default_factory=list)
    items: list[ItemRow] = field(default_factory=list)
    rows: list[IndexRow] = field(default_factory=list)


class Types(NamedTuple):
    """The oids of pgvector's types, which differ from database to database."""

    vector: int
    sparsevec: int


async def read_types(conn: AsyncConnection[DictRow]) -> Types:
    """Ask the database for its oids."""
    row = await (
        await conn.execute("SELECT 'vector'::regtype::oid AS vector, 'sparsevec'::regtype::oid AS sparsevec")
    ).fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM has one row
    return Types(**row)


async def write(conn: AsyncConnection[DictRow], writes: Writes, types: Types, model: str) -> None:
    """Carry out all writes, or none.

    Args:
        conn: An autocommit connection, or one in a transaction.
        writes: What to write.
        types: The database's oids.
        model: What made the embeddings.

    Raises:
        EmbeddingMismatch: If the database has moved on to another model.
    """
    async with conn.pipeline(), conn.transaction():
        await _send(conn, writes, types, model)


async def write_if(
    conn: AsyncConnection[DictRow],
    writes: Writes,
    types: Types,
    model: str,
    held: tuple[str, str, dict[str, Any] | None],
) -> bool:
    """Carry out all writes if an item still holds a value; tell whether it did.

    Args:
        conn: An autocommit connection.
        writes: What to write.
        types: The database's oids.
        model: What made the embeddings.
        held: (prefix, key, value) of the item; None for nothing.
    """
    prefix, key, value = held
    # two round trips: what is held now, and then everything else
    async with conn.pipeline(), conn.transaction():
        await conn.execute(_LOCK, (f"{prefix}/{key}",))
        row = await (await conn.execute(_HOLDS, (prefix, key))).fetchone()
        if (row["value"] if row else None) != value:
            return False
        await _send(conn, writes, types, model)
        return True


async def _send(conn: AsyncConnection[DictRow], writes: Writes, types: Types, model: str) -> None:
    items = sorted(writes.items, key=_item)
    rows = sorted(writes.rows, key=_item)
    if rows:
        await hold_model(conn, model)
    for gone in _parts(sorted(writes.deletes)):
        await conn.execute(_DELETE, columns(gone, 2))
    for part in _parts(items):
        await conn.execute(_UPSERT, columns(part, 4))
        first, last = bisect_left(rows, part[0][:2], key=_item), bisect_right(rows, part[-1][:2], key=_item)
        await conn.execute(_DELETE_STALE_ROWS, [*columns(part, 4)[:2], *columns(rows[first:last], 8)[:3]])
        for entries in _parts(rows[first:last]):
            await conn.execute(_UPSERT_ROWS, index_columns(entries, types))


def _item(row: ItemRow | IndexRow) -> tuple[str, str]:
    return row.prefix, row.key


def index_row(prefix: str, key: str, entry: Entry, embedding: bytes | None) -> IndexRow:
    """Return the row of an entry of an item."""
    numbers = binary.terms({term_number(term) for term in entry.terms})
    return IndexRow(prefix, key, entry.field_name, embedding, numbers, entry.length, entry.place, entry.said_at)


def index_rows(entries: Sequence[tuple[str, str, Entry]], vectors: Mapping[str, bytes | None]) -> list[IndexRow]:
    """Return the rows of entries, each with the prefix and the key of its item. Blocking: each has many words."""
    return [index_row(prefix, key, entry, vectors[entry.text]) for prefix, key, entry in entries]


def index_columns(rows: Sequence[IndexRow], types: Types) -> list[Any]:
    """Return rows as the parameters of `INDEX_ROWS`."""
    prefix, key, name, embedding, terms, length, place, said_at = columns(rows, 8)
    return [
        *(prefix, key, name),
        *(binary.array(types.vector, embedding), binary.array(types.sparsevec, terms)),
        *(length, place, said_at),
    ]


def columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Return rows as columns."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    for start in range(0, len(rows), _STATEMENT_ROWS):
        yield rows[start : start + _STATEMENT_ROWS]
