"""Guard against comparing vectors of different models while a database moves from one to another.

A process started before the move must neither write nor search vectors of the old model: vectors of two models
may have the same length and still be incomparable.

A writer writes its vectors first and then checks the model, in the same transaction: the move locks the table
against writes while it replaces all vectors, so the check comes before or after.
"""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.errors import EmbeddingMismatch


async def check_model(conn: AsyncConnection[DictRow], model: str) -> None:
    """Raise EmbeddingMismatch if the database's vectors are not of a model."""
    row = await (await conn.execute("SELECT name FROM memory_embedding")).fetchone()
    if row is None or row["name"] != model:
        stored = row["name"] if row else "another model"
        raise EmbeddingMismatch(
            f"The memories in this database have been re-embedded with {stored} since this process started, which "
            f"embeds with {model}. Start it again with EMBEDDING_MODEL={stored}."
        )
