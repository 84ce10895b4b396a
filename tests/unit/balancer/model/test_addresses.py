"""Which addresses lead into this pod or its cloud."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from balancer.model.addresses import is_local, is_local_literal, reached


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "169.254.1.1", "fe80::1", "224.0.0.1", "ff02::1",
        "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
    ],
)  # fmt: skip
def test_local_addresses(address: str) -> None:
    assert is_local(ip_address(address))


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.1", "198.51.100.1", "fd00::1", "2001:db8::1"])
def test_other_addresses(address: str) -> None:
    assert not is_local(ip_address(address))


def test_a_name_is_no_address() -> None:
    assert is_local_literal("127.0.0.1")
    assert not any(map(is_local_literal, ("localhost", "", "10.0.0.1", "127.0.0.1.test")))


def test_the_ipv4_address_inside_of_an_ipv6_address_is_reached() -> None:
    assert reached(ip_address("::ffff:192.0.2.1")) == ip_address("192.0.2.1")
    assert reached(ip_address("2001:db8::1")) == ip_address("2001:db8::1")
