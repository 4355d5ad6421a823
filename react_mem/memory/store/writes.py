"""The SQL of a batch of writes: one transaction, in statements of bounded size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, LiteralString, NamedTuple, TypeVar

from psycopg import Rollback, errors

from react_mem.memory.index.entries import Entry, term_number
from react_mem.memory.model.namespaces import is_bookkeeping, owner_of_path
from react_mem.memory.store import stored_text as binary
from react_mem.memory.store.key_ring import OwnerKey, need_keys
from react_mem.memory.store.row_security import Connection, confine, confined
from react_mem.memory.store.stored_text import to_json
from react_mem.memory.store.transactions import check_model

_Row = TypeVar("_Row", bound=tuple[Any, ...])
Held = tuple[str, str, dict[str, Any] | None]
"""Row as prefix, key and value; the value None stands for no row."""

_STATEMENT_ROWS = 1_000
"""Rows a statement: with 384 dimensions 2 MB. More are not faster, and would be in memory twice."""

# Whoever writes takes its owners' rows first. A new one begins at the clock (see schema/0021_owner.sql).
_REVISE = """
    INSERT INTO memory_owners AS o (owner) VALUES {rows} ON CONFLICT (owner) DO UPDATE
        SET revision = o.revision + 1, removed = CASE WHEN %s THEN o.revision + 1 ELSE o.removed END
"""
# `{of}` says of which owners, one or several: of one, a cluster sees by the parameter alone on which node the rows are.
# Arrays: a statement takes 65,535 parameters at most, and an array is one. Sorted by item, so that two batches over the
# same items lock them in the same order.
_DELETE = """
    DELETE FROM store s USING unnest(%s::text[], %s::text[], %s::text[]) AS gone (owner, prefix, key)
    WHERE s.owner {of} AND s.owner = gone.owner AND s.prefix = gone.prefix AND s.key = gone.key
"""
# The row of an owner goes with the last item: what is forgotten leaves no trace.
_LEAVE = """
    DELETE FROM memory_owners o
    WHERE o.owner {of} AND NOT EXISTS (SELECT FROM store s WHERE s.owner = o.owner AND s.owner {of})
