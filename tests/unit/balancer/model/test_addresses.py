"""To which addresses and hosts a tenant may have requests sent, whatever form an address is written in."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.addresses import (
    is_forbidden,
    is_forbidden_endpoint,
    is_forbidden_host,
    is_numeric_name,
    is_public,
    reached,
)

FORBIDDEN = [
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.9.9.9", "169.254.1.1", "169.254.169.254", "224.0.0.1", "224.0.1.1",
    "239.255.255.250", "255.255.255.255", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.0.9",
    "::", "::1", "fe80::1", "fec0::1", "ff02::1", "ff0e::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
    "fd00:c1::a9fe:a9fe", "fd00:100::100:200", "fd00:42::42", "fd00:a9fe:a9fe::1",
    "64:ff9b:1::a00:7", "64:ff9b:1:7f00:0:100::", "2001:0:7f00:1::",
    "2002:7f00:1::",    "2002:808:808::1", "64:ff9c::a9fe:a9fe", "100::1", "4000::1", "::ffff:0:127.0.0.1",
]  # fmt: skip
OF_PODS = ["192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "2001:db8::1"]
ALLOWED = [
    "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "100.100.100.201", "8.8.8.8", "168.63.129.17", "192.0.1.1",
    "fd00::1", "fd00:ec1::254", "2600::1", "2001:4860::8888", "64:ff9b::a00:7", "::ffff:10.0.0.1", "::a00:7",
]  # fmt: skip

any_ipv4 = st.integers(0, 2**32 - 1).map(IPv4Address)
forbidden_ipv4 = st.one_of(
    any_ipv4.filter(is_forbidden), st.sampled_from(FORBIDDEN[:13]).map(IPv4Address), st.just(IPv4Address("127.0.0.1"))
)


def written(prefix: int, address: IPv4Address) -> IPv6Address:
    return IPv6Address(prefix | int(address))


@pytest.mark.parametrize("address", FORBIDDEN)
def test_what_no_tenant_may_name(address: str) -> None:
    assert is_forbidden(ip_address(address))
    assert is_forbidden_endpoint(ip_address(address))
    assert is_forbidden_host(address)


@pytest.mark.parametrize("address", OF_PODS)
def test_ranges_that_only_pods_may_have(address: str) -> None:
    assert is_forbidden(ip_address(address))
    assert not is_forbidden_endpoint(ip_address(address))


@pytest.mark.parametrize("address", ALLOWED)
def test_what_a_tenant_may_name(address: str) -> None:
    assert not is_forbidden(ip_address(address))
    assert not is_forbidden_endpoint(ip_address(address))
    assert not is_forbidden_host(address)
    assert not is_forbidden_host(f"[{address}]")


@given(st.ip_addresses(v=4))
def test_all_addresses_of_a_block_are_allowed_or_none(address: IPv4Address) -> None:
    """Also next to the special networks, which the strategy prefers."""
    of_clusters = map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
    is_allowed = is_public(address) or any(address in each for each in of_clusters)
    of_metadata = str(address) in {"168.63.129.16", "100.100.100.200"}
    assert is_forbidden(address) == (of_metadata or not is_allowed)


@given(any_ipv4)
def test_whatever_is_allowed_is_public_or_of_a_cluster(address: IPv4Address) -> None:
    if not is_forbidden(address):
        assert is_public(address) or address.is_private or str(address).startswith("100.")


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_of_ipv6_only_allocated_and_local_prefixes_are_allowed(address: IPv6Address) -> None:
    if not is_forbidden(address) and reached(address) == address:
        assert int(address) >> 125 == 1 or int(address) >> 121 == 0xFC >> 1


@given(any_ipv4, st.sampled_from(["::ffff:0:0", "::", "64:ff9b::"]))
def test_an_ipv4_address_inside_of_an_ipv6_address_is_judged_as_itself(address: IPv4Address, prefix: str) -> None:
    if int(address) > 1:
        assert is_forbidden(written(int(ip_address(prefix)), address)) is is_forbidden(address)


@given(
    forbidden_ipv4,
    st.sampled_from(["2001:4860:1:2::", "fd12:3456:789a:1::", "fe80::"]),
    st.sampled_from([0x5EFE, 0x0200_5EFE]),
)
def test_a_forbidden_address_inside_of_an_isatap_address_is_forbidden(
    address: IPv4Address, prefix: str, mark: int
) -> None:
    assert is_forbidden(written(int(ip_address(prefix)) | mark << 32, address))


@given(any_ipv4, st.sampled_from([48, 56, 64, 96]))
def test_no_local_nat64_prefix_leads_anywhere(address: IPv4Address, length: int) -> None:
    """RFC 6052 2.2: bits 64 to 71 are zero, so the IPv4 address goes around them."""
    number, prefix = int(address), int(ip_address("64:ff9b:1::"))
    if length == 96:
        embedded = number
    else:
        first = length - 64 + 32  # how many of its bits come behind bit 64
        high, low = number >> first, number & ((1 << first) - 1)
        embedded = high << 64 | low << (56 - first)
    assert is_forbidden(IPv6Address(prefix | embedded))


@given(st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_teredo_and_6to4_lead_nowhere(address: IPv4Address, server: int, rest: int) -> None:
    assert is_forbidden(IPv6Address(0x2001_0000 << 96 | server << 64 | (int(address) ^ 0xFFFFFFFF)))
    assert is_forbidden(IPv6Address(0x2002 << 112 | int(address) << 80 | rest))


@pytest.mark.parametrize(
    "name", ["2130706433", "127.1", "017700000001", "0x7f.1", "0x7f000001", "0177.0.0.1", "1.2.3.0x", "a.1"]
)
@pytest.mark.parametrize("dot", ["", "."])
def test_a_name_that_ends_in_a_number_is_forbidden(name: str, dot: str) -> None:
    assert is_numeric_name(name + dot)
    assert is_forbidden_host(name + dot)


_part = st.one_of(
    st.integers(0, 2**32).map(str), st.integers(0, 2**32).map(hex), st.integers(0, 2**32).map(lambda n: f"0{n:o}")
)


@given(st.lists(_part, min_size=1, max_size=5).map(".".join))
def test_whatever_the_system_reads_as_an_address_is_judged_as_one(name: str) -> None:
    try:
        read = socket.inet_aton(name)
    except OSError:
        return
    assert is_forbidden_host(name) or IPv4Address(read) == ip_address(name)


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST", "a.localhost", "localhost.", "", "[]", "[::1]", "[nonsense:]"]
)
def test_names_of_this_machine_and_what_is_no_host(name: str) -> None:
    assert is_forbidden_host(name)


@pytest.mark.parametrize("name", ["auth.shop.svc", "127.0.0.1.test", "a1", "0x.test", "localhost.test", "1e100.net"])
def test_other_names_are_judged_by_their_addresses(name: str) -> None:
    assert not is_forbidden_host(name)


def test_the_ipv4_address_inside_of_an_ipv6_address_is_reached() -> None:
    assert reached(ip_address("::ffff:192.0.2.1")) == ip_address("192.0.2.1")
    assert reached(ip_address("2001:db8::1")) == ip_address("2001:db8::1")
