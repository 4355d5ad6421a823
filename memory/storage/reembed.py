"""Move a database to another embedding model: `python -m memory.storage.reembed --to MODEL`.

The new vectors are gathered in a table beside the old one and take its place in one transaction at the end. An
interrupted run goes on where it was; until it ends, the database is what it was before. Stop what writes to the
database first: it would go on writing vectors of the old model.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier, Literal
from rich.console import Console

from memory.storage.embeddings import EmbeddingModel, load_embedding_model
from memory.storage.errors import StorageError
from memory.storage.migrations import stored_embedding, table_exists, vectors_index, vectors_table
from memory.storage.server import connected
from memory.storage.settings import StorageSettings
from memory.storage.text import text_of_field, vector_literal

_BATCH = 100
"""Texts a call: what an interruption costs at most, and within every provider's limit."""

_NEXT = "store_vectors_next"
_PENDING = """
    SELECT v.prefix, v.key, v.field_name, v.updated_at, s.value
    FROM store_vectors v JOIN store s ON s.prefix = v.prefix AND s.key = v.key
    WHERE NOT EXISTS (
        SELECT FROM store_vectors_next n WHERE n.prefix = v.prefix AND n.key = v.key
        AND n.field_name = v.field_name AND n.updated_at = v.updated_at
    )
    LIMIT %s
"""
_INSERT = """
    INSERT INTO store_vectors_next (prefix, key, field_name, embedding, updated_at)
    SELECT prefix, key, field_name, embedding::vector, updated_at
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[])
        AS new (prefix, key, field_name, embedding, updated_at)
    ON CONFLICT (prefix, key, field_name) DO UPDATE
    SET embedding = excluded.embedding, updated_at = excluded.updated_at
"""
_SWAP = (
    # Without an embedding are the vectors of a text that the item no longer has: the stock store leaves them behind.
    "DELETE FROM store_vectors_next WHERE embedding IS NULL",
    """DELETE FROM store_vectors_next n WHERE NOT EXISTS (SELECT FROM store_vectors v
        WHERE v.prefix = n.prefix AND v.key = n.key AND v.field_name = n.field_name)""",
    "DROP TABLE store_vectors",
    "ALTER TABLE store_vectors_next RENAME TO store_vectors",
    "ALTER INDEX store_vectors_next_pkey RENAME TO store_vectors_pkey",
    "ALTER INDEX store_vectors_next_prefix_idx RENAME TO store_vectors_prefix_idx",
    "ALTER INDEX IF EXISTS store_vectors_next_embedding_idx RENAME TO store_vectors_embedding_idx",
    """ALTER TABLE store_vectors
        RENAME CONSTRAINT store_vectors_next_prefix_key_fkey TO store_vectors_prefix_key_fkey""",
)

Connection = AsyncConnection[DictRow]


async def reembed(settings: StorageSettings, model: EmbeddingModel, report: Callable[[int], None]) -> int:
    """Embed everything that a database indexes with another model.

    Args:
        settings: Which database; its `embedding` is not used.
        model: The model to move to.
        report: Told the number of vectors made so far in this run.

    Returns:
        The number of vectors made in this run.

    Raises:
        StorageError: If the database cannot be opened.
    """
    async with connected(settings) as conn:
        stored = await stored_embedding(conn)
        if stored is None or (stored.name, stored.dims) == (model.name, model.dims):
            return 0
        await _prepare(conn, model)
        done = 0
        while True:
            while (made := await _embed_batch(conn, model)) > 0:
                done += made
                report(done)
            await conn.execute(
                SQL(vectors_index(model.dims)).format(
                    index=Identifier(f"{_NEXT}_embedding_idx"), table=Identifier(_NEXT)
                )
            )
            if await _swap(conn, model):
                return done


async def _prepare(conn: Connection, model: EmbeddingModel) -> None:
    found = await (
        await conn.execute("SELECT obj_description(to_regclass(%s), 'pg_class') AS model", (_NEXT,))
    ).fetchone()
    if found is not None and found["model"] == model.name:
        return
    async with conn.transaction():
        await conn.execute(SQL("DROP TABLE IF EXISTS {}").format(Identifier(_NEXT)))
        await conn.execute(SQL(vectors_table(model.dims)).format(table=Identifier(_NEXT)))
        await conn.execute(f"CREATE INDEX {_NEXT}_prefix_idx ON {_NEXT} (prefix text_pattern_ops)")
        await conn.execute(SQL("COMMENT ON TABLE {} IS {}").format(Identifier(_NEXT), Literal(model.name)))


async def _embed_batch(conn: Connection, model: EmbeddingModel) -> int:
    rows = await (await conn.execute(_PENDING, (_BATCH,))).fetchall()
    texts = [text_of_field(row["value"], row["field_name"]) for row in rows]
    wanted = [text for text in texts if text is not None]
    vectors = iter(await model.embeddings.aembed_documents(wanted) if wanted else [])
    literals = [None if text is None else vector_literal(next(vectors)) for text in texts]
    columns = [[row[name] for row in rows] for name in ("prefix", "key", "field_name", "updated_at")]
    await conn.execute(_INSERT, [*columns[:3], literals, columns[3]])
    return len(rows)


async def _swap(conn: Connection, model: EmbeddingModel) -> bool:
    """Put the new table in place of the old one, unless something was written meanwhile."""
    async with conn.transaction():
        await conn.execute("LOCK TABLE store_vectors IN ACCESS EXCLUSIVE MODE")
        if await (await conn.execute(_PENDING, (1,))).fetchone():
            return False
        for statement in _SWAP:
            await conn.execute(statement)
        if await table_exists(conn, "memory_embedding"):
            await conn.execute("DELETE FROM memory_embedding")
            await conn.execute("INSERT INTO memory_embedding (name, dims) VALUES (%s, %s)", (model.name, model.dims))
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command.

    Args:
        arguments: The command line; the process's own by default.
    """
    parser = argparse.ArgumentParser(prog="python -m memory.storage.reembed", description=__doc__)
    parser.add_argument("--to", required=True, metavar="MODEL", help="`local` or an init_embeddings string")
    spec = parser.parse_args(arguments).to
    console = Console()
    try:
        model = load_embedding_model(spec)
        with console.status("Embedding") as status:
            done = asyncio.run(
                reembed(StorageSettings.from_env(), model, lambda count: status.update(f"Embedding: {count} texts"))
            )
    except StorageError as error:
        sys.exit(str(error))
    console.print(f"{done} texts embedded. The memories are now of {model.name}: set EMBEDDING_MODEL={model.name}")


if __name__ == "__main__":
    main()
