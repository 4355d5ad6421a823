"""Moving a database to another embedding model.

Reading and writing go on meanwhile. The new index is gathered in a table beside the old one, what is written meanwhile
included, and takes its place in one transaction at the end. An interrupted run goes on where it was; until it ends, the
database is what it was before. Afterwards, a process that was started with the old model refuses to search and to write
until it is started again (see `model_guard`).

To the model that the database has already it brings its index up to date with this version: texts that an older
version, or LangGraph's own store, indexed by their beginning and by meaning only are then found by all of their words,
and those whose vectors failed by their meaning.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier, Literal

from react_mem.errors import EncryptionKeyError
from react_mem.memory.index.entries import Entry
from react_mem.memory.store.distribution import is_distributed, keep_distributed
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.keys.key_ring import read_keys
from react_mem.memory.store.keys.master_key import MasterKey
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.migrations import of_dims, stored_embedding, upgrade
from react_mem.memory.store.model_guard import wait_for_writers
from react_mem.memory.store.postgres_server import connected
from react_mem.memory.store.row_security import keep_wall
from react_mem.memory.store.sealing.sealed_entries import sealed_row
from react_mem.memory.store.sealing.sealed_items import is_sealed, opened_value
from react_mem.memory.store.storage_settings import StorageSettings
from react_mem.memory.store.stored_text import entries_of_fields
from react_mem.memory.store.vectors import checked_vector
from react_mem.memory.store.writes import (
    INDEX_ROWS,
    IndexRow,
    Types,
    by_owner,
    columns,
    index_columns,
    index_row,
    read_types,
)

_BATCH = 100
"""Items a call of the model: what an interruption costs at most, and within every provider's limit."""

_NEXT = "store_vectors_next"
_NEXT_VECTORS: Sequence[str] = (
    "DROP TABLE IF EXISTS store_vectors_next",
    """
    CREATE TABLE store_vectors_next (
        half halfvec({dims}),
        length real,
        place bigint,
        said_at timestamptz,
        prefix text NOT NULL,
        key text NOT NULL,
        field_name text NOT NULL,
        embedding vector({dims}),
        created_at timestamptz DEFAULT CURRENT_TIMESTAMP,
        updated_at timestamptz DEFAULT CURRENT_TIMESTAMP,
        owner text NOT NULL,
        revision bigint NOT NULL DEFAULT 0,
        words int4[],
        sealed bytea,
        sealed_vector bytea,
        CONSTRAINT store_vectors_next_owner_key PRIMARY KEY (owner, prefix, key, field_name),
        CONSTRAINT store_vectors_next_item_fkey
            FOREIGN KEY (owner, prefix, key) REFERENCES store (owner, prefix, key) ON DELETE CASCADE
    )
    """,
    # The bytes up to which a row stays in one piece: the half vector and a hundred words, but not the whole vector,
    # which few are compared by. The largest column is moved out first.
    "ALTER TABLE store_vectors_next SET (toast_tuple_target = {inline})",
    "CREATE UNIQUE INDEX store_vectors_next_entry_key ON store_vectors_next (prefix text_pattern_ops, key, field_name)",
    "CREATE INDEX store_vectors_next_revision_idx ON store_vectors_next (owner, revision)",
    # An owner's rows, in the order of the conversation. By a range of prefixes, whatever the database's collation.
    "CREATE INDEX store_vectors_next_place_idx ON store_vectors_next (prefix text_pattern_ops, place)",
)
"""A table as that of the vectors, to be filled and then to take its place."""

_SWAP_VECTORS: Sequence[str] = (
    "DROP TABLE store_vectors",
    "ALTER TABLE store_vectors_next RENAME TO store_vectors",
    *(
        f"ALTER INDEX IF EXISTS store_vectors_next_{name} RENAME TO store_vectors_{name}"
        for name in ("owner_key", "entry_key", "revision_idx", "place_idx")
    ),
    # items without a vector are found without reading the rest
    """
    CREATE INDEX store_vectors_lacking_idx ON store_vectors (owner, prefix, key, field_name)
        WHERE half IS NULL AND sealed_vector IS NULL
    """,
)
_SWAP_ON_ONE_SERVER: Sequence[str] = (
    "ALTER TABLE store_vectors RENAME CONSTRAINT store_vectors_next_item_fkey TO store_vectors_item_fkey",
    "SELECT memory_watch_entries()",
)
"""Citus renames no constraints and has no triggers; they are for LangGraph's own store, which does not write there."""

