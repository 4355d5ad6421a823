"""When a turn that waits may be read: not while somebody reads it, not while a model is down, not for ever in vain."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from react_mem.errors import ExtractionError, ModelUnavailable
from react_mem.memory.llm.causes import cause_of, scrub
from react_mem.memory.model.records import now
from react_mem.memory.model.states import MAX_FAILURES, PendingTurn
from react_mem.memory.work.workers import is_dead

_FIRST_RETRY = 15.0
_LAST_RETRY = 3600.0
"""Seconds until a model that was down is asked again, doubling: being asked at every turn does not bring it back."""

_MAX_DOUBLINGS = 10


def is_due(turn: PendingTurn, at: datetime) -> bool:
    """Return whether a turn may be claimed now.

    Args:
        turn: A turn that waits.
        at: Now.
    """
    due = next_due(turn, at)
    return due is not None and due <= at


def next_due(turn: PendingTurn, at: datetime) -> datetime | None:
    """Return when a turn may be claimed, at the earliest; None for one that is parked.

    Args:
        turn: A turn that waits.
        at: Now.
    """
    if turn.failures >= MAX_FAILURES:
        return None
    waits = [turn.retry_at, None if is_dead(turn.claimed_by) else turn.claimed_until]
    return max((time for time in waits if time is not None), default=at)


def freed(turn: PendingTurn, failure: Exception | None) -> PendingTurn:
    """Return a turn that may be claimed again: at once, or after one more attempt that failed, when it makes sense.

    Args:
        turn: A turn that this worker has claimed.
        failure: Why it could not be read; None where it was not tried to the end.
    """
    free: dict[str, Any] = {"claimed_by": "", "claimed_until": None}
    if failure is not None:
        outage = isinstance(failure, ExtractionError) and failure.retryable
        asked = failure.retry_after if isinstance(failure, ModelUnavailable) else None
        wait = (
            max(min(_FIRST_RETRY * 2 ** min(turn.attempts, _MAX_DOUBLINGS), _LAST_RETRY), asked or 0.0)
            if outage
            else 0.0
        )
        free |= {
            "attempts": turn.attempts + 1,
            "failures": turn.failures + (not outage),
            "retry_at": now() + timedelta(seconds=wait) if outage else None,
            "last_error": in_short(failure),
        }
    return turn.model_copy(update=free)


def in_short(failure: Exception) -> str:
    """Return an error in a line, to be kept with the owner's records: with its type where the text is not enough."""
    return scrub(failure) if isinstance(failure, ExtractionError) and str(failure) else cause_of(failure)
