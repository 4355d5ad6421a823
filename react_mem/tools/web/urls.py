"""The addresses of pages: the one to cite, and what two that lead to the same page have in common."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

MAX_URL_CHARS = 2000
"""Length that browsers and servers agree on; longer ones are not to be cited."""

_TRACKING = re.compile(
    r"utm_\w+|ga_\w+|mc_[ce]id|[dgf]clid|fbclid|gclsrc|gbraid|wbraid|msclkid|yclid|igshid|ref_src|_hsenc|_hsmi|vero_id",
    re.IGNORECASE,
)


def cited(url: str) -> str:
    """Return the address of a page as it is cited: without what only follows its readers about.

    Args:
        url: An address as an engine gives it.

    Returns:
        The address; empty where it is none of a page on the web.

    >>> cited("HTTPS://Example.com:443/a?utm_source=x&id=7#top")
    'https://example.com/a?id=7'
    >>> cited("javascript:alert(1)"), cited("https://user:secret@example.com/")
    ('', '')
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    scheme = parts.scheme.lower()
    # credentials in an address are a way to make one host look like another
    if scheme not in ("http", "https") or not host or "@" in parts.netloc or len(url) > MAX_URL_CHARS:
        return ""
    if re.search(r"[\s<>\"\\^`{|}]", host):
        return ""
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != {"http": 80, "https": 443}[scheme]:
        netloc += f":{port}"
    query = parts.query
    if any(_TRACKING.fullmatch(part.partition("=")[0]) for part in query.split("&")):
        query = "&".join(part for part in query.split("&") if not _TRACKING.fullmatch(part.partition("=")[0]))
    # a space or an angle bracket would end the address where it is cited
    path, query = (quote(part, safe="/%:@!$&'()*+,;=-._~?[]", encoding="utf-8") for part in (parts.path, query))
    return urlunsplit((scheme, netloc, path or "/", query, ""))


def same_page(url: str) -> str:
    """Return what the addresses of one page have in common.

    >>> same_page("http://www.example.com/a/?b=2&a=1") == same_page("https://example.com/a?a=1&b=2")
    True
    """
    parts = urlsplit(cited(url) or url)
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    return urlunsplit(("", parts.netloc.removeprefix("www."), parts.path.rstrip("/"), query, ""))
