"""The database's tables: LangGraph's migrations and ours, applied in one transaction by one process at a time.

The tables are those of `AsyncPostgresStore` and `AsyncPostgresSaver`, with their version tables, so that a
database they made is adopted and stays usable by them.

A new database gets ours from `new_database.sql`. One that has tables already runs the files of `schema/` that
it lacks, in the order of their numbers (0 to 18 were single statements once: a number without a file belongs to
the next file, or is superseded by it). A released file is never edited, renamed or deleted: a change is a new
file, and is made in `new_database.sql` too. A function with changed columns is dropped and created there. A file
of steps (see `migration_steps`) runs beside reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.base import MIGRATIONS as STORE_MIGRATIONS
from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from react_mem.errors import DatabaseUnavailable, EmbeddingMismatch
from react_mem.memory.store.distribution import keep_distributed
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.migration_steps import has_steps, patiently, run_steps, statements_of

Connection = AsyncConnection[DictRow]

_OLDEST_PGVECTOR = (0, 8)
"""The first with iterative index scans, which go on until enough rows have passed a filter."""

_MIGRATION_LOCK = 0x7265_6163_746D_656D
"""`reactmem`: advisory lock of a migration."""


MIGRATIONS = tuple(
    sorted(
        (int(file.name.partition("_")[0]), file.read_text(encoding="utf-8"))
        for file in (files("react_mem.memory.store") / "schema").iterdir()
        if file.name.endswith(".sql")
    )
)
"""The files of `schema/` by number. A database has run all up to the highest number that it has recorded."""

NEW_DATABASE = (files("react_mem.memory.store") / "new_database.sql").read_text(encoding="utf-8")
"""All that those files come to, for a database without tables."""

_VECTORS_TABLE = """
    CREATE TABLE IF NOT EXISTS store_vectors (
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


@dataclass(frozen=True)
class StoredEmbedding:
    """Embedding model (None in a database of LangGraph's own store) and dimensions of a database's vectors."""

    name: str | None
    dims: int


async def stored_embedding(conn: Connection) -> StoredEmbedding | None:
    """Return the embedding model of this database, or None if it has no table for vectors yet."""
    vectors: dict[str, Any] | None = await (
        await conn.execute(
            "SELECT atttypmod AS dims FROM pg_attribute WHERE attname = 'embedding' AND NOT attisdropped "
            "AND attrelid = to_regclass(format('%I.store_vectors', current_schema()))"
        )
    ).fetchone()
    if vectors is None:
        return None
    row = None
    if await table_exists(conn, "memory_embedding"):
        row = await (await conn.execute("SELECT name, dims FROM memory_embedding")).fetchone()
    return StoredEmbedding(row["name"], row["dims"]) if row else StoredEmbedding(None, int(vectors["dims"]))


def check_embedding(stored: StoredEmbedding | None, requested: EmbeddingModel) -> None:
    """Raise EmbeddingMismatch for a model that did not make the database's vectors: they are not comparable."""
    if stored is None or (stored.dims == requested.dims and stored.name in (None, requested.name)):
        return
    name = stored.name or "an unrecorded model"
    back = f"Set EMBEDDING_MODEL={stored.name}" if stored.name else f"Set EMBEDDING_MODEL to a {stored.dims}-dim model"
    raise EmbeddingMismatch(
        f"The memories in this database were embedded with {name} ({stored.dims} dimensions), and the model asked for "
        f"is {requested.name} ({requested.dims} dimensions). {back}, or re-embed them: "
        f"react-mem database reembed --to {requested.name}"
    )


async def migrate(conn: Connection, model: EmbeddingModel, *, checkpoints: bool) -> None:
    """Bring the database's tables up to date on an autocommit connection, the checkpointer's too if wanted.

    A DatabaseUnavailable says that the database has no pgvector, or that this user may not create tables, and an
    EmbeddingMismatch that it holds vectors of another model.
    """
    await _bring_up_to_date(conn, model.dims, model, checkpoints=checkpoints)


async def upgrade(conn: Connection, dims: int) -> None:
    """Bring the tables of a database with vectors of `dims` dimensions up to date, of any model: see `migrate`."""
    await _bring_up_to_date(conn, dims, None, checkpoints=False)


async def _bring_up_to_date(conn: Connection, dims: int, model: EmbeddingModel | None, *, checkpoints: bool) -> None:
    async def start() -> None:
        await conn.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))

    async def apply() -> tuple[int, str] | None:
        if model is not None:
            check_embedding(await stored_embedding(conn), model)
        known = MIGRATIONS if await table_exists(conn, "store") else ((MIGRATIONS[-1][0], NEW_DATABASE),)
        if checkpoints:
            await _apply(conn, "checkpoint_migrations", enumerate(AsyncPostgresSaver.MIGRATIONS))
        await _apply(conn, "store_migrations", enumerate(STORE_MIGRATIONS))
        await _create_extension(conn)
        # LangGraph's three, without its index, which ours would drop.
        vectors = ("SELECT 'the extension'", of_dims(_VECTORS_TABLE, dims), "SELECT 'none'")
        await _apply(conn, "vector_migrations", enumerate(vectors))
        ours = [(number, of_dims(text, dims)) for number, text in known]
        left = await _apply(conn, "memory_migrations", ours)
        if model is not None:
            await conn.execute(
                "INSERT INTO memory_embedding (name, dims) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (model.name, model.dims),
            )
        return left

    try:
        while (left := await patiently(conn, start, apply)) is not None:
            await run_steps(conn, *left)
        await keep_distributed(conn)
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnavailable(
            f"The database's user may not create the tables of the store: {error.diag.message_primary}. Grant it "
            "CREATE on the schema, or run the first start with a user that has it."
        ) from error


