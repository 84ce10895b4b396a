"""Addresses and networks: what a text means, and what a compiled set holds."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from timeit import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.addresses import AddressSet, address_of
from ingress.settings.table.source_ranges import networks


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


VARIED = st.sampled_from(
    ["10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0", "192.0.2.1", "192.0.2.1/32", "2001:db8::/32", "::/0"]
)
VARIED |= st.builds("10.{}.0.0/{}".format, st.integers(0, 255), st.integers(16, 32))
VARIED |= st.builds("2001:db8:{:x}::/{}".format, st.integers(0, 65535), st.integers(48, 128))


@given(st.lists(VARIED, max_size=8), st.sampled_from(["10.1.0.0", "10.9.0.7", "192.0.2.1", "2001:db8:7::", "9.9.9.9"]))
def test_networks_of_any_size_in_any_order_may_overlap(networks: list[str], text: str) -> None:
    address = ip_address(text)
    expected = any(address in ip_network(network) for network in networks)
    assert ((address.version, int(address)) in AddressSet(networks)) is expected


def test_a_list_as_the_control_process_writes_it_is_compiled_without_being_sorted_anew() -> None:
    """Each tenant may have many lists of 500 networks, and a worker compiles them on its loop."""
    written = networks(",".join(f"10.{number % 250}.{number * 7 % 250}.{number % 251}" for number in range(500)))
    compiled = min(repeat(lambda: AddressSet(written), number=1, repeat=5))
    read = min(repeat(lambda: [ip_network(each) for each in written], number=1, repeat=5))
    assert compiled < read, "less than the standard library takes to read them alone"
