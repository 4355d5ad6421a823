"""Fields of other systems: texts, and times in ISO 8601, in seconds or in milliseconds since 1970."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

JSON_FILES = re.compile(r"\.jsonl?$", re.IGNORECASE)
NO_OBJECT = "is not a JSON object"

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)
_MILLISECONDS = 1e11
"""Seconds until the year 5138: a greater number counts milliseconds."""


def time_in(value: Any) -> datetime | None:
    """Return the time that a value names; None for no time or an unreadable one.

    >>> time_in("2026-03-03T20:00:00Z") == time_in(1772568000) == time_in("1772568000000")
    True
    >>> time_in("soon"), time_in(True), time_in("9" * 400)
    (None, None, None)
    """
    if isinstance(value, bool) or value in (None, ""):
        return None
    try:
        if isinstance(value, str) and not value.strip().replace(".", "", 1).lstrip("-").isdecimal():
            at = datetime.fromisoformat(value.strip())
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        seconds = float(value)
        return datetime.fromtimestamp(seconds / 1_000 if abs(seconds) >= _MILLISECONDS else seconds, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def written_at(*values: Any) -> tuple[datetime | None, bool]:
    """Return the first plausible writing time, and true if an earlier value was implausible.

    Plausible is a time from 1970 until now. Values behind the first plausible one are not examined.

    >>> written_at("9999-01-01T00:00:00Z", 1772568000)[1], written_at(1772568000, "soon")[1], written_at(None)[1]
    (True, False, False)
    """
    wrong = False
    for value in values:
        at = time_in(value)
        if at is not None and _EARLIEST <= at <= datetime.now(UTC) + _AHEAD:
            return at, wrong
        wrong = wrong or value not in (None, "")
    return None, wrong


def text_of(value: Any) -> str:
    """Return a string or a number as text; empty for anything else.

    >>> text_of("7"), text_of(7), text_of(float("nan")), text_of(None)
    ('7', '7', '', '')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def noted(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the named fields that have a value."""
    return {name: value[name] for name in names if value.get(name)}
