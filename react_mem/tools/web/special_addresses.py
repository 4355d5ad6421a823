"""Addresses that are no host of the public internet, by IANA's registries of special-purpose addresses.

A list of ours, because the standard library's `is_global` differs from version to version: 3.11 to 3.13 call up to ten
of these networks global. What a registry says is reachable is on it as well where no page is: relays, sinks, anycast
services of the network itself.

Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its successors), the IPv6 Global
Unicast Address Assignments, RFC 5737, 5771, 7526, 9637.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a provider; a cloud's metadata service, too
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # public by its number, but the services of Azure's hosts to their machines
        "169.254.0.0/16",  # link-local, with most clouds' metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, with a cloud's metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112, a sink of questions
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # relays of 6to4, withdrawn
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks of network devices
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

_UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 from which addresses of the internet are given out."""

_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID, drones, AS112
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which leads wherever the IPv4 address inside does
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the former test network
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the public internet.

    Addresses that carry another inside (IPv4-mapped, 6to4, Teredo, NAT64) and those of one link are not.

    >>> is_public("93.184.215.14"), is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    (True, True)
    >>> [is_public(it) for it in ("127.0.0.1", "192.0.0.192", "192.88.99.1", "3fff::1", "::ffff:8.8.8.8", "::1")]
    [False, False, False, False, False, False]
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _IPV4)
    return _is_public_unicast(ip)


def _is_public_unicast(ip: IPv6Address) -> bool:
    return ip.scope_id is None and ip in _UNICAST and not any(ip in network for network in _IPV6)
