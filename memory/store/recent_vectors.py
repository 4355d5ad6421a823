"""Vectors that were made a while ago: a text that is written again, as when only a mark of its record changes."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping

from cachetools import TTLCache

_BYTES = 4 << 20
"""Some 2,700 vectors of the local model, 680 of one with 1,536 dimensions."""
_SECONDS = 600.0
"""Seconds for which a vector is kept: records are revised soon if at all, and nothing forgotten stays for long."""


class RecentVectors:
    """The vectors of texts that one model has embedded, by a digest of the text: the texts themselves are not kept.

    Args:
        clock: Tells the seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._vectors = TTLCache[bytes, bytes](_BYTES, _SECONDS, timer=clock, getsizeof=len)

    def get(self, text: str) -> bytes | None:
        """Return the vector of a text, if it is known."""
        with self._lock:
            return self._vectors.get(_digest(text))

    def add(self, vectors: Mapping[str, bytes | None]) -> None:
        """Take vectors; a text without one is left out."""
        with self._lock:
            for text, vector in vectors.items():
                if vector is not None and len(vector) <= _BYTES:
                    self._vectors[_digest(text)] = vector


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
