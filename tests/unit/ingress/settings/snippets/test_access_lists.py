"""The first line that names an address decides about it, whatever stands behind."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.gates import SourceRanges
from ingress.settings.snippets.access_lists import ranges_of
from ingress.settings.snippets.levels import AccessEntry

ALL = ("0.0.0.0/0", "::/0")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([(True, "10.0.0.0/8"), (False, *ALL)], SourceRanges(allowed=("10.0.0.0/8",))),
        ([(False, "10.0.0.0/8")], SourceRanges(denied=("10.0.0.0/8",))),
        ([(False, *ALL), (True, "10.0.0.0/8")], SourceRanges(denied=ALL)),
        ([(True, *ALL), (False, *ALL)], SourceRanges(allowed=ALL)),
        ([(True, "10.0.0.1/32"), (False, "10.0.0.0/31")], SourceRanges(denied=("10.0.0.0/32",))),
        ([(True, "::1/128"), (False, *ALL)], SourceRanges(allowed=("::1/128",))),
    ],
)
def test_lists(entries: list[tuple[bool | str, ...]], expected: SourceRanges) -> None:
    assert ranges_of(AccessEntry(bool(allows), tuple(map(str, nets))) for allows, *nets in entries) == expected


@pytest.mark.parametrize(
    "places",
    [[f"10.{n}.7.{n}/32" for n in range(100)], [f"2001:db8:{n:x}::{n:x}/128" for n in range(1, 101)]],
)
def test_a_hundred_lines_become_a_hundred_networks_and_not_what_lies_between_them(places: list[str]) -> None:
    """A list that says everything but these would have thousands of networks, for each of which every worker pays."""
    lines = [AccessEntry(False, (place,)) for place in places]
    found = ranges_of([*lines, AccessEntry(True, ALL)])
    assert (found.allowed, sorted(found.denied)) == ((), sorted(places))
    lines = [AccessEntry(True, (place,)) for place in places]
    found = ranges_of([*lines, AccessEntry(False, ALL)])
    assert (sorted(found.allowed), found.denied) == (sorted(places), ())


_NETWORKS = st.sampled_from(["10.0.0.0/30", "10.0.0.1/32", "10.0.0.2/31", "10.0.0.0/8", "0.0.0.0/0", "::/0", "::1/128"])


@given(st.lists(st.tuples(st.booleans(), _NETWORKS), max_size=6))
def test_ranges_let_in_whom_the_first_fitting_line_lets_in(entries: list[tuple[bool, str]]) -> None:
    ranges = ranges_of(AccessEntry(allows, (net,)) for allows, net in entries)
    for text in ("10.0.0.0", "10.0.0.1", "10.0.0.3", "10.0.0.4", "11.0.0.0", "::1", "::2"):
        address = ip_address(text)
        wanted = next((allows for allows, net in entries if address in ip_network(net)), True)
        denied = any(address in ip_network(net) for net in ranges.denied)
        allowed = not ranges.allowed or any(address in ip_network(net) for net in ranges.allowed)
        assert (allowed and not denied) is wanted
