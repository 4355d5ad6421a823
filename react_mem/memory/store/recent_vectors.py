"""Vectors that were made a while ago: a text that is written again, as when only a mark of its record changes, and a
question that is asked again, as by every node of a flow that reads.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Literal

from cachetools import TTLCache

from react_mem.memory import telemetry
from react_mem.memory.store.storage_settings import CACHE_BYTES

_SECONDS = 600.0
"""Seconds for which a vector is kept: records are revised soon if at all, and nothing forgotten stays for long."""


class RecentVectors:
    """The vectors of texts that one model has embedded, by a digest of the text: the texts themselves are not kept.

    Args:
        holds: What the texts are, as metrics call it.
        max_bytes: Bytes that are kept; 0 for none.
        clock: Tells the seconds.
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
        """Begin anew, with so many bytes that are kept."""
        with self._lock:
            self._vectors = TTLCache[bytes, bytes](max_bytes, _SECONDS, timer=self._clock, getsizeof=len)

    def get(self, text: str) -> bytes | None:
        """Return the vector of a text, if it is known."""
        with self._lock:
            found = self._vectors.get(_digest(text))
        telemetry.count("cache.lookups", cache=self._holds, hit="no" if found is None else "yes")
        return found

    def add(self, vectors: Mapping[str, bytes | None]) -> None:
        """Take vectors; a text without one is left out."""
        with self._lock:
            for text, vector in vectors.items():
                if vector is not None and len(vector) <= self._vectors.maxsize:
                    self._vectors[_digest(text)] = vector
            size = self._vectors.currsize
        telemetry.record("cache.bytes", size, cache=self._holds)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._vectors.clear()
        telemetry.record("cache.bytes", 0, cache=self._holds)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
