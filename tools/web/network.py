"""Address guard (SSRF): connections to addresses that a page may be fetched from, and nowhere else.

An address in a search result is anybody's to choose. What is looked up is what is connected to: a name that is looked
up again could lead elsewhere the second time, into the network that this process stands in.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Literal

import httpcore

Resolve = Callable[[str, int], Awaitable[list[str]]]

RefusedFor = Literal[
    "address", "scheme", "size", "time", "type", "status", "empty", "redirects", "network"
]  # as telemetry's `web_page.refused` counts them

WEB_PORTS = frozenset({80, 443})
"""Allowed ports: what listens on others is seldom meant for the public."""

_UNICAST = IPv6Network("2000::/3")
_NOT_THE_INTERNET = frozenset({"168.63.129.16"})
"""Public by its number, but the metadata service of Azure's machines."""

_ADDRESSES = 3
"""Of a name, tried in turn."""


class PageError(Exception):
    """A page that cannot be read.

    Args:
        reason: What kind of cause.
        message: The cause.
    """

    def __init__(self, reason: RefusedFor, message: str) -> None:
        super().__init__(message)
        self.reason: RefusedFor = reason


class PageRefused(PageError):  # noqa: N818 - the kind of PageError that says no
    """A page that must not be read: its address leads where no page is."""


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the public internet.

    Addresses that carry another inside (IPv4-mapped, 6to4, Teredo, NAT64) are not: they lead wherever that one does.

    >>> is_public("93.184.215.14"), is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    (True, True)
    >>> [is_public(it) for it in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::ffff:8.8.8.8", "::1")]
    [False, False, False, False, False, False]
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and (ip not in _UNICAST or ip.sixtofour is not None or ip.teredo is not None):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and address not in _NOT_THE_INTERNET


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a name.

    Raises:
        OSError: If it has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True)
class Network:
    """Network from which pages are fetched: the public internet, unless who builds it says otherwise in code.

    Args:
        resolve: Finds the addresses of a name.
        allows_address: Says whether one may be connected to.
        allows_port: Says whether a port of it may be.
    """

    resolve: Resolve = look_up
    allows_address: Callable[[str], bool] = is_public
    allows_port: Callable[[int], bool] = WEB_PORTS.__contains__


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to a name by the very addresses that were checked.

    Args:
        network: Finds and judges them.
    """

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
        """Connect to a host.

        Raises:
            PageRefused: If the port or any address of the host is not for pages.
            PageError: If it has no address, or none that answers.
        """
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
        # of a name that leads to both, none: it is not what it seems
        if not addresses or not all(map(self._network.allows_address, addresses)):
            raise PageRefused("address", f"{host} is not an address of the public internet")
        return addresses
