"""The load of an endpoint of the own zone against the average, under every policy, before a request shows it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given

from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.zones.skew import EVEN, expected_load, expected_loads
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.properties import examples
from tests.unit.balancer.zones.surroundings import around, every_policy, everywhere, some_endpoints

NAMES = ZonePolicyName


def load(
    zones: str, policy: ZonePolicy, *, own: str = "zone-a", replicas: dict[str, int] | None = None
) -> float | None:
    return expected_load(build.endpoints(zones), around(own, replicas=replicas), policy)


@pytest.mark.parametrize(
    ("zones", "policy", "expected"),
    [
        ("abc" * 4, ZonePolicy(NAMES.PREFER_ZONE), 1.0),
        ("a" + "b" * 5 + "c" * 6, ZonePolicy(NAMES.PREFER_ZONE), 4.0),
        ("a" + "b" * 5 + "c" * 6, ZonePolicy(NAMES.ADAPTIVE), 4.0),
        ("a" + "b" * 5 + "c" * 6, ZonePolicy(NAMES.OFF), EVEN),
        ("aabbbbbccccc", ZonePolicy(NAMES.PREFER_ZONE, min_endpoints=3), 1 / 3),
        ("aab", ZonePolicy(NAMES.PREFER_ZONE), 0.75),
        ("aaaaaa", ZonePolicy(NAMES.PREFER_ZONE), EVEN),
    ],
)
def test_the_load_is_that_of_the_table_in_the_docs(zones: str, policy: ZonePolicy, expected: float) -> None:
    assert load(zones, policy) == pytest.approx(expected)


def test_proportional_loads_every_endpoint_alike() -> None:
    uneven = "a" + "b" * 5 + "c" * 6
    for own in ("zone-a", "zone-b", "zone-c"):
        found = load(uneven, ZonePolicy(NAMES.PROPORTIONAL), own=own, replicas={"zone-a": 1, "zone-b": 1, "zone-c": 1})
        assert found == pytest.approx(1.0, abs=0.01)


def test_replicas_say_where_requests_come_from() -> None:
    prefer = ZonePolicy(NAMES.PREFER_ZONE)
    assert load("abc", prefer, replicas={"zone-a": 8, "zone-b": 1, "zone-c": 1}) == pytest.approx(2.4)
    assert load("abc", prefer, replicas={"zone-b": 1}) == 0.0


def test_a_drained_zone_gets_nothing_and_the_others_its_part() -> None:
    zones = ZoneFacts(drained=(Zone("zone-a"),))
    for policy in (ZonePolicy(NAMES.OFF), ZonePolicy(NAMES.PREFER_ZONE)):
        here, there = Surroundings(OwnZone(Zone("zone-a")), zones), Surroundings(OwnZone(Zone("zone-b")), zones)
        assert expected_load(build.endpoints("abc"), here, policy) == 0.0
        assert expected_load(build.endpoints("abc"), there, policy) == pytest.approx(1.5)


@pytest.mark.parametrize(("zones", "own"), [("bc", "zone-a"), ("abc", None), ("", "zone-a")])
def test_without_an_endpoint_in_the_own_zone_there_is_no_load(zones: str, own: str | None) -> None:
    assert expected_load(build.endpoints(zones), around(own), ZonePolicy(NAMES.PREFER_ZONE)) is None


def test_zones_without_bound_are_not_judged() -> None:
    many = tuple(build.endpoint(f"10.0.0.{number}", zone=f"zone-{number}") for number in range(9))
    assert expected_load(many, around("zone-1"), ZonePolicy(NAMES.PREFER_ZONE)) is None
    assert expected_load(many[:8], around("zone-1"), ZonePolicy(NAMES.PREFER_ZONE)) == pytest.approx(1.0)


@examples(200)
@given(some_endpoints, everywhere, every_policy)
def test_all_loads_together_are_the_average(
    endpoints: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy
) -> None:
    """Weighted by endpoints, the loads of all zones are 1 at most: a strict list may refuse requests."""
    ready = [endpoint for endpoint in endpoints if endpoint.ready]
    assume(ready and all(endpoint.zone is not None for endpoint in ready))
    counts = Counter(endpoint.zone for endpoint in ready)
    loads = expected_loads(endpoints, around, policy)
    assert loads.keys() == counts.keys()
    assert sum(load * counts[zone] for zone, load in loads.items()) / len(ready) <= 1.0 + 1e-9
