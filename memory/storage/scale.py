"""Which calibration belongs to a database: known, kept beside its vectors, or measured once."""

from __future__ import annotations

import logging

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from memory.storage.calibration import KNOWN, Calibration, calibrate
from memory.storage.embeddings import EmbeddingModel

_STORED = "SELECT calibration FROM memory_embedding WHERE name = %s AND calibration IS NOT NULL"
_STORE = "UPDATE memory_embedding SET calibration = %s::jsonb WHERE name = %s"

log = logging.getLogger(__name__)


async def calibration_of(conn: AsyncConnection[DictRow], model: EmbeddingModel) -> Calibration:
    """Return what the cosines of a database's model mean; a model that nobody knows is measured once.

    Args:
        conn: A connection.
        model: The model whose vectors the database holds. What it raises is passed on.
    """
    if model.name in KNOWN:
        return KNOWN[model.name]
    row = await (await conn.execute(_STORED, (model.name,))).fetchone()
    if row is not None:
        return Calibration.model_validate(row["calibration"])
    calibration = await calibrate(model.embeddings)
    await conn.execute(_STORE, (calibration.model_dump_json(), model.name))
    if not calibration.separates:
        log.warning(
            "The embedding model %s hardly tells an answer from an unrelated text; similarity_threshold is not applied",
            model.name,
        )
    return calibration
