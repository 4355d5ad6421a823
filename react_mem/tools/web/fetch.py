"""Fetching of untrusted addresses: from the public internet only, in bounded time and size."""

from __future__ import annotations

import asyncio
import codecs
import re
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import httpcore
import httpx
from charset_normalizer import from_bytes

# Address guard (SSRF): connections to public addresses alone. Anybody may choose an address in a search result.
# The checked address is the connected one: a second resolution of a name could lead elsewhere, into the network of this
# process (DNS rebinding).

_SPECIAL = tuple(
    ip_network(network)
    for network in (
        "168.63.129.16/32",  # public by its number, but the services of Azure's hosts to their machines
        "192.0.0.0/24",  # protocol assignments, with a cloud's metadata service
        "192.31.196.0/24",  # AS112, a sink of questions
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # relays of 6to4, withdrawn
        "192.175.48.0/24",  # AS112
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID, drones, AS112
        "2002::/16",  # 6to4, which leads wherever the IPv4 address inside does
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the former test network
        "3fff::/20",  # documentation
    )
)
"""Networks that are no hosts of the public internet by IANA's registries, and yet global to some version of Python."""

_UNICAST = ip_network("2000::/3")
"""The only assigned part of IPv6."""


def is_public(address: str) -> bool:
    """Return true if an IP address is public.

    Addresses that carry another inside (IPv4-mapped, 6to4, Teredo, NAT64) and link-local ones are not.

    >>> is_public("93.184.215.14"), is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    (True, True)
    >>> [is_public(it) for it in ("127.0.0.1", "192.0.0.192", "192.88.99.1", "3fff::1", "::ffff:8.8.8.8", "::1")]
    [False, False, False, False, False, False]
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and (ip.scope_id is not None or ip not in _UNICAST):
        return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _SPECIAL)


Resolve = Callable[[str, int], Awaitable[list[str]]]

RefusedFor = Literal[
    "address", "scheme", "size", "time", "type", "status", "empty", "redirects", "network"
]  # as telemetry's `web_page.refused` counts them

WEB_PORTS = frozenset({80, 443})
"""Allowed ports: services on others are seldom public."""

_ADDRESSES = 3
"""Addresses of a name that are tried in turn."""


class PageError(Exception):
    """Error for an unreadable page; telemetry counts the reason."""

    def __init__(self, reason: RefusedFor, message: str) -> None:
        super().__init__(message)
        self.reason: RefusedFor = reason


class PageRefused(PageError):  # noqa: N818 - the kind of PageError that says no
    """Error for a page that must not be read: its address is not public."""


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a name; OSError for none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True)
class Network:
    """Network from which pages are fetched: the public internet, unless code configures another."""

    resolve: Resolve = look_up
    allows_address: Callable[[str], bool] = is_public
    allows_port: Callable[[int], bool] = WEB_PORTS.__contains__


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Network backend that connects to the checked addresses themselves."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host; PageRefused if the port or any address is not allowed, PageError if none answers."""
        failure: Exception | None = None
        for address in (await self._checked(host, port))[:_ADDRESSES]:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise PageError("network", f"{host} cannot be reached") from failure

    async def _checked(self, host: str, port: int) -> list[str]:
        if not self._network.allows_port(port):
            raise PageRefused("address", f"port {port} is not one that pages are fetched from")
        try:
            addresses = await self._network.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise PageError("network", f"there is no host {host}") from error
        # a name with public and other addresses is refused as a whole
        if not addresses or not all(map(self._network.allows_address, addresses)):
            raise PageRefused("address", f"{host} is not an address of the public internet")
        return addresses


MAX_URL_CHARS = 2000
"""Length that browsers and servers agree on; longer addresses are not cited."""

_TRACKING = re.compile(
    r"utm_\w+|ga_\w+|mc_[ce]id|[dgf]clid|fbclid|gclsrc|gbraid|wbraid|msclkid|yclid|igshid|ref_src|_hsenc|_hsmi|vero_id",
    re.IGNORECASE,
)


def cited(url: str) -> str:
    """Return the address of a page without tracking parameters; empty for any other address than a web page's.

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
    query = "&".join(part for part in parts.query.split("&") if not _TRACKING.fullmatch(part.partition("=")[0]))
    # a space or an angle bracket would end the address where it is cited
    path, query = (quote(part, safe="/%:@!$&'()*+,;=-._~?[]", encoding="utf-8") for part in (parts.path, query))
    return urlunsplit((scheme, netloc, path or "/", query, ""))


def same_page(url: str) -> str:
    """Return a normal form of the addresses of one page.

    >>> same_page("http://www.example.com/a/?b=2&a=1") == same_page("https://example.com/a?a=1&b=2")
    True
    """
    parts = urlsplit(cited(url) or url)
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    return urlunsplit(("", parts.netloc.removeprefix("www."), parts.path.rstrip("/"), query, ""))


_DECLARED = re.compile(rb"""<(?:meta|\?xml)\b[^>]{0,300}?(?:charset|encoding)\s*=\s*["']?\s*([\w-]{2,40})""", re.I)

_NAMES = """
ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 latin-1 cp437 cp850 cp852 cp866 cp874 cp932 cp949 cp950
cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6
iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u
gb2312 gbk gb18030 big5 big5hkscs euc-jp euc-kr shift_jis iso2022_jp iso2022_kr tis-620 mac-roman mac-cyrillic
"""
_KNOWN = frozenset(codecs.lookup(name).name for name in _NAMES.split())
"""Encodings of pages. Python knows more, some of which are not text and some slow on crafted input."""

