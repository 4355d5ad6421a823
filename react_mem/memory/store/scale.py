"""Calibration of a database's embedding model: built in, stored with the vectors, or measured once in background."""

from __future__ import annotations

import asyncio
import logging
import time

from langchain_core.embeddings import Embeddings
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.calibration import KNOWN, Calibration, calibrate
from react_mem.memory.store.embeddings import EmbeddingModel

_STORED = "SELECT calibration FROM memory_embedding WHERE name = %s AND calibration IS NOT NULL"
_STORE = "UPDATE memory_embedding SET calibration = %s::jsonb WHERE name = %s"

UNMEASURED = Calibration(
    points=((-1, 0), (0.051, 0.5), (0.168, 0.7), (0.285, 0.8), (0.520, 0.9), (1, 1)), separation={}
)
"""all-MiniLM-L6-v2, as measured: the shape of most models. Its separation is empty, so that no threshold applies until
the model's own calibration is known.
"""

_RETRY_SECONDS = 60.0
"""Pause after a failed measurement: it takes some eighty texts, and providers limit rates."""

log = logging.getLogger(__name__)


class MeasuredScale:
    """Calibration of an embedder: known by its name, or measured once in the background."""

    def __init__(self, name: str, embeddings: Embeddings) -> None:
        self._name = name
        self._embeddings = embeddings
        self._known = KNOWN.get(name)
        self._measuring: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def known(self) -> Calibration | None:
        """Return the calibration if known; otherwise None, and start to look it up or measure it."""
        idle = self._measuring is None or self._measuring.done()
        if self._known is None and idle and time.monotonic() >= self._not_before:
            self._measuring = asyncio.create_task(self._find_out())
        return self._known

    async def settle(self) -> None:
        """Wait for the end of a measurement."""
        if self._measuring is not None:
            await asyncio.wait([self._measuring])

    async def _find_out(self) -> None:
        try:
            await self._measure()
        except Exception as error:  # whatever the provider's client raises; the next question tries again
            self._not_before = time.monotonic() + _RETRY_SECONDS
            log.warning("the scale of %s is not known yet: %s", self._name, cause_of(error))

    async def _measure(self) -> None:
        self._known = await calibrate(self._embeddings)
        if not self._known.separates:
            log.warning("%s hardly tells an answer from an unrelated text: no threshold is applied", self._name)


class Scale(MeasuredScale):
    """Calibration of a store's embedding model, stored in its database."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]], model: EmbeddingModel) -> None:
        super().__init__(model.name, model.embeddings)
        self._pool = pool

    @property
    def calibration(self) -> Calibration:
        """Return the model's calibration once measured, until then the one of most models."""
        return self.known() or UNMEASURED

    async def close(self) -> None:
        """Cancel a measurement; the next process begins again."""
        if self._measuring is not None:
            self._measuring.cancel()
            await asyncio.wait([self._measuring])

    async def _measure(self) -> None:
        async with self._pool.connection() as conn:
            row = await (await conn.execute(_STORED, (self._name,))).fetchone()
        if row is not None:
            self._known = Calibration.model_validate(row["calibration"])
            return
        await super()._measure()  # no connection is held meanwhile
        if self._known is not None:
            async with self._pool.connection() as conn:
                await conn.execute(_STORE, (self._known.model_dump_json(), self._name))
