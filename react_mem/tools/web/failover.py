"""Failover among search engines, each behind a circuit breaker."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from react_mem.memory import telemetry
from react_mem.tools.web.engines import Attempt, Engine, EngineError, EngineMissing, WebHit
from react_mem.tools.web.missing import MissingPackage

# Circuit breaker.

FAILURES = 3
"""Failures in a row that open the circuit. One is chance, and a second may be the same hiccup."""

REST = 60.0
"""Seconds. Rate limits of engines are by the minute."""


class CircuitBreaker:
    """Circuit breaker: `FAILURES` in a row open it for `REST` seconds.

    Then one trial call is admitted, which closes it or opens it again.

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
        """True while calls are held back, a trial aside."""
        return self._opened_at is not None

    def admits(self) -> bool:
        """Return true if a call may be made; the caller must report its outcome."""
        if self._opened_at is None:
            return True
        if self._trying or self._clock() - self._opened_at < REST:
            return False
        self._trying = True
        return True

    def seconds_left(self) -> float:
        """Return the seconds until a trial."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + REST - self._clock())

    def succeeded(self) -> None:
        """Report a success."""
        self._failures = 0
        self._opened_at = None
        self._trying = False

    def failed(self) -> None:
        """Report a failure."""
        self._failures += 1
        if self._trying or self._failures >= FAILURES:
            self._opened_at = self._clock()
        self._trying = False

    def abandoned(self) -> None:
        """Report a call without a result."""
        self._trying = False


_SHARE = 0.5
"""Share of the remaining time for one engine, so that the next one and the pages have some too."""

log = logging.getLogger(__name__)


class Engines:
    """Engines in the order of failover."""

    def __init__(self, engines: Sequence[Engine], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._guarded = [(engine, CircuitBreaker(clock)) for engine in engines]

    async def find(self, attempt: Attempt, limit: int) -> tuple[list[WebHit], Engine | None]:
        """Ask the engines in turn until one finds something; return its hits with it, else nothing and None.

        Failures are noted in the attempt.
        """
        for engine, breaker in self._guarded:
            if not breaker.admits():
                attempt.missing[engine.name] = f"left alone for {breaker.seconds_left():.0f} s: it failed before"
                continue
            hits = await _ask(engine, breaker, attempt, limit)
            if hits:
                return hits, engine
            telemetry.count("degradations", part="web_engine")
        return [], None


async def _ask(engine: Engine, breaker: CircuitBreaker, attempt: Attempt, limit: int) -> list[WebHit]:
    seconds = _SHARE * attempt.left()
    outcome = breaker.abandoned
    # an attribute's name: a path may be longer than telemetry's names
    label = engine.name.rpartition(":")[2]
    try:
        with telemetry.span("web_engine", engine=label) as measured:
            async with asyncio.timeout(seconds):
                found = await engine.find(attempt.query, limit)
            measured.set(results=len(found))
        outcome = breaker.succeeded
        if not found:
            attempt.missing[engine.name] = "it found nothing"
        return found
    except (EngineMissing, MissingPackage) as error:
        attempt.missing[engine.name] = str(error)
    except Exception as error:  # whatever an engine's client raises
        outcome = breaker.failed
        attempt.missing[engine.name] = _cause(error, seconds)
        log.warning("the search engine %s failed: %s", engine.name, type(error).__name__)
    finally:
        outcome()
        telemetry.record("breaker.open", float(breaker.is_open), guards="web_engine", name=label)
    return []


def _cause(error: Exception, seconds: float) -> str:
    """Return the cause of a failure; of a client's own message only the type, since it may hold a key or the query."""
    if isinstance(error, TimeoutError):
        return f"it took longer than {seconds:.1f} s"
    return str(error) if isinstance(error, EngineError) else f"it failed ({type(error).__name__})"
