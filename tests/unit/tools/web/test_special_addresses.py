"""Which addresses are of the public internet: the same in every Python."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.tools.web.fetch import is_public

SPECIAL = [
    "0.0.0.0",  # noqa: S104 - asked about, not bound
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "168.63.129.16",
    "169.254.169.254",
    "192.0.0.9",
    "192.0.0.170",
    "192.88.99.1",
    "192.168.1.1",
    "224.0.0.1",
    "::1",
    "::ffff:8.8.8.8",
    "::8.8.8.8",
    "64:ff9b::808:808",
    "2001::1",
    "2001:4:112::1",
    "2002:808:808::1",
    "3ffe::1",
    "5f00::1",
    "fd00:ec2::254",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
]

PUBLIC = [
    "8.8.8.8",
    "100.63.255.255",
    "172.32.0.1",
    "192.88.100.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:200::1",
    "2003::1",
    "3fff:1000::1",
]


@pytest.mark.parametrize("address", SPECIAL)
def test_what_a_registry_lists_is_no_page(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_the_neighbours_of_what_it_lists_are_pages(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "1.1.1.1/32", "[::1]"]
)
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not is_public(text)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_that_the_standard_library_refuses_is_public(address: IPv4Address | IPv6Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert not is_public(str(address))


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_not_public(inner: IPv4Address) -> None:
    for outer in (f"::ffff:{inner}", f"64:ff9b::{inner}", f"::{inner}"):
        assert not is_public(outer)
    assert not is_public(str(ip_address(0x2002 << 112 | int(inner) << 80)))