# In the order of the primary key, from where the last batch ended: each pass reads every row once.
_PENDING = """
    SELECT v.owner, v.prefix, v.key, v.fields, v.updated_at, s.value
    FROM (
        SELECT owner, prefix, key, array_agg(field_name) AS fields, max(updated_at) AS updated_at
        FROM store_vectors WHERE (owner, prefix, key) > (%s, %s, %s)
        GROUP BY owner, prefix, key ORDER BY owner, prefix, key
    ) v JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
    WHERE NOT EXISTS (
        SELECT FROM store_vectors_next n
        WHERE n.owner = v.owner AND n.prefix = v.prefix AND n.key = v.key AND n.updated_at = v.updated_at
    )
    ORDER BY v.owner, v.prefix, v.key LIMIT %s
"""
_LEFT = """
    SELECT count(*) AS texts FROM store_vectors v
    WHERE NOT EXISTS (
        SELECT FROM store_vectors_next n WHERE n.owner = v.owner AND n.prefix = v.prefix AND n.key = v.key
    )
"""
# Each of these is about one owner, whose rows are on one node of a cluster.
_CLEAR = """
    DELETE FROM store_vectors_next n USING unnest(%s::text[], %s::text[]) AS item (prefix, key)
    WHERE n.owner = %s AND n.prefix = item.prefix AND n.key = item.key
"""
# What was deleted since it was read stays deleted: its row is not there. What somebody is about to delete is left for
# the next pass: who deletes it may be waiting for the table of the vectors.
_INSERT = f"""
    INSERT INTO store_vectors_next (
        owner, prefix, key, field_name, half, words, length, place, said_at, sealed, sealed_vector, created_at,
        updated_at
    )
    SELECT s.owner, new.prefix, new.key, new.field_name, new.embedding::halfvec, new.words::int4[], new.length,
        new.place, new.said_at, new.sealed, new.sealed_vector, s.created_at, item.updated_at
    FROM {INDEX_ROWS}
        JOIN unnest(%s::text[], %s::text[], %s::timestamptz[]) AS item (prefix, key, updated_at)
            ON item.prefix = new.prefix AND item.key = new.key
        JOIN store s ON s.owner = %s AND s.prefix = new.prefix AND s.key = new.key
    FOR KEY SHARE OF s SKIP LOCKED
"""  # noqa: S608 - of literals
# An item that has nothing to embed any more is marked as done by a row without a vector: the stock store leaves the
# vectors of such items behind.
_MARK = """
    INSERT INTO store_vectors_next (owner, prefix, key, field_name, updated_at)
    SELECT s.owner, item.prefix, item.key, '', item.updated_at
    FROM unnest(%s::text[], %s::text[], %s::timestamptz[]) AS item (prefix, key, updated_at)
        JOIN store s ON s.owner = %s AND s.prefix = item.prefix AND s.key = item.key
    FOR KEY SHARE OF s SKIP LOCKED
"""
_FORGET_LEFTOVERS = """
    DELETE FROM store_vectors_next n WHERE n.half IS NULL AND n.sealed_vector IS NULL OR NOT EXISTS (
        SELECT FROM store_vectors v WHERE v.owner = n.owner AND v.prefix = n.prefix AND v.key = n.key
    )
"""

log = logging.getLogger(__name__)

Connection = AsyncConnection[DictRow]


class _Aim(NamedTuple):
    """A kind of vectors that a database is to have.

    Args:
        model: What makes them.
        types: The database's oids.
        master: What has wrapped the keys of owners, where items are sealed.
    """

    model: EmbeddingModel
    types: Types
    master: MasterKey | None = None


_Place = tuple[str, str, str]
"""Cursor of a pass over all items: an owner, a prefix and a key."""
_Dated = tuple[str, str, datetime]
"""A prefix, a key, and when the vectors of the item were written."""


async def reembed(settings: StorageSettings, model: EmbeddingModel, report: Callable[[int, int], None]) -> int:
    """Embed everything that a database indexes, with another model or again.

    Args:
        settings: Which database; its `embedding` is not used.
        model: The model to move to.
        report: Told the number of texts embedded so far in this run, and of how many, about.

    Returns:
        The number of texts embedded in this run.

    Raises:
        StorageError: If the database cannot be opened.
    """
    async with connected(settings) as conn:
        stored = await stored_embedding(conn)
        if stored is None:
            return 0
        await upgrade(conn, stored.dims)
        same = (stored.name, stored.dims) == (model.name, model.dims)
        if same and not await _lacks_something(conn):
            return 0
        master = await asyncio.to_thread(settings.master_key)
        aim = _Aim(model, await read_types(conn), master)
        await _prepare(conn, aim)
        done, total = 0, await _left(conn)
        report(done, total)

        def count(made: int) -> None:
            nonlocal done
            done += made
            # more may be written meanwhile, and a long text has more vectors than one
            report(done, max(done, total))

        while True:
            # Again for what was written meanwhile, until that is little enough for writers to wait for.
            while await _pass(conn, aim, count) > _BATCH:
                pass
            try:
                if await _swap(conn, aim, count):
                    return done
            except errors.DeadlockDetected:
                # of a cluster each node has been locked by itself, and a writer may have been between two: once more
                log.warning("the new vectors could not yet take the place of the old ones: somebody was writing")


async def _left(conn: Connection) -> int:
    row = await (await conn.execute(_LEFT)).fetchone()
    return row["texts"] if row is not None else 0


async def _lacks_something(conn: Connection) -> bool:
    row = await (
        await conn.execute(
            "SELECT 1 FROM store_vectors WHERE CASE WHEN sealed IS NOT NULL THEN sealed_vector IS NULL "
            "ELSE words IS NULL OR half IS NULL END LIMIT 1"
        )
    ).fetchone()
    return row is not None


