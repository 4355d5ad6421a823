"""ETags of conditional requests, as RFC 9110 (8.8.3, 13.1) has them."""

from __future__ import annotations

import re

_ANY = "*"

_ETAG = re.compile(r'(?:W/)?"[^"]*"')


def is_the_same(header: str, current: str) -> bool:
    """Return whether `If-Match` names what there is; a weak tag says that something is alike, and so never the same.

    >>> is_the_same('"a", "b"', '"b"'), is_the_same('W/"b"', '"b"'), is_the_same("*", '"b"')
    (True, False, True)

    Args:
        header: The header.
        current: The ETag that there is, which is no weak one.
    """
    return _names_any(header) or current in _ETAG.findall(header)


def is_alike(header: str, current: str) -> bool:
    """Return whether `If-None-Match` names what there is, by a tag or by a weak one.

    >>> is_alike('"a,b", W/"c"', '"c"'), is_alike('"a,b", W/"c"', '"b"'), is_alike(" * ", '"b"')
    (True, False, True)

    Args:
        header: The header.
        current: The ETag that there is.
    """
    named = [tag.removeprefix("W/") for tag in _ETAG.findall(header)]
    return _names_any(header) or current in named


def _names_any(header: str) -> bool:
    return header.strip() == _ANY
