"""Re-embedding: moves a database to another embedding model, while nobody else uses it.

One transaction empties the vectors and records the new model. From then on a process with another model
refuses to search and to write (see `model_guard`), and texts are found by their words alone. Then each
incomplete item is indexed again, in the order of the primary key. An interrupted run continues with the rest,
as does a store that fills in missing vectors.

With the current model nothing is emptied: it adds the words of texts that an older version or LangGraph's own
store wrote, and the vectors that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from react_mem.errors import EmbeddingUnavailable
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.distribution import is_distributed
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.keys.key_ring import need_keys
from react_mem.memory.store.migrations import of_dims, stored_embedding
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.postgres_server import open_database
from react_mem.memory.store.row_security import Connection
from react_mem.memory.store.sealing.sealed_entries import sealed_row
from react_mem.memory.store.storage_settings import StorageSettings
from react_mem.memory.store.stored_text import entries_of_fields
from react_mem.memory.store.transactions import until_no_deadlock
from react_mem.memory.store.vectors import checked_vector
from react_mem.memory.store.writes import (
    INDEX_ROWS,
    by_owner,
    columns,
    index_columns,
    index_rows,
    read_vector_oid,
    revise,
)

_ITEMS = 100
"""Items in one transaction, the most that an interruption loses."""

# See `large_namespaces`: they are of vectors of one length, and are made again where they are wanted.
_NAMESPACE_INDEXES = """
    SELECT indexname AS name FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'store_vectors'
        AND indexname ~ '^store_vectors_(half|words)_'
"""
_EMPTY = (
    """
    ALTER TABLE store_vectors ALTER COLUMN embedding TYPE vector({dims}) USING NULL,
        ALTER COLUMN half TYPE halfvec({dims}) USING NULL, ALTER COLUMN sealed_vector TYPE bytea USING NULL
    """,
    "ALTER TABLE store_vectors SET (toast_tuple_target = {inline})",
    "DELETE FROM memory_embedding",
)
_LACKS = "CASE WHEN v.sealed IS NULL THEN v.words IS NULL OR v.half IS NULL ELSE v.sealed_vector IS NULL END"
_LEFT = f"SELECT count(*) AS texts FROM store_vectors v WHERE {_LACKS}"  # noqa: S608 - of literals
_LACKING = f"""
    SELECT v.owner, v.prefix, v.key, v.fields, s.value::text AS value, s.created_at, s.updated_at
    FROM (
        SELECT v.owner, v.prefix, v.key, array_agg(v.field_name) AS fields
        FROM store_vectors v WHERE (v.owner, v.prefix, v.key) > (%s, %s, %s)
        GROUP BY v.owner, v.prefix, v.key HAVING bool_or({_LACKS}) ORDER BY v.owner, v.prefix, v.key
    ) v JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
    ORDER BY v.owner, v.prefix, v.key LIMIT %s
"""  # noqa: S608 - of literals
# Items written since they were read are skipped. Each statement is about one owner, on one node.
_SAME = """
    unnest(%s::text[], %s::text[], %s::timestamptz[]) AS item (prefix, key, updated_at)
        JOIN store s ON s.prefix = item.prefix AND s.key = item.key AND s.updated_at = item.updated_at
"""
_CLEAR = f"""
    DELETE FROM store_vectors v USING {_SAME}
    WHERE v.owner = %s AND s.owner = v.owner AND v.prefix = s.prefix AND v.key = s.key
"""  # noqa: S608 - of literals
_INSERT = f"""
    INSERT INTO store_vectors (
        owner, prefix, key, field_name, half, words, length, place, said_at, sealed, sealed_vector, revision,
        created_at, updated_at
    )
    SELECT s.owner, new.prefix, new.key, new.field_name, new.embedding::halfvec, new.words::int4[], new.length,
        new.place, new.said_at, new.sealed, new.sealed_vector, o.revision, s.created_at, s.updated_at
    FROM {_SAME} JOIN {INDEX_ROWS} ON new.prefix = s.prefix AND new.key = s.key
        JOIN memory_owners o ON o.owner = s.owner
    WHERE s.owner = %s
