"""Asking one model after the other, within one deadline: each stands in for those before it that failed."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from react_mem.errors import ExtractionError

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
