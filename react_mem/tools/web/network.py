"""Address guard (SSRF): connections to addresses that a page may be fetched from, and nowhere else.

An address in a search result is anybody's to choose. What is looked up is what is connected to: a name that is looked
up again could lead elsewhere the second time, into the network that this process stands in.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import httpcore

from react_mem.tools.web.special_addresses import is_public

Resolve = Callable[[str, int], Awaitable[list[str]]]

RefusedFor = Literal[
    "address", "scheme", "size", "time", "type", "status", "empty", "redirects", "network"
]  # as telemetry's `web_page.refused` counts them

WEB_PORTS = frozenset({80, 443})
"""Allowed ports: what listens on others is seldom meant for the public."""

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
