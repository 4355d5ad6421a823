"""Reuse of vectors: from the database for rewritten records, and from a cache for recent texts."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal

from cachetools import TTLCache
from langgraph.store.base import PutOp
from psycopg.rows import DictRow

from react_mem.memory import telemetry
from react_mem.memory.index.entries import Entry
from react_mem.memory.model.namespaces import owner_of_path
from react_mem.memory.model.records import now, with_zone
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.row_security import Pool, confined
from react_mem.memory.store.sealing.sealed_entries import is_sealed, opened_value, opened_vector
from react_mem.memory.store.storage_settings import CACHE_BYTES
from react_mem.memory.store.stored_text import text_of_field
from react_mem.memory.store.writes import by_owner, columns

_NEW = timedelta(minutes=1)
"""Age up to which a record hardly has vectors in the database, and recent ones are cached (see `RecentVectors`): the
writes of a turn cost no further round trip.
"""

# A vector is of the value that is there if both were written together: LangGraph's own store can write one alone.
_VECTORS = """
    SELECT s.value, v.prefix, v.key, v.field_name, vector_send(v.half::vector) AS vector, v.sealed_vector
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS wanted (prefix, key, field_name)
        JOIN store_vectors v ON v.prefix = wanted.prefix AND v.key = wanted.key AND v.field_name = wanted.field_name
        JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
    WHERE v.owner = %s AND s.owner = %s AND v.updated_at = s.updated_at
        AND (v.sealed_vector IS NOT NULL OR v.half IS NOT NULL)
        AND EXISTS (SELECT FROM memory_embedding WHERE name = %s)
"""

PlacedEntry = tuple[str, str, Entry]
"""Entry of the index with the namespace's path and the key of its item."""


def perhaps_stored(puts: Sequence[PutOp], entries: Sequence[PlacedEntry]) -> list[PlacedEntry]:
    """Return the entries of records that were created earlier, so that the database probably has their vectors."""
    earlier = {(".".join(op.namespace), op.key) for op in puts if op.value is not None and _is_earlier(op.value)}
    return [placed for placed in entries if placed[:2] in earlier]


def _is_earlier(value: Mapping[str, Any]) -> bool:
    with suppress(KeyError, ValueError):
        return with_zone(datetime.fromisoformat(str(value["created_at"]))) < now() - _NEW
    return False


async def stored_vectors(
    pool: Pool, wanted: Sequence[PlacedEntry], model: str, keys: Mapping[str, OwnerKey]
) -> dict[str, bytes]:
    """Return the vectors of the texts that the database has unchanged, made by this model.

    A SealError says that one does not open.
    """
    rows: list[DictRow] = []
    async with pool.connection() as conn:
        for owner, placed in by_owner(wanted).items():
            key = keys.get(owner)
            named = [(prefix, item, entry.field_name) for prefix, item, entry in placed]
            if key is not None:
                named += [(prefix, key.keyed(item), name) for prefix, item, name in named]
            async with confined(conn, [owner]):
                read = await conn.execute(_VECTORS, (*columns(named, 3), owner, owner, model))
            rows += await read.fetchall()
    return await asyncio.to_thread(_unchanged, rows, wanted, keys) if rows else {}


def _unchanged(
    rows: Sequence[DictRow], wanted: Sequence[PlacedEntry], keys: Mapping[str, OwnerKey]
) -> dict[str, bytes]:
    for row in rows:
        key = keys.get(owner_of_path(row["prefix"]))
        if key is not None and row["sealed_vector"] is not None and is_sealed(row["value"]):
            prefix, stored, name = row["prefix"], row["key"], row["field_name"]
            row["vector"] = opened_vector(key, prefix, stored, name, row["sealed_vector"])
            row["key"], row["value"] = opened_value(key, prefix, stored, row["value"])
    texts = {(prefix, key, entry.field_name): entry.text for prefix, key, entry in wanted}
    found: dict[str, bytes] = {}
    for row in rows:
        text = texts[row["prefix"], row["key"], row["field_name"]]
        if row["vector"] is not None and text_of_field(row["value"], row["field_name"]) == text:
            found[text] = row["vector"]
    return found


_SECONDS = 600.0
"""Lifetime of a vector: records are revised soon if at all, and forgotten texts do not stay for long."""


class RecentVectors:
    """Cache of the vectors of one model, for ten minutes, by a digest of the text: no text is kept.

    `holds` is the kind of the texts, for metrics. A size of 0 bytes disables it.
    """

    def __init__(
        self,
        holds: Literal["document", "question"],
        max_bytes: int = CACHE_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._holds = holds
        self._lock = threading.Lock()
        self._clock = clock
        self.resize(max_bytes)

    def resize(self, max_bytes: int) -> None:
        """Empty the cache, and set its size."""
        with self._lock:
            self._vectors = TTLCache[bytes, bytes](max_bytes, _SECONDS, timer=self._clock, getsizeof=len)

    def get(self, text: str) -> bytes | None:
        """Return the vector of a text, if cached."""
        with self._lock:
            found = self._vectors.get(_digest(text))
        telemetry.count("cache.lookups", cache=self._holds, hit="no" if found is None else "yes")
        return found

    def add(self, vectors: Mapping[str, bytes | None]) -> None:
        """Add vectors; None is skipped."""
        with self._lock:
            for text, vector in vectors.items():
                if vector is not None and len(vector) <= self._vectors.maxsize:
                    self._vectors[_digest(text)] = vector
            size = self._vectors.currsize
        telemetry.record("cache.bytes", size, cache=self._holds)

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._vectors.clear()
        telemetry.record("cache.bytes", 0, cache=self._holds)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
