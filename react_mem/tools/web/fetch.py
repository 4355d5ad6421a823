"""Fetching a page that a stranger has named: from the public internet only, in bounded time and size."""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache

import httpcore
import httpx

from react_mem.tools.web.charset import decode
from react_mem.tools.web.network import CheckedBackend, Network, PageError, PageRefused

MAX_BYTES = 2_000_000
"""Of a page, unpacked. The median page's HTML is 30 kB, one in a hundred is over 1 MB."""

MAX_REDIRECTS = 3
"""From http to https, to www, to the language: what honest sites need."""

_CONNECT_SECONDS = 3.0
"""For one address of a host that may have several."""

_PAGES = {"text/html", "application/xhtml+xml", "text/plain"}
_REDIRECTS = {301, 302, 303, 307, 308}
_HEADERS: dict[bytes | str, bytes | str] = {
    "user-agent": "Mozilla/5.0 (compatible; react-mem)",
    "accept": "text/html,application/xhtml+xml,text/plain;q=0.9",
    # the one that everybody speaks, and whose output can be bounded as it comes
    "accept-encoding": "gzip",
    "connection": "close",
}


@dataclass(frozen=True)
class FetchedPage:
    """A page as it came.

    Args:
        url: Where it was in the end.
        text: What it holds, markup included.
        is_html: Whether that is markup.
    """

    url: str
    text: str
    is_html: bool


class PageFetcher:
    """Fetches pages: no cookies, no credentials, no proxy, and nothing of one fetch is known to the next.

    Args:
        network: Where pages may be fetched from.
    """

    def __init__(self, network: Network | None = None) -> None:
        self._network = network or Network()

    async def fetch(self, url: str, *, seconds: float) -> FetchedPage:
        """Fetch a page.

        Args:
            url: Its address.
            seconds: For all of it: names, redirects, every byte.

        Raises:
            PageRefused: If it, or where it redirects to, is not on the public internet.
            PageError: If it cannot be had, is too large, or is not text.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(url)
        except TimeoutError as error:
            raise PageError("time", f"it took longer than {seconds:.1f} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
            raise PageError("network", f"it cannot be reached ({type(error).__name__})") from error

    async def _follow(self, url: str) -> FetchedPage:
        at = _parsed(url)
        for _ in range(MAX_REDIRECTS + 1):
            found = await self._get(at)
            if isinstance(found, FetchedPage):
                return found
            try:
                at = _parsed(str(at.join(found)))
            except httpx.InvalidURL as error:
                raise PageError("redirects", "it redirects to something that is not an address") from error
        raise PageError("redirects", f"it redirects more than {MAX_REDIRECTS} times")

    async def _get(self, url: httpx.URL) -> FetchedPage | str:
        """Return the page, or where it redirects to."""
        tls = await asyncio.to_thread(_tls) if url.scheme == "https" else None
        # one connection a request: a pool would be bound to an event loop, and lead to hosts that were checked long ago
        async with (
            httpcore.AsyncConnectionPool(ssl_context=tls, network_backend=CheckedBackend(self._network)) as pool,
            pool.stream(
                "GET",
                httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers={**_HEADERS, "host": url.netloc},
                extensions={"timeout": {"connect": _CONNECT_SECONDS}},
            ) as response,
        ):
            headers = {name.lower(): value for name, value in response.headers}
            if response.status in _REDIRECTS and b"location" in headers:
                return headers[b"location"].decode("utf-8", "replace")
            if response.status != 200:
                raise PageError("status", f"it answers with status {response.status}")
            kind, charset = _content_type(headers.get(b"content-type", b""))
            if kind and kind not in _PAGES:
                raise PageError("type", f"it is {kind}, not a page of text")
            body = await _read(response, headers)
        return await asyncio.to_thread(_page, str(url), kind, charset, body)


async def _read(response: httpcore.Response, headers: dict[bytes, bytes]) -> bytes:
    too_large = PageError("size", f"it is larger than {MAX_BYTES / 1_000_000:g} MB")
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and int(announced[:20]) > MAX_BYTES:
        raise too_large
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding not in (b"identity", b"", b"gzip", b"x-gzip"):
        raise PageError("type", "it is packed in a way that was not asked for")
    body = bytearray()
    # each of these closes what it reads from
    stream = response.aiter_stream()
    chunks = _unpacked(stream, MAX_BYTES) if encoding.endswith(b"gzip") else stream
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_BYTES:
            raise too_large
    return bytes(body)


async def _unpacked(stream: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    """Unpack gzip, no more of it than a byte over the limit: a bomb is never unpacked whole."""
    unpacker = zlib.decompressobj(wbits=31)
    left = limit + 1
    async for packed in stream:
        try:
            chunk = unpacker.decompress(packed, left)
        except zlib.error as error:
            raise PageError("type", "it says that it is gzip, and is not") from error
        left -= len(chunk)
        yield chunk
        if left <= 0 or unpacker.eof:
            return


def _parsed(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise PageError("scheme", "it is not an address") from error
    if parsed.scheme not in ("http", "https"):
        raise PageRefused("scheme", f"{parsed.scheme or 'nothing'} is not a scheme that pages are fetched by")
    if not parsed.host:
        raise PageError("scheme", "it names no host")
    if parsed.userinfo:
        raise PageRefused("address", "it has credentials in its address")
    return parsed


def _content_type(header: bytes) -> tuple[str, str]:
    text = header.decode("latin-1")
    charset = re.search(r"charset\s*=\s*([^;\s]+)", text, re.IGNORECASE)
    return text.partition(";")[0].strip().lower(), charset.group(1) if charset else ""


def _page(url: str, kind: str, charset: str, body: bytes) -> FetchedPage:
    text = decode(body, charset)
    # text in two or four bytes a letter has been decoded by now; what still has these is a picture or a program
    if "\x00" in text[:4096]:
        raise PageError("type", "it is binary, not a page of text")
    if not text.strip():
        raise PageError("empty", "it is empty")
    is_html = kind != "text/plain" if kind else text.lstrip()[:1] == "<"
    return FetchedPage(url, text, is_html)


@cache
def _tls() -> ssl.SSLContext:
    """Return how certificates are checked. Blocking: it reads those of the authorities."""
    return httpx.create_ssl_context(trust_env=False)