async def _prepare(conn: Connection, aim: _Aim) -> None:
    found = await (
        await conn.execute("SELECT obj_description(to_regclass(%s), 'pg_class') AS model", (_NEXT,))
    ).fetchone()
    if found is not None and found["model"] == aim.model.name:
        return
    async with conn.transaction():
        for statement in _NEXT_VECTORS:
            await conn.execute(of_dims(statement, aim.model.dims).encode())
        await conn.execute(SQL("COMMENT ON TABLE {} IS {}").format(Identifier(_NEXT), Literal(aim.model.name)))
    await keep_distributed(conn)


async def _pass(conn: Connection, aim: _Aim, count: Callable[[int], None]) -> int:
    """Embed every item that is still to be done; return how many vectors that made."""
    total = 0
    place: _Place | None = ("", "", "")
    while place is not None:
        made, place = await _embed_batch(conn, aim, place)
        total += made
        if made:
            count(made)
    return total


async def _embed_batch(conn: Connection, aim: _Aim, place: _Place) -> tuple[int, _Place | None]:
    """Embed the next items that are still to be done; return how many vectors that made, and where it ended."""
    items = await (await conn.execute(_PENDING, (*place, _BATCH))).fetchall()
    owners = {item["owner"] for item in items}
    keys = await read_keys(conn, aim.master, owners) if aim.master is not None and owners else {}
    entries = [
        (item, entry)
        for item in [_opened(item, keys) for item in items]
        for entry in entries_of_fields(item["value"], item["fields"])
    ]
    vectors: list[bytes] = []
    for start in range(0, len(entries), _BATCH):
        texts = [entry.text for _, entry in entries[start : start + _BATCH]]
        made = await aim.model.embeddings.aembed_documents(texts)
        vectors += [checked_vector(aim.model, each) for each in made]
    rows = by_owner(_row(item, entry, vector, keys) for (item, entry), vector in zip(entries, vectors, strict=True))
    async with conn.transaction():
        for owner, embedded in by_owner((item["prefix"], item["key"], item["updated_at"]) for item in items).items():
            await _put_in_next(conn, aim, owner, embedded, rows.get(owner, []))
    last = _place(items[-1]) if len(items) == _BATCH else None
    return len(entries), last


async def _put_in_next(
    conn: Connection, aim: _Aim, owner: str, items: Sequence[_Dated], rows: Sequence[IndexRow]
) -> None:
    indexed = {row[:2] for row in rows}
    empty = [item for item in items if item[:2] not in indexed]
    await conn.execute(_CLEAR, [*columns(items, 3)[:2], owner])
    await conn.execute(_INSERT, [*index_columns(rows, aim.types), *columns(items, 3), owner])
    if empty:
        await conn.execute(_MARK, [*columns(empty, 3), owner])


def _opened(item: DictRow, keys: Mapping[str, OwnerKey]) -> DictRow:
    """Return an item with what it says; one that is sealed with its own key beside its row's."""
    if not is_sealed(item["value"]):
        return item
    if item["owner"] not in keys:
        raise EncryptionKeyError(
            "Memories of this database are sealed, and no key is set to read them by. Set MEMORY_ENCRYPTION_KEY as the "
            "processes have it that use the database. Nothing was changed."
        )
    own, value = opened_value(keys[item["owner"]], item["prefix"], item["key"], item["value"])
    return {**item, "value": value, "own_key": own}


def _row(item: DictRow, entry: Entry, vector: bytes, keys: Mapping[str, OwnerKey]) -> IndexRow:
    if "own_key" not in item:
        return index_row(item["prefix"], item["key"], entry, vector)
    return sealed_row(keys[item["owner"]], index_row(item["prefix"], item["own_key"], entry, vector))


def _place(item: DictRow) -> _Place:
    return item["owner"], item["prefix"], item["key"]


async def _swap(conn: Connection, aim: _Aim, count: Callable[[int], None]) -> bool:
    """Put the new table in place of the old one, unless something was written by who does not wait for that."""
    distributed = await is_distributed(conn)
    async with conn.transaction():
        if distributed:  # what is read is changed afterwards: through one connection a node
            await conn.execute("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', TRUE)")
        await wait_for_writers(conn)
        await _pass(conn, aim, count)
        await conn.execute("LOCK TABLE store_vectors IN ACCESS EXCLUSIVE MODE")  # readers wait from here on
        if await (await conn.execute(_PENDING, ("", "", "", 1))).fetchone():
            return False
        for statement in (_FORGET_LEFTOVERS, *_SWAP_VECTORS, *(() if distributed else _SWAP_ON_ONE_SERVER)):
            await conn.execute(statement.encode())
        await keep_wall(conn)
        await conn.execute("COMMENT ON TABLE store_vectors IS NULL")
        await conn.execute("DELETE FROM memory_embedding")
        await conn.execute(
            "INSERT INTO memory_embedding (name, dims) VALUES (%s, %s)", (aim.model.name, aim.model.dims)
        )
    return True
