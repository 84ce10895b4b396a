"""Lists of networks: how they are read, and which of them holds."""

from __future__ import annotations

import pytest

from balancer.model.gates import SourceRanges
from ingress.settings.table.source_ranges import SourceSettings, networks
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        ("10.0.0.0/8", ("10.0.0.0/8",)),
        ("127.0.6.9", ("127.0.6.9/32",)),
        ("2001:db8::1", ("2001:db8::1/128",)),
        ("10.1.2.3/8", ("10.0.0.0/8",)),
        (" 192.168.0.0/16 ,10.0.0.0/8,", ("10.0.0.0/8", "192.168.0.0/16")),
        ("10.0.0.0/9,10.128.0.0/9,10.1.1.1", ("10.0.0.0/8",)),
        ("::ffff:10.1.2.3", ("10.1.2.3/32",)),
        ("::ffff:10.0.0.0/104,::/0", ("10.0.0.0/8", "::/0")),
        ("2001:DB8::/32,10.0.0.1", ("10.0.0.1/32", "2001:db8::/32")),
    ],
)
def test_a_list_is_read_into_disjoint_networks(text: str, expected: tuple[str, ...]) -> None:
    assert networks(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        ",",
        "10.0.0.0/8,nonsense",
        "10.0.0.0/33",
        "10.0.0.0/255.0.0.0",
        "10.0.0",
        "010.0.0.1",
        "fe80::1%eth0",
        "10.0.0.0/-1",
        "10.0.0.0 192.168.0.0",
        "shop.test",
        "10.0.0.\u0660",
        ",".join(f"10.{number // 250}.{number % 250}.1" for number in range(501)),
    ],
)
def test_one_item_that_is_no_network_makes_the_list_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        networks(text)


def test_a_list_of_an_ingress_replaces_that_of_the_cluster() -> None:
    cluster = SourceSettings(whitelisted=("10.0.0.0/8",), denied=("10.0.0.9/32",))
    assert SourceSettings().gates(cluster) == (SourceRanges(("10.0.0.0/8",), ("10.0.0.9/32",)),)
    own = SourceSettings(allowed=("192.0.2.0/24",))
    assert own.gates(cluster) == (SourceRanges(("192.0.2.0/24",), ("10.0.0.9/32",)),)
    assert SourceSettings(denied=("192.0.2.1/32",)).gates(SourceSettings()) == (SourceRanges((), ("192.0.2.1/32",)),)


def test_the_old_name_counts_where_the_new_one_is_empty() -> None:
    both = SourceSettings(allowed=("10.0.0.0/8",), whitelisted=("192.0.2.0/24",))
    assert both.gates(SourceSettings()) == (SourceRanges(("10.0.0.0/8",)),)
    old = SourceSettings(whitelisted=("192.0.2.0/24",))
    assert old.gates(SourceSettings()) == (SourceRanges(("192.0.2.0/24",)),)


def test_without_lists_there_is_no_gate() -> None:
    assert SourceSettings().gates(SourceSettings()) == ()
