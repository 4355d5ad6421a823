"""Rankings of a while ago, for the same question over an index that has not changed since."""

from __future__ import annotations

import hashlib
import threading
import weakref
from typing import Any

from cachetools import LRUCache

from react_mem.memory import telemetry
from react_mem.memory.index.ranked_hits import Parts, RankedHits
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.index.texts import IndexedTexts

_NO_PARTS = 64
"""Bytes that are counted of a ranking without hits."""

Key = tuple[int, bytes]


class RecentRankings:
    """Rankings by what was asked and the index that it was asked of: numbers, no words of the question or of a memory.

    An index never changes: a write makes another of its namespace, which has no ranking yet. So a ranking holds for one
    revision and nothing has to be told what became stale: what nobody asks for any more goes for want of room.

    Args:
        max_bytes: Bytes that are kept, the least recently used go first; 0 for none.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: LRUCache[Key, tuple[weakref.ref[IndexedTexts], Parts | None]] = LRUCache(
            max_bytes, getsizeof=lambda kept: _size(kept[1])
        )

    def get(self, texts: IndexedTexts, asked: bytes) -> RankedHits | None:
        """Return what was found; None where that is not known.

        Args:
            texts: The index.
            asked: The digest of what is asked.
        """
        if not self._max_bytes:
            return None
        with self._lock:
            kept = self._kept.get((id(texts), asked))
        # another index may have come to lie where the one that was asked lay
        hit = kept is not None and kept[0]() is texts
        telemetry.count("cache.lookups", cache="search", hit="yes" if hit else "no")
        return RankedHits(texts, kept[1]) if kept is not None and hit else None

    def add(self, texts: IndexedTexts, asked: bytes, found: RankedHits) -> None:
        """Keep what was found.

        Args:
            texts: The index.
            asked: The digest of what was asked.
            found: What was found.
        """
        if _size(found.parts) > self._max_bytes:
            return
        with self._lock:
            self._kept[id(texts), asked] = (weakref.ref(texts), found.parts)
            size = self._kept.currsize
        telemetry.record("cache.bytes", size, cache="search")


def digest_of(op: RecallOp, *others: Any) -> bytes:
    """Return what tells a search from others.

    Args:
        op: The recall.
        others: What else the ranking goes by.
    """
    question = op.question
    asked = (
        (question.text, question.terms, question.speaker, question.periods, question.asks_when, question.names),
        sorted(op.conditions.items()),
        (op.limit, op.without, op.similarity, sorted(op.arms), op.pairs),
        others,
    )
    return hashlib.blake2b(repr(asked).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _size(parts: Parts | None) -> int:
    return _NO_PARTS + (sum(column.nbytes for column in parts) if parts is not None else 0)
