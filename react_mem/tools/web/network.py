"""Address guard (SSRF): connections to public addresses alone.

Anybody may choose an address in a search result. The checked address is the connected one: a second resolution of a
name could lead elsewhere, into the network of this process (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import httpcore

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
