"""Addresses and networks: what a text means, and what a compiled set holds."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.addresses import AddressSet, address_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.1", (4, 0xC0000201)),
        ("::ffff:192.0.2.1", (4, 0xC0000201)),
        ("2001:DB8::1", (6, 0x20010DB8 << 96 | 1)),
        ("", None),
        ("unknown", None),
        ("192.0.2.1:80", None),
        ("192.0.2.01", None),
        ("fe80::1%eth0", (6, 0xFE80 << 112 | 1)),
        ("1" * 100_000, None),
    ],
)
def test_an_address_is_its_version_and_number(text: str, expected: tuple[int, int] | None) -> None:
    assert address_of(text) == expected


NETWORKS = st.lists(st.integers(0, 63).map(lambda number: f"10.0.0.{number * 4}/30"), max_size=12, unique=True)


@given(NETWORKS, st.integers(0, 255))
def test_the_compiled_set_holds_what_the_networks_hold(networks: list[str], last: int) -> None:
    address = ip_address(f"10.0.0.{last}")
    expected = any(address in ip_network(network) for network in networks)
    assert ((4, int(address)) in AddressSet(networks)) is expected