"""
# Inserted beside the owner's row, which this transaction has written before: a cluster sends that to one node, and rows
# out of nothing it would collect and send about. Values in binary form: of an array as text each quotation mark and
# backslash costs a microsecond, and JSON has many.
_UPSERT = """
    INSERT INTO store (owner, prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
    SELECT o.owner, new.prefix, new.key, new.value::jsonb, now(), now(), now() + new.ttl * interval '1 minute', new.ttl
    FROM memory_owners o JOIN unnest(%s::text[], %s::text[], %s::text[], %b::text[], %s::float8[])
        AS new (owner, prefix, key, value, ttl) ON new.owner = o.owner
    WHERE o.owner {of}
    ON CONFLICT (owner, prefix, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
        expires_at = excluded.expires_at, ttl_minutes = excluded.ttl_minutes
"""
# Of an item that is written, every row goes that is not written again: what it no longer says is not found.
_DELETE_STALE_ROWS = """
    WITH gone AS (
        DELETE FROM store_vectors v USING unnest(%s::text[], %s::text[], %s::text[]) AS written (owner, prefix, key)
        WHERE v.owner {of} AND v.owner = written.owner AND v.prefix = written.prefix AND v.key = written.key
            AND NOT EXISTS (
                SELECT FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS kept (owner, prefix, key, name)
                WHERE kept.owner = v.owner AND kept.prefix = v.prefix AND kept.key = v.key AND kept.name = v.field_name
            )
        RETURNING v.owner
    )
    UPDATE memory_owners o SET removed = o.revision WHERE o.owner {of} AND o.owner IN (SELECT gone.owner FROM gone)
"""
INDEX_ROWS: LiteralString = """
    unnest(
        %s::text[], %s::text[], %s::text[], %s::text[], %s::vector[], %b::text[], %s::real[], %s::bigint[],
        %s::timestamptz[], %b::bytea[], %b::bytea[]
    ) AS new (owner, prefix, key, field_name, embedding, words, length, place, said_at, sealed, sealed_vector)
"""
"""Rows in the form of `index_columns`."""
# Stamped with the owner's revision, which this transaction has raised. A whole vector (`embedding`) is one that
# LangGraph's own store, or an older version, has written: of the text that there was.
_UPSERT_ROWS = f"""
    INSERT INTO store_vectors (
        owner, prefix, key, field_name, half, words, length, place, said_at, sealed, sealed_vector, revision,
        created_at, updated_at
    )
    SELECT o.owner, new.prefix, new.key, new.field_name, new.embedding::halfvec, new.words::int4[],
        new.length, new.place, new.said_at, new.sealed, new.sealed_vector, o.revision, now(), now()
    FROM memory_owners o JOIN {INDEX_ROWS} ON new.owner = o.owner
    WHERE o.owner {{of}}
    ON CONFLICT (owner, prefix, key, field_name) DO UPDATE SET embedding = NULL, half = excluded.half,
        words = excluded.words, length = excluded.length, place = excluded.place, said_at = excluded.said_at,
        sealed = excluded.sealed, sealed_vector = excluded.sealed_vector,
        revision = excluded.revision, updated_at = excluded.updated_at
"""  # noqa: S608 - of literals

# A writer that does not know owners takes no such row: the item is locked as well, so that it cannot change after this
# look.
_HOLDS = "SELECT value FROM store WHERE owner = %s AND prefix = %s AND key = %s FOR UPDATE"


# Without vectors, and of one owner, all of it is one statement (see schema/0023_write.sql and 0032_write_words.sql).
_WRITTEN = "%s, %s, %s, %s, %s::jsonb, %s::text[], %s::text[], %s::text[], %s::text[], %b::text[], %s::float8[]"
_WRITE = f"SELECT memory_write({_WRITTEN}) AS written"
_WRITE_WORDS = f"""
    SELECT memory_write_words(
        {_WRITTEN}, %s::text[], %s::text[], %s::text[], %b::text[], %s::real[], %s::bigint[], %s::timestamptz[],
        %b::bytea[]
    ) AS written
"""
# The key is asked for once the owner's row is taken: what stands above in a query is computed after what is below.
_WITH_KEY = "SELECT w.written, memory_need_key(%s, %s) FROM ({write} OFFSET 0) w"
# Of one owner after the other.
_EXPIRED = "SELECT DISTINCT s.owner FROM store s WHERE s.expires_at < now() ORDER BY s.owner"
_SWEEP = "DELETE FROM store s WHERE s.owner = %s AND s.expires_at < now()"


class IndexRow(NamedTuple):
    """Row of `store_vectors`: one piece of an item's text with its search data.

    `embedding` is a `vector` in binary form; `words` are the numbers of its words and marks, as an array's text.
    `sealed` are all other fields and the item's own key, encrypted; then no field is in plain text.
    """

    prefix: str
    key: str
    field_name: str
    embedding: bytes | None
    words: str | None
    length: int | None
    place: int | None
    said_at: datetime | None
    sealed: bytes | None = None
    sealed_vector: bytes | None = None


_INDEX_COLUMNS = len(IndexRow._fields)


class ItemRow(NamedTuple):
    """Row of `store`: the value as JSON, the time to live in minutes."""

    prefix: str
    key: str
    value: str
    ttl: float | None


@dataclass
class Writes:
    """Writes of a batch, each item at most once; deletes are (prefix, key).

    `in_plain` are unencrypted rows from before there was a key, which are deleted.
    """

    deletes: list[tuple[str, str]] = field(default_factory=list)
    items: list[ItemRow] = field(default_factory=list)
    rows: list[IndexRow] = field(default_factory=list)
    in_plain: Sequence[tuple[str, str]] = ()
    sealed_with: Sequence[OwnerKey] = ()

    @property
    def owners(self) -> set[str]:
        """The owners of the written items."""
        return {*by_owner(self.deletes), *by_owner(self.items)}

    @property
    def removes(self) -> bool:
        """True if the deletes may remove rows of the index."""
        return any(not is_bookkeeping(tuple(prefix.split("."))) for prefix, _ in self.deletes)

    @property
    def is_small(self) -> bool:
        """True if the batch is of one owner, fits one statement and has no vectors."""
        written = len(self.deletes) + len(self.items)
        return (
            0 < written <= _STATEMENT_ROWS >= len(self.rows)
            and len(self.owners) == 1
            and all(row.embedding is None and row.sealed_vector is None for row in self.rows)
        )


async def read_vector_oid(conn: Connection) -> int:
    """Return the object id of pgvector's type, which differs between databases."""
    row = await (await conn.execute("SELECT 'vector'::regtype::oid AS vector")).fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM has one row
    return int(row["vector"])


async def write(conn: Connection, writes: Writes, vector_oid: int, model: str, held: Held | None = None) -> bool:
    """Carry out all writes or none, and return true if done; a `held` item must be unchanged.

    The connection is in autocommit or in a transaction. An EmbeddingMismatch says that the database has another model.
    """
    owners = writes.owners if held is None else {*writes.owners, owner_of_path(held[0])}
    if writes.is_small and len(owners) == 1:
        return await _write_at_once(conn, writes, held)
    done = False
    # with a held item three round trips: its present value, then everything else, and whether the model is the same
    try:
        async with conn.pipeline(), conn.transaction() as transaction:
            await revise(conn, owners, removes=writes.removes)
            if held is not None and not await _is_unchanged(conn, held):
                raise Rollback(transaction)
            await _send(conn, writes, vector_oid, model)
            done = True
    except errors.DataException:
        # a vector of another length than the vectors' is one of a model that the database has left
        await check_model(conn, model)
        raise
    return done


async def _is_unchanged(conn: Connection, held: Held) -> bool:
    prefix, key, value = held
    row = await (await conn.execute(_HOLDS, (owner_of_path(prefix), prefix, key))).fetchone()
    return bool((row["value"] if row else None) == value)


async def _write_at_once(conn: Connection, writes: Writes, held: Held | None) -> bool:
    [owner] = {*writes.owners, *([owner_of_path(held[0])] if held else [])}
    prefix, key, value = held or (None, None, None)
    wanted = to_json(value) if value is not None else None
    put = sorted(writes.items, key=_item)
    gone, items = columns(sorted([*writes.deletes, *writes.in_plain]), 2), columns(put, 4)
    asked: list[Any] = [owner, writes.removes, prefix, key, wanted, *gone, *items]
    statement = _WRITE
    if writes.rows:
        *place, _, words, length, number, said_at, sealed, _ = columns(writes.rows, _INDEX_COLUMNS)
        asked, statement = [*asked, *place, words, length, number, said_at, sealed], _WRITE_WORDS
    if writes.sealed_with:
        [with_key] = writes.sealed_with
        asked = [with_key.owner, with_key.version, *asked]
        statement = _WITH_KEY.format(write=statement)
    async with confined(conn, [owner]):
        cursor = await conn.execute(statement.encode(), asked)
    row = await cursor.fetchone()
    return bool(row and row["written"])


async def erase_if(conn: Connection, held: Held) -> bool:
    """Delete everything of an owner if an item of theirs is unchanged, and return true if so."""
    owner = owner_of_path(held[0])
    done = False
    async with conn.pipeline(), conn.transaction() as transaction:
        await revise(conn, {owner}, removes=True)
        if not await _is_unchanged(conn, held):
            raise Rollback(transaction)
        # the rows of the index first: by the items they would go one by one
        await conn.execute("DELETE FROM store_vectors WHERE owner = %s", (owner,))
        await conn.execute("DELETE FROM store WHERE owner = %s", (owner,))
        # what of it is in a backup or has not been vacuumed yet opens no more (crypto-shredding)
        await conn.execute("DELETE FROM memory_keys WHERE owner = %s", (owner,))
        await leave(conn, [owner])
        done = True
    return done


async def revise(conn: Connection, owners: Collection[str], *, removes: bool) -> None:
    """Raise the revision of owners, which locks them until the transaction ends and confines it to their rows.

    The transaction has written nothing yet. `removes` says that rows of the index may be removed.
    """
    await confine(conn, owners)
    # in one order, so that two writers of the same owners do not wait for each other
    for part in _parts(sorted((owner,) for owner in owners)):
        rows = ", ".join(["(%s)"] * len(part))
        statement = _REVISE.replace("{rows}", rows).encode()
        await conn.execute(statement, [*(owner for (owner,) in part), removes])


async def leave(conn: Connection, owners: Sequence[str]) -> None:
    """Delete the rows of owners without items, in a transaction that has raised their revisions."""
    await conn.execute(*_of(_LEAVE, owners, [], []))


async def sweep(conn: Connection) -> int:
    """Delete expired items, owner by owner, and return their number. Takes an autocommit connection."""
    swept = 0
    for row in await (await conn.execute(_EXPIRED)).fetchall():
        async with conn.transaction():
            await revise(conn, [row["owner"]], removes=True)
            swept += (await conn.execute(_SWEEP, (row["owner"],))).rowcount
            await leave(conn, [row["owner"]])
    return swept


def _of(statement: str, owners: Sequence[str], *values: Sequence[Any]) -> tuple[bytes, list[Any]]:
    """Return a statement with its condition on the owners, and its parameters."""
    alone = len(owners) == 1
    whose = owners[0] if alone else list(owners)
    text = statement.replace("{of}", "= %s" if alone else "= ANY(%s::text[])")
    return text.encode(), [value for before in values for value in (*before, whose)]


async def _send(conn: Connection, writes: Writes, vector_oid: int, model: str) -> None:
    await need_keys(conn, writes.sealed_with)
    items = sorted(writes.items, key=_item)
    rows = sorted(writes.rows, key=_item)
    for gone in _parts(sorted([*writes.deletes, *writes.in_plain])):
        await conn.execute(*_of(_DELETE, list(by_owner(gone)), _with_owners(gone, 2)))
    for part in _parts(items):
        owners, written = list(by_owner(part)), _with_owners(part, 4)
        await conn.execute(*_of(_UPSERT, owners, written))
        first, last = bisect_left(rows, part[0][:2], key=_item), bisect_right(rows, part[-1][:2], key=_item)
        kept = _with_owners(rows[first:last], _INDEX_COLUMNS)[:4]
        await conn.execute(*_of(_DELETE_STALE_ROWS, owners, written[:3], kept))
        for entries in _parts(rows[first:last]):
            await conn.execute(*_of(_UPSERT_ROWS, list(by_owner(entries)), index_columns(entries, vector_oid)))
    if writes.deletes:
        await leave(conn, list(by_owner(writes.deletes)))
    if rows:
        await check_model(conn, model)


def by_owner(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    """Return rows that begin with a prefix, grouped by owner, in order."""
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(owner_of_path(row[0]), []).append(row)
    return found


def _item(row: ItemRow | IndexRow) -> tuple[str, str]:
    return row.prefix, row.key


def index_rows(entries: Sequence[tuple[str, str, Entry]], vectors: Mapping[str, bytes | None]) -> list[IndexRow]:
    """Return the index rows of entries with the prefix and key of their items. Blocking: each entry has many words."""
    rows = []
    for prefix, key, entry in entries:
        numbers = ",".join(map(str, sorted({term_number(term) for term in entry.terms})))
        embedding, words = vectors[entry.text], f"{{{numbers}}}"
        rows.append(IndexRow(prefix, key, entry.field_name, embedding, words, entry.length, entry.place, entry.said_at))
    return rows


def index_columns(rows: Sequence[IndexRow], vector_oid: int) -> list[Any]:
    """Return rows as the parameters of `INDEX_ROWS`."""
    owner, prefix, key, name, embedding, *others = _with_owners(rows, _INDEX_COLUMNS)
    return [owner, prefix, key, name, binary.array(vector_oid, embedding), *others]


def columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Return rows as columns."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _with_owners(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    found = columns(rows, width)
    return [[owner_of_path(prefix) for prefix in found[0]], *found]


def _parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    for start in range(0, len(rows), _STATEMENT_ROWS):
        yield rows[start : start + _STATEMENT_ROWS]
