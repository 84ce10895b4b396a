"""What stands for a client: an address, or the network of an IPv6 address."""

from __future__ import annotations

import pytest

from balancer.matching.addresses import address_of
from balancer.matching.clients import client_key, peer_key


def client(text: str) -> bytes:
    address = address_of(text)
    assert address is not None
    return client_key(address)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::1", "0.0.0.0", False),
    ],
)
def test_a_client_of_ipv6_is_a_network(one: str, other: str, same: bool) -> None:
    assert (client(one) == client(other)) is same


def test_a_peer_is_its_address_of_ipv6_its_network_and_otherwise_its_text() -> None:
    assert peer_key("192.0.2.1") == peer_key("::ffff:192.0.2.1") == client("192.0.2.1")
    assert peer_key("2001:db8::1") == peer_key("2001:db8::2") == client("2001:db8::")
    assert peer_key("2001:db8:0:1::1") != peer_key("2001:db8::1")
    assert peer_key("no address: at all") == b"no address: at all"
