"""The database's tables: LangGraph's own migrations and ours, applied in one transaction by one process at a time.

The tables are those of `AsyncPostgresStore` and `AsyncPostgresSaver`, with their version tables, so that a database
they made is adopted and stays usable by them. Ours are appended to `MIGRATIONS`, never edited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.base import MIGRATIONS as STORE_MIGRATIONS
from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from memory.storage.embeddings import EmbeddingModel
from memory.storage.errors import DatabaseUnavailable, EmbeddingMismatch

Connection = AsyncConnection[DictRow]

_MIGRATION_LOCK = 0x7265_6163_746D_656D
"""`reactmem`: what starting processes queue for."""

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE memory_embedding (
        only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
        name text NOT NULL,
        dims integer NOT NULL
    )
    """,
    # A search reads one owner's vectors by a range of prefixes, whatever the database's collation.
    "CREATE INDEX IF NOT EXISTS store_vectors_prefix_idx ON store_vectors (prefix text_pattern_ops)",
)

_VECTORS_TABLE = """
    CREATE TABLE IF NOT EXISTS {table} (
        prefix text NOT NULL,
        key text NOT NULL,
        field_name text NOT NULL,
        embedding vector({dims}),
        created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (prefix, key, field_name),
        FOREIGN KEY (prefix, key) REFERENCES store(prefix, key) ON DELETE CASCADE
    )
"""
_VECTORS_INDEX = "CREATE INDEX IF NOT EXISTS {index} ON {table} USING hnsw (embedding vector_cosine_ops)"
_MAX_INDEXED_DIMS = 2_000
"""pgvector's limit for an index on `vector`; longer vectors are searched exactly, however many there are."""


@dataclass(frozen=True)
class StoredEmbedding:
    """What the vectors in a database are.

    Args:
        name: The model that made them; None in a database that the stock store made.
        dims: Their length.
    """

    name: str | None
    dims: int


async def stored_embedding(conn: Connection) -> StoredEmbedding | None:
    """Return what made the vectors of this database, or None if it has no place for vectors yet."""
    dims = await _vector_dims(conn)
    if dims is None:
        return None
    row = None
    if await table_exists(conn, "memory_embedding"):
        row = await (await conn.execute("SELECT name, dims FROM memory_embedding")).fetchone()
    return StoredEmbedding(row["name"], row["dims"]) if row else StoredEmbedding(None, dims)


def check_embedding(stored: StoredEmbedding | None, requested: EmbeddingModel) -> None:
    """Refuse a model that did not make the vectors of the database: its distances to them mean nothing.

    Raises:
        EmbeddingMismatch: If the models differ; the message says how to go back and how to move on.
    """
    if stored is None or (stored.dims == requested.dims and stored.name in (None, requested.name)):
        return
    name = stored.name or "an unrecorded model"
    back = f"Set EMBEDDING_MODEL={stored.name}" if stored.name else f"Set EMBEDDING_MODEL to a {stored.dims}-dim model"
    raise EmbeddingMismatch(
        f"The memories in this database were embedded with {name} ({stored.dims} dimensions), and the model asked for "
        f"is {requested.name} ({requested.dims} dimensions). {back}, or stop every process that uses the database and "
        f"re-embed it: python -m memory.storage.reembed --to {requested.name}"
    )


async def migrate(conn: Connection, model: EmbeddingModel, *, checkpoints: bool) -> None:
    """Bring the database's tables up to date; nothing happens if they are.

    Args:
        conn: An autocommit connection.
        model: The model whose vectors will be kept.
        checkpoints: Whether the checkpointer's tables are wanted too.

    Raises:
        DatabaseUnavailable: If the database has no pgvector, or this user may not create tables.
        EmbeddingMismatch: If the database holds vectors of another model.
    """
    try:
        async with conn.transaction():
            await conn.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            if checkpoints:
                await _apply(conn, "checkpoint_migrations", AsyncPostgresSaver.MIGRATIONS)
            await _apply(conn, "store_migrations", STORE_MIGRATIONS)
            await _create_extension(conn)
            check_embedding(await stored_embedding(conn), model)
            # What the stock store's three vector migrations come to.
            #
            # The HNSW index is there from the start although it is most of the cost of a write (measured in the
            # design: 326 instead of 1044 items a second): building it later blocks writers, and only an owner with
            # more than EXACT_SCAN_LIMIT vectors needs it.
            tables = {"table": Identifier("store_vectors"), "index": Identifier("store_vectors_embedding_idx")}
            await _apply(
                conn,
                "vector_migrations",
                ("SELECT 'the extension'", vectors_table(model.dims), vectors_index(model.dims)),
                tables,
            )
            await _apply(conn, "memory_migrations", MIGRATIONS)
            await conn.execute(
                "INSERT INTO memory_embedding (name, dims) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (model.name, model.dims),
            )
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnavailable(
            f"The database's user may not create the tables of the store: {error.diag.message_primary}. Grant it "
            "CREATE on the schema, or run the first start with a user that has it."
        ) from error


def vectors_table(dims: int) -> str:
    """Return the statement that makes a table of vectors, with a place for `{table}`."""
    return _VECTORS_TABLE.replace("{dims}", str(int(dims)))


def vectors_index(dims: int) -> str:
    """Return the statement that indexes a table of vectors, with places for `{index}` and `{table}`."""
    return _VECTORS_INDEX if dims <= _MAX_INDEXED_DIMS else "SELECT 'too long for an index'"


async def _create_extension(conn: Connection) -> None:
    found = await (await conn.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")).fetchone()
    if found:
        return
    try:
        await conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnavailable(
            "The database has no pgvector yet and its user may not add it. As a superuser, run in that database: "
            "CREATE EXTENSION vector"
        ) from error
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise DatabaseUnavailable(
            "This PostgreSQL server has no pgvector. Install it there (package postgresql-NN-pgvector, image "
            "pgvector/pgvector), or unset DATABASE_URL to use the embedded database."
        ) from error


async def _apply(
    conn: Connection, table: str, migrations: Sequence[str], names: Mapping[str, Identifier] | None = None
) -> None:
    if not await table_exists(conn, table):
        await conn.execute(SQL("CREATE TABLE {} (v INTEGER PRIMARY KEY)").format(Identifier(table)))
    row = await (await conn.execute(SQL("SELECT max(v) AS v FROM {}").format(Identifier(table)))).fetchone()
    done = -1 if row is None or row["v"] is None else row["v"]
    for version, text in enumerate(migrations[done + 1 :], start=done + 1):
        # CONCURRENTLY is impossible in a transaction, and the transaction is what makes a start all or nothing.
        statement = SQL(text.replace("CONCURRENTLY ", ""))
        await conn.execute(statement.format(**names) if names else statement)
        await conn.execute(SQL("INSERT INTO {} (v) VALUES (%s)").format(Identifier(table)), (version,))


async def table_exists(conn: Connection, table: str) -> bool:
    """Return whether this schema has the table."""
    row = await (
        await conn.execute("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = %s", (table,))
    ).fetchone()
    return row is not None


async def _vector_dims(conn: Connection) -> int | None:
    row: dict[str, Any] | None = await (
        await conn.execute(
            "SELECT atttypmod AS dims FROM pg_attribute WHERE attname = 'embedding' AND NOT attisdropped "
            "AND attrelid = to_regclass(format('%I.store_vectors', current_schema()))"
        )
    ).fetchone()
    return None if row is None else int(row["dims"])
