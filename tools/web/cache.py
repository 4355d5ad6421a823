"""What was found a while ago: a bounded memory with a time to live."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")

ENTRIES = 256
"""At most. Three pages of two thousand characters each: about 2 MB in all."""


class ExpiringCache(Generic[Value]):
    """The values of the last while, the least recently used dropped first; safe between threads.

    Args:
        seconds: How long a value is good; 0 keeps none.
        entries: How many are kept.
        clock: Returns the time in seconds.

    >>> now = 0.0
    >>> cache = ExpiringCache[str](seconds=10, clock=lambda: now)
    >>> cache.put("gold", "up"); cache.get("gold")
    'up'
    >>> now = 10.0
    >>> cache.get("gold") is None
    True
    """

    def __init__(self, *, seconds: float, entries: int = ENTRIES, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._entries = entries
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, Value]] = OrderedDict()
        # a server may run event loops of its own for background work
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """Return what was put under a key, while it is good."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            until, value = found
            if self._clock() >= until:
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
            return value

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a value under a key."""
        if self._seconds <= 0:
            return
        with self._lock:
            self._kept[key] = (self._clock() + self._seconds, value)
            self._kept.move_to_end(key)
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)
