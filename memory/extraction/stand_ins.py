"""Asking one model after the other, within one deadline: each stands in for those before it that failed."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TypeVar

from memory.extraction.contract import ExistingMemory, Extraction, Extractor, TranscriptMessage
from memory.extraction.errors import ExtractionError

T = TypeVar("T")

_SHARE = 2 / 3
"""Of the time that is left, what a model may take where another can stand in for it: one that hangs must not use up
what the other needs."""

log = logging.getLogger(__name__)


async def ask_in_turn(asks: Sequence[Callable[[float], Awaitable[T]]], seconds: float) -> T:
    """Return what the first model answers that does not fail.

    Args:
        asks: Asks a model each, within as many seconds as it is given; at least one.
        seconds: How long all of them may take.

    Raises:
        Exception: If all fail: of what they raised, the first error that passes by itself, else the first.
    """
    ends = time.monotonic() + seconds
    failures: list[Exception] = []
    for place, ask in enumerate(asks, start=1):
        left = max(ends - time.monotonic(), 0.0)
        try:
            return await ask(left if place == len(asks) else left * _SHARE)
        except Exception as error:
            failures.append(error)
            if place < len(asks):
                # only our own errors are known to say nothing secret
                cause = error if isinstance(error, ExtractionError) else type(error).__name__
                log.warning("the next model is asked, since one has failed: %s", cause)
    raise next((error for error in failures if getattr(error, "retryable", False)), failures[0])


@dataclass(frozen=True)
class ExtractorsInTurn:
    """Several extractors as one: the next is asked where one fails. See `memory.extraction.contract.Extractor`.

    Args:
        extractors: At least one.
    """

    extractors: Sequence[Extractor]

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        max_calls: int = 3,
        zone: tzinfo = UTC,
    ) -> Extraction:
        """Ask the models what the transcript teaches. See `Extractor.extract`; the deadline is that of all of them."""
        # one call for each that stands in, and the rest for the first, which may have to repair its answer
        spare = max(max_calls - len(self.extractors), 0)

        def asking(extractor: Extractor, calls: int) -> Callable[[float], Awaitable[Extraction]]:
            return lambda seconds: extractor.extract(messages, existing, deadline=seconds, max_calls=calls, zone=zone)

        asks = [asking(one, 1 + (0 if place else spare)) for place, one in enumerate(self.extractors[:max_calls])]
        return await ask_in_turn(asks, deadline)
