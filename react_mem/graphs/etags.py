"""ETags of conditional requests, as RFC 9110 (8.8.3, 13.1) has them."""

from __future__ import annotations

import re

_ANY = "*"

_ETAG = re.compile(r'(?:W/)?"[^"]*"')


def is_the_same(header: str, current: str) -> bool:
    """Return true if `If-Match` names the current ETag. A weak tag never does: it only says that something is alike.

    >>> is_the_same('"a", "b"', '"b"'), is_the_same('W/"b"', '"b"'), is_the_same("*", '"b"')
    (True, False, True)
    """
    return _names_any(header) or current in _ETAG.findall(header)


def is_alike(header: str, current: str) -> bool:
    """Return true if `If-None-Match` names the current ETag, by a strong or a weak tag.

    >>> is_alike('"a,b", W/"c"', '"c"'), is_alike('"a,b", W/"c"', '"b"'), is_alike(" * ", '"b"')
    (True, False, True)
    """
    named = [tag.removeprefix("W/") for tag in _ETAG.findall(header)]
    return _names_any(header) or current in named


def _names_any(header: str) -> bool:
    return header.strip() == _ANY
