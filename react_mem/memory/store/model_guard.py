"""Guard against comparing vectors of different models while a database moves from one to another.

A process that was started before the move must not write vectors of the old model into it, nor search with them:
vectors of two models may have the same length and yet nothing to do with each other.

Who writes vectors writes them first and looks then, in the same transaction, whose vectors the database holds: who
replaces them all keeps the table from being written while it does, so that the look comes before or after.
"""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.errors import EmbeddingMismatch


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