def of_dims(statement: str, dims: int) -> str:
    """Return SQL with `{dims}` and `{inline}` filled in for vectors of some dimensions."""
    # 1,500 bytes beside the vector: a piece of text has 100 words, of 8 bytes each
    return statement.replace("{dims}", str(int(dims))).replace("{inline}", str(min(8_160, 2 * int(dims) + 1_500)))


async def _create_extension(conn: Connection) -> None:
    version = await _extension_version(conn)
    if version is None:
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
        version = await _extension_version(conn)
    if version is not None and tuple(map(int, version.split(".")[:2])) < _OLDEST_PGVECTOR:
        raise DatabaseUnavailable(
            f"The database has pgvector {version}, and 0.8 or newer is needed. Install a newer package on the server, "
            "and then run in that database: ALTER EXTENSION vector UPDATE"
        )


async def _extension_version(conn: Connection) -> str | None:
    row = await (await conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")).fetchone()
    return None if row is None else str(row["extversion"])


async def _apply(conn: Connection, table: str, migrations: Iterable[tuple[int, str]]) -> tuple[int, str] | None:
    """Apply the missing migrations in order; stop at the first online one, and return it."""
    if not await table_exists(conn, table):
        await conn.execute(SQL("CREATE TABLE {} (v INTEGER PRIMARY KEY)").format(Identifier(table)))
    row = await (await conn.execute(SQL("SELECT max(v) AS v FROM {}").format(Identifier(table)))).fetchone()
    done = -1 if row is None or row["v"] is None else row["v"]
    for number, text in migrations:
        if number <= done:
            continue
        if has_steps(text):
            return number, text
        # LangGraph's indexes: within a transaction none is built beside others
        for statement in statements_of(text.replace("CONCURRENTLY ", "")):
            await conn.execute(statement.encode())
        await conn.execute(
            SQL("INSERT INTO {} (v) SELECT generate_series(%s::int, %s::int)").format(Identifier(table)),
            (done + 1, number),
        )
        done = number
    return None


async def table_exists(conn: Connection, table: str) -> bool:
    """Return true if this schema has the table."""
    row = await (
        await conn.execute("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = %s", (table,))
    ).fetchone()
    return row is not None
