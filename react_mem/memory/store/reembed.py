"""Re-embedding: moves a database to another embedding model, while nobody else uses it.

One transaction empties the vectors and records the new model. From then on a process with another model
refuses to search and to write (see `model_guard`), and texts are found by their words alone. Then each
incomplete item is indexed again, in the order of the primary key. An interrupted run continues with the rest,
as does a store that fills in missing vectors.

With the current model nothing is emptied: it adds the words of texts that an older version or LangGraph's own
store wrote, and the vectors that failed.
"""

from __future__ import annotations

from collections.abc import Callable

from psycopg.sql import SQL, Identifier

from react_mem.errors import EmbeddingUnavailable
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.distribution import is_distributed
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.migrations import of_dims, stored_embedding
from react_mem.memory.store.postgres_server import open_database
from react_mem.memory.store.row_security import Connection
from react_mem.memory.store.storage_settings import StorageSettings
from react_mem.memory.store.transactions import until_no_deadlock
from react_mem.memory.store.vectors import LACKS, checked_vector

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
_LEFT = f"SELECT count(*) AS texts FROM store_vectors v WHERE {LACKS}"  # noqa: S608 - of literals


async def reembed(settings: StorageSettings, model: EmbeddingModel, report: Callable[[int, int], None]) -> int:
    """Embed all indexed texts of a database with another model, or the rest of an interrupted run; return their number.

    The settings' own `embedding` is not used. `report` is called with the number of texts done, and an estimate of
    all.
    """
    async with open_database(settings, checkpoints=False, move_to=model) as store:
        await until_no_deadlock(store.pool, lambda conn: _empty(conn, model))
        async with store.pool.connection() as conn:
            row = await (await conn.execute(_LEFT.encode())).fetchone()
        total = row["texts"] if row is not None else 0
        report(0, total)
        # a long text has more vectors than an older version gave it
        return await store.vectors.make_up(report=lambda done: report(done, max(done, total)))


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