_VALID_AS_UTF8 = {"iso2022_jp", "iso2022_kr", "utf-16", "utf-16-le", "utf-16-be", "utf-32"}
"""Encodings with bytes that are valid UTF-8 too."""

_UNDECLARED = ["cp874", "cp932", "cp949", *(f"cp125{number}" for number in range(9)), "cp866", "koi8_r", "koi8_u"]
_UNDECLARED += ["iso8859_2", "iso8859_5", "iso8859_7", "gb18030", "big5", "euc_jp"]
"""Candidates for a page that does not declare one: encodings that differ in their letters. The fewer, the surer."""

_SAMPLE = 4096
"""Bytes for encoding detection: more take longer and tell little more."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(body: bytes, declared: str = "") -> str:
    r"""Return a page's text; unreadable bytes become U+FFFD. Blocks for some ten milliseconds if it must detect.

    Order: the byte order mark, valid UTF-8, which no other text is by chance, what the server declares, what the
    markup declares, detection.

    >>> decode("giá vàng".encode(), "latin-1")
    'giá vàng'
    >>> decode("giá vàng".encode("cp1258", "ignore"), "windows-1258")[:3]
    'giá'
    >>> decode(b"caf\xe9", "utf-8")
    'café'
    >>> decode("Сегодня в Москве дождь, а цены на золото выросли.".encode("koi8-r"))
    'Сегодня в Москве дождь, а цены на золото выросли.'
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    # a browser looks for the declaration in the first 1024 bytes
    in_markup = [found.decode("ascii", "ignore") for found in _DECLARED.findall(body[:2048])[:1]]
    names = list(filter(None, map(_canonical, (declared, *in_markup))))
    for name in (*(name for name in names if name in _VALID_AS_UTF8), "utf-8", *names):
        try:
            return body.decode(name)
        except UnicodeError:
            continue
    text = body.decode("utf-8", "replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    # a letter of UTF-8 that is whole speaks for it: other encodings hardly ever make one by chance
    if others >= 2 * text.count("\ufffd"):
        return text
    # the beginning of the lines with letters outside ASCII, which alone tell encodings apart
    sample = b"\n".join(line for line in body.splitlines() if not line.isascii())[:_SAMPLE]
    return body.decode(_detected(sample), "replace")


def _canonical(name: str) -> str:
    try:
        known = codecs.lookup(name.strip().strip("'\"")).name if name else ""
    except (LookupError, ValueError):
        return ""
    # a declared latin-1 is windows-1252, as in browsers
    known = "cp1252" if known in ("iso8859-1", "ascii") else known
    return known if known in _KNOWN else ""


def _detected(sample: bytes) -> str:
    # in some encodings a letter has up to four bytes, and the sample may end within one
    for end in range(len(sample), len(sample) - 4, -1):
        matches = from_bytes(sample[:end], cp_isolation=_UNDECLARED)
        if best := matches.best():
            equal = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
            if not any("cp1252" in match.could_be_from_charset for match in equal):
                return best.encoding
            break
    return "cp1252"


MAX_BYTES = 2_000_000
"""Unpacked bytes of a page. The median page's HTML is 30 kB, one in a hundred is over 1 MB."""

MAX_REDIRECTS = 3
"""Redirects of honest sites: from http to https, to www, to the language."""

_CONNECT_SECONDS = 3.0
"""Time limit for one address of a host."""

_PAGES = {"text/html", "application/xhtml+xml", "text/plain"}
_REDIRECTS = {301, 302, 303, 307, 308}
_HEADERS: dict[bytes | str, bytes | str] = {
    "user-agent": "Mozilla/5.0 (compatible; react-mem)",
    "accept": "text/html,application/xhtml+xml,text/plain;q=0.9",
    # every server knows gzip, and its output can be bounded in a stream
    "accept-encoding": "gzip",
    "connection": "close",
}


@dataclass(frozen=True)
class FetchedPage:
    """A page as received, with its final address and its markup."""

    url: str
    text: str
    is_html: bool


class PageFetcher:
    """Fetcher of pages without cookies, credentials, proxy or state between fetches."""

    def __init__(self, network: Network | None = None) -> None:
        self._network = network or Network()

    async def fetch(self, url: str, *, seconds: float) -> FetchedPage:
        """Fetch a page; `seconds` limits name resolution, redirects and all bytes.

        Raises PageRefused if it, or a redirect, is outside the public internet, and PageError if it cannot be fetched,
        is too large, or is not text.
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
            header = headers.get(b"content-type", b"").decode("latin-1")
            declared = re.search(r"charset\s*=\s*([^;\s]+)", header, re.IGNORECASE)
            kind, charset = header.partition(";")[0].strip().lower(), declared[1] if declared else ""
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
    unpacker = zlib.decompressobj(wbits=31) if encoding.endswith(b"gzip") else None
    async for chunk in response.aiter_stream():
        try:
            # up to one byte over the limit, so that a zip bomb is never unpacked whole
            body += unpacker.decompress(chunk, MAX_BYTES + 1 - len(body)) if unpacker else chunk
        except zlib.error as error:
            raise PageError("type", "it says that it is gzip, and is not") from error
        if len(body) > MAX_BYTES:
            raise too_large
        if unpacker and unpacker.eof:
            break
    return bytes(body)


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


def _page(url: str, kind: str, charset: str, body: bytes) -> FetchedPage:
    text = decode(body, charset)
    # UTF-16 and UTF-32 are decoded by now; a NUL means a picture or a program
    if "\x00" in text[:4096]:
        raise PageError("type", "it is binary, not a page of text")
    if not text.strip():
        raise PageError("empty", "it is empty")
    is_html = kind != "text/plain" if kind else text.lstrip()[:1] == "<"
    return FetchedPage(url, text, is_html)


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
