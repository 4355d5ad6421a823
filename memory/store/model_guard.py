"""Guard against comparing vectors of different models while a database moves from one to another.

A process that was started before the move must not write vectors of the old model into it, nor search with them:
vectors of two models may have the same length and yet nothing to do with each other.
"""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.errors import EmbeddingMismatch

_LOCK = 0x6D65_6D6D_6F64_656C
"""`memmodel`: shared by who writes vectors, held alone by who replaces them all."""


async def hold_model(conn: AsyncConnection[DictRow], model: str) -> None:
    """Make sure that the database's vectors are of a model, and stay so until the transaction ends.

    Raises:
        EmbeddingMismatch: If they are of another.
    """
    await conn.execute("SELECT pg_advisory_xact_lock_shared(%s)", (_LOCK,))
    await check_model(conn, model)


async def check_model(conn: AsyncConnection[DictRow], model: str) -> None:
    """Make sure that the database's vectors are of a model.

    Raises:
        EmbeddingMismatch: If they are of another.
    """
    row = await (await conn.execute("SELECT name FROM memory_embedding")).fetchone()
    if row is None or row["name"] != model:
        stored = row["name"] if row else "another model"
        raise EmbeddingMismatch(
            f"The memories in this database have been re-embedded with {stored} since this process started, which "
            f"embeds with {model}. Start it again with EMBEDDING_MODEL={stored}."
        )


async def wait_for_writers(conn: AsyncConnection[DictRow]) -> None:
    """Keep everybody from writing vectors until the transaction ends; those who already do so end first."""
    await conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
