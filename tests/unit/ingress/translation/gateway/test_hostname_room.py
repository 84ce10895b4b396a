"""Hostnames of all routes together are bounded, and namespaces share that before a name is read."""

from __future__ import annotations

from ingress.translation.gateway.hostname_room import crowded_out
from tests.unit.ingress.translation.gateway.objects import http_route

ROUTES = [
    http_route("young", namespace="greedy", hostnames=["a.test"]),
    http_route("modest", namespace="modest", hostnames=["b.test"]),
    http_route("old", namespace="greedy", hostnames=["c.test"]),
]


def names(wanted: list[int], most: int) -> list[str]:
    return [ROUTES[place].metadata.name for place in sorted(crowded_out(ROUTES, wanted, most))]


def test_older_routes_come_first_and_a_smaller_one_may_fit() -> None:
    assert names([4, 4, 4], most=12) == []
    assert names([5, 4, 4], most=12) == ["young"]  # by name, where no time is known
    assert names([4, 1, 20], most=12) == ["old"]


def test_a_modest_namespace_keeps_what_it_wants() -> None:
    assert names([100, 4, 100], most=12) == ["young", "old"]
    assert names([100, 6, 100], most=12) == ["young", "old"]
    assert names([100, 7, 5], most=12) == ["young", "modest"]
