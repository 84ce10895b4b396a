"""Sums of routes are those from scratch, whatever has changed since the last translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.route_sums import RememberedSums, sums_of
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, read_all

TWO_MATCHES = [{"matches": [{"path": {"value": "/a"}}, {"path": {"value": "/b"}}]}]
NO_RULE_LEFT = [{"filters": [{"type": "None"}]}]


def read(*said: dict[str, Any]) -> tuple[ReadRoute, ...]:
    """Routes with what is said of each, and with annotations where it says `annotated`."""
    routes = []
    for number, each in enumerate(said):
        spec = {"hostnames": [f"{number}.test"]} | each
        annotations = spec.pop("annotated", {})
        route = http_route(f"route-{number}", **spec)
        metadata = msgspec.structs.replace(route.metadata, annotations=annotations)
        routes.append(msgspec.structs.replace(route, metadata=metadata))
    return tuple(read_all(gateway(), *routes).routes)


def test_accepted_routes_are_counted_and_those_that_need_a_look_are_named() -> None:
    routes = read(
        {}, {"rules": TWO_MATCHES}, {"hostnames": ["0.test"]}, {"annotated": {"a": "b"}}, {"rules": NO_RULE_LEFT}
    )
    sums = sums_of(routes)
    assert [*sums.attached.values()] == [4]
    assert [routes.index(each) for each in sums.noted] == [0, 1, 2]
    assert [routes.index(each) for each in sums.annotated] == [3]
    assert sums.looked_for == {("infra", "web")}


@pytest.mark.parametrize(
    "changed",
    [
        {"rules": [{"matches": [{"path": {"value": "/new"}}], "backendRefs": [{"name": "web", "port": 80}]}]},
        {"rules": TWO_MATCHES},
        {"hostnames": ["1.test"]},
        {"to": "other"},
        {"annotated": {"a": "c"}},
        {"rules": NO_RULE_LEFT},
    ],
    ids=["path", "matches", "name", "service", "annotation", "refused"],
)
@pytest.mark.parametrize("first", [{}, {"rules": TWO_MATCHES, "annotated": {"a": "b"}}], ids=["plain", "noted"])
def test_after_a_change_the_sums_are_those_from_scratch(first: dict[str, Any], changed: dict[str, Any]) -> None:
    memory, before = RememberedSums(), read(first, {})
    memory.begin()
    memory.of(before)
    memory.begin()
    now: Sequence[ReadRoute] = (read(changed, {})[0], before[1])
    assert memory.of(now) == sums_of(now)
    memory.begin()
    assert memory.of(now) == sums_of(now)
    assert memory.of(now[:1]) == sums_of(now[:1])
