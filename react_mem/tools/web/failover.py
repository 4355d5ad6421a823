"""Several engines as one: the next is asked where one fails, and one that keeps failing is left alone for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from react_mem.memory import telemetry
from react_mem.tools.web.attempt import Attempt
from react_mem.tools.web.breaker import CircuitBreaker
from react_mem.tools.web.engines import Engine, EngineError, EngineMissing, WebHit
from react_mem.tools.web.missing import MissingPackage

_SHARE = 0.5
"""Of the time that is left: what an engine may take, so that there is some for the next, and for the pages."""

log = logging.getLogger(__name__)


class Engines:
    """Engines in the order that they are asked in.

    Args:
        engines: The engines.
        clock: What their rests are measured by, in seconds.
    """

    def __init__(self, engines: Sequence[Engine], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._guarded = [(engine, CircuitBreaker(clock)) for engine in engines]

    async def find(self, attempt: Attempt, limit: int) -> tuple[list[WebHit], Engine | None]:
        """Ask one engine after the other until one finds something.

        Args:
            attempt: The search; the engines that fail, and why, are noted in it.
            limit: Pages at most.

        Returns:
            What was found, and by whom; nothing, and nobody, where none finds anything.
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
    """Return what an engine finds; nothing where it fails, which is noted."""
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
    """Return why an engine failed. What a client says may have a key or the query in it: of that, only its kind."""
    if isinstance(error, TimeoutError):
        return f"it took longer than {seconds:.1f} s"
    return str(error) if isinstance(error, EngineError) else f"it failed ({type(error).__name__})"
