"""Cursors of lists: where a page ends, as an opaque text that a client sends back."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

_NONE = "cursor: is none of this list; ask for the first page without one"


def cursor_of(*place: str | int) -> str:
    """Return a cursor.

    Args:
        place: Where the page ends.

    >>> read_cursor(cursor_of("2026-03-01", 7), str, int)
    ('2026-03-01', 7)
    """
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """Return the place that a cursor names.

    Args:
        cursor: What a client sent.
        kinds: What a place of this list is made of.

    Raises:
        ValueError: If it is no cursor of such a list.
    """
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)).decode())
    except (ValueError, binascii.Error, RecursionError) as error:
        raise ValueError(_NONE) from error
    if not isinstance(place, list) or [type(part) for part in place] != [*kinds]:
        raise ValueError(_NONE)
    if any(isinstance(part, str) and not _is_text(part) for part in place):
        raise ValueError(_NONE)
    return tuple(place)


def _is_text(part: str) -> bool:
    try:
        part.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in part
