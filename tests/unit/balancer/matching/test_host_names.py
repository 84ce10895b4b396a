"""Which names cover a host, the most specific one first."""

from __future__ import annotations

import pytest

from balancer.matching.host_names import ListenerNames, covering
from balancer.model.route_configurations import Listener, Wildcards

NAMES = {"", "*.test", "*.a.test", "a.test", "b.a.test", "*.c.b.a.test"}
ONE, MANY = Wildcards.ONE_LABEL, Wildcards.MANY_LABELS


@pytest.mark.parametrize(
    ("name", "wildcards", "expected"),
    [
        ("a.test", ONE, ["a.test", "*.test", ""]),
        ("b.a.test", ONE, ["b.a.test", "*.a.test", ""]),
        ("b.a.test", MANY, ["b.a.test", "*.a.test", "*.test", ""]),
        ("x.c.b.a.test", ONE, ["*.c.b.a.test", ""]),
        ("x.y.b.a.test", ONE, [""]),
        ("x.y.b.a.test", MANY, ["*.a.test", "*.test", ""]),
        ("test", MANY, [""]),
        (".test", MANY, [""]),
        (".test", ONE, [""]),
        ("x..a.test", MANY, [""]),
        ("", MANY, [""]),
        ("*.b.a.test", MANY, ["*.a.test", "*.test", ""]),
        ("*.a.test", MANY, ["*.a.test", "*.test", ""]),
        ("*.a.test", ONE, ["*.a.test", ""]),
    ],
)
def test_names_that_cover_all_of_another(name: str, wildcards: Wildcards, expected: list[str]) -> None:
    assert list(covering(name, NAMES, wildcards)) == expected


def test_nothing_covers_a_name_where_no_name_does() -> None:
    assert list(covering("a.test", {"b.test", "*.b.test"}, MANY)) == []


def test_a_request_belongs_to_the_most_specific_listener() -> None:
    all_hosts, shop, wide = (Listener(str(number), hostname=name) for number, name in enumerate(("", "a.b", "*.b")))
    names = ListenerNames((all_hosts, shop, wide), MANY)
    assert [names.listener_of(name) for name in ("a.b", "x.a.b", "*.a.b", "b", "")] == [
        shop,
        wide,
        wide,
        all_hosts,
        all_hosts,
    ]
    assert ListenerNames((shop, wide), MANY).listener_of("c.test") is None


def test_of_listeners_with_one_hostname_the_first_counts() -> None:
    names = ListenerNames((Listener("a"), Listener("b")), ONE)
    assert names.listener_of("a.test") == Listener("a")
    assert not names.is_divided
    assert ListenerNames((Listener("a", hostname="a.test"),), ONE).is_divided
