"""Source ranges: which addresses are let in."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.source_ranges import SourceGate
from balancer.matching.gates.verdicts import Asked, Deny, Go, Verdict, Waiting
from balancer.model.entry_points import HTTP
from balancer.model.gates import SourceRanges
from tests.questions import question_of

REQUEST = question_of("http://shop.test/").request


def verdict(client: str, ranges: SourceRanges) -> Verdict | Waiting:
    def resume(_: Verdict) -> None:
        raise AssertionError("source ranges never wait")

    return SourceGate(ranges).judge(Asked(REQUEST, Origin(peer=client, entry_point=HTTP), secure=False), resume)


def is_let_in(client: str, *, allowed: tuple[str, ...] = (), denied: tuple[str, ...] = ()) -> bool:
    said = verdict(client, SourceRanges(allowed, denied))
    assert said in (Go(), Deny(ErrorKind.SOURCE_DENIED))
    return isinstance(said, Go)


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("10.0.0.0", True),
        ("10.255.255.255", True),
        ("9.255.255.255", False),
        ("11.0.0.0", False),
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("2001:db8::1", True),
        ("2001:db9::1", False),
        ("::ffff:10.1.2.3", True),
        ("::ffff:11.1.2.3", False),
    ],
)
def test_only_allowed_addresses_are_let_in(client: str, expected: bool) -> None:
    allowed = ("10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32")
    assert is_let_in(client, allowed=allowed) is expected


def test_the_denied_are_refused_also_where_they_are_allowed() -> None:
    ranges = {"allowed": ("10.0.0.0/8",), "denied": ("10.0.0.9/32", "2001:db8::/32")}
    assert not is_let_in("10.0.0.9", **ranges)
    assert not is_let_in("2001:db8::9", **ranges)
    assert is_let_in("10.0.0.8", **ranges)
    assert not is_let_in("11.0.0.8", **ranges)


def test_without_allowed_ranges_everybody_else_is_let_in() -> None:
    assert is_let_in("192.0.2.1", denied=("10.0.0.0/8",))
    assert is_let_in("2001:db8::1", denied=("10.0.0.0/8",))
    assert not is_let_in("10.0.0.1", denied=("10.0.0.0/8",))


def test_all_of_ipv6_is_nothing_of_ipv4() -> None:
    assert not is_let_in("192.0.2.1", allowed=("::/0",))
    assert not is_let_in("::ffff:192.0.2.1", allowed=("::/0",))
    assert not is_let_in("2001:db8::1", allowed=("0.0.0.0/0",))


@pytest.mark.parametrize("client", ["", "unknown", "10.0.0.1:80", "fe80::1%"])
def test_an_address_that_cannot_be_read_is_refused(client: str) -> None:
    assert not is_let_in(client, allowed=("0.0.0.0/0", "::/0"))
    assert not is_let_in(client, denied=("203.0.113.0/24",))