"""  # noqa: S608 - of literals


async def reembed(settings: StorageSettings, model: EmbeddingModel, report: Callable[[int, int], None]) -> int:
    """Embed all indexed texts of a database with another model, or the rest of an interrupted run; return their number.

    The settings' own `embedding` is not used. `report` is called with the number of texts done, and an estimate of
    all.
    """
    async with open_database(settings, checkpoints=False, move_to=model) as store:
        await until_no_deadlock(store.pool, lambda conn: _empty(conn, model))
        async with store.pool.connection() as conn:
            row = await (await conn.execute(_LEFT.encode())).fetchone()
        done, total, place = 0, row["texts"] if row is not None else 0, ("", "", "")
        report(done, total)
        while True:
            async with store.pool.connection() as conn:
                items = await (await conn.execute(_LACKING.encode(), (*place, _ITEMS))).fetchall()
            if not items:
                return done
            done += await _index(store, items)
            place = (items[-1]["owner"], items[-1]["prefix"], items[-1]["key"])
            # a long text has more vectors than an older version gave it
            report(done, max(done, total))


async def _empty(conn: Connection, model: EmbeddingModel) -> None:
    stored = await stored_embedding(conn)
    if stored is not None and (stored.name, stored.dims) == (model.name, model.dims):
        return
    try:
        checked_vector(model, await model.embeddings.aembed_query("hello"))
    except Exception as error:  # any error of the provider's client
        raise EmbeddingUnavailable(f"{model.name} embeds nothing: {cause_of(error)}. Nothing was changed.") from error
    async with conn.transaction():
        if await is_distributed(conn):  # through one connection a node, so that all can be in one transaction
            await conn.execute("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', TRUE)")
        # it waits for current writers, and later ones find the new model's name
        await conn.execute("LOCK TABLE store_vectors IN ACCESS EXCLUSIVE MODE")
        for row in await (await conn.execute(_NAMESPACE_INDEXES)).fetchall():
            await conn.execute(SQL("DROP INDEX {}").format(Identifier(row["name"])))
        for statement in _EMPTY:
            await conn.execute(of_dims(statement, model.dims).encode())
        await conn.execute("INSERT INTO memory_embedding (name, dims) VALUES (%s, %s)", (model.name, model.dims))


async def _index(store: MemoryStore, items: Sequence[DictRow]) -> int:
    """Index items again, and return the number of vectors."""
    owners = {item["owner"] for item in items}
    keys = await store.codec.keys(owners)
    await store.codec.open_items(items, keys)
    entries = [(row, entry) for row in items for entry in entries_of_fields(row["item"].value, row["fields"])]
    vectors = await store.vectors.of([entry.text for _, entry in entries])
    made = sum(vectors[entry.text] is not None for _, entry in entries)
    if entries and not made:
        raise EmbeddingUnavailable(
            f"{store.embedding.name} embeds nothing now. What is left is found by its words; run this again."
        )
    plain = index_rows([(row["prefix"], row["item"].key, entry) for row, entry in entries], vectors)
    rows = by_owner(
        sealed_row(keys[row["owner"]], new) if new.key != row["key"] else new
        for (row, _), new in zip(entries, plain, strict=True)
    )
    async with store.pool.connection() as conn, conn.transaction():
        await revise(conn, owners, removes=True)
        await need_keys(conn, keys.values())
        vector_oid = await read_vector_oid(conn)
        for owner, read in by_owner((item["prefix"], item["key"], item["updated_at"]) for item in items).items():
            same = columns(read, 3)
            await conn.execute(_CLEAR.encode(), [*same, owner])
            await conn.execute(_INSERT.encode(), [*same, *index_columns(rows.get(owner, []), vector_oid), owner])
        await check_model(conn, store.embedding.name)
    return made
