"""A circuit breaker: what fails again and again is left alone for a while, then tried once."""

from __future__ import annotations

import time
from collections.abc import Callable

FAILURES = 3
"""In a row. One is chance, and a second may be the same hiccup."""

REST = 60.0
"""Seconds. An engine that limits its users does so by the minute."""


class CircuitBreaker:
    """Circuit breaker: `FAILURES` in a row open it for `REST` seconds.

    Then one call is let through, which closes it or opens it for as long again.

    Args:
        clock: Returns the time in seconds.

    >>> now = 0.0
    >>> breaker = CircuitBreaker(lambda: now)
    >>> breaker.failed(); breaker.failed(); breaker.admits(), breaker.failed(), breaker.admits()
    (True, None, False)
    >>> now = 60.0
    >>> breaker.admits(), breaker.admits()
    (True, False)
    >>> breaker.succeeded(); breaker.admits()
    True
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None
        self._trying = False

    @property
    def is_open(self) -> bool:
        """Return whether the circuit is open: calls are held back, a trial aside."""
        return self._opened_at is not None

    def admits(self) -> bool:
        """Return whether a call may be made; its outcome must be told."""
        if self._opened_at is None:
            return True
        if self._trying or self._clock() - self._opened_at < REST:
            return False
        self._trying = True
        return True

    def seconds_left(self) -> float:
        """Return how long it stays open."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + REST - self._clock())

    def succeeded(self) -> None:
        """Note that a call did what it should."""
        self._failures = 0
        self._opened_at = None
        self._trying = False

    def failed(self) -> None:
        """Note that a call failed."""
        self._failures += 1
        if self._trying or self._failures >= FAILURES:
            self._opened_at = self._clock()
        self._trying = False

    def abandoned(self) -> None:
        """Note that a call was given up before it showed anything."""
        self._trying = False
