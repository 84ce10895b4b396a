"""Each policy's split over real sockets is its arithmetic: within three standard deviations over many requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import pytest

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZONES_OFF, OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from tests.features.zones.stage import ZoneEndpoint, planes, sites

A, B, C = (Zone(f"zone-{letter}") for letter in "abc")
REGION = "topology.kubernetes.io/region"
COUNT = 10_000
IN_EU = ((REGION, "eu"),)


class Case(NamedTuple):
    """Endpoints by the letters of their zones, and the share of requests that each zone is to get."""

    zones: str
    policy: ZonePolicy
    expected: dict[str, float]
    facts: ZoneFacts = ZoneFacts()
    own: OwnZone = OwnZone(A, "flag")
    hints: str = ""
    labelled: str = ""


CASES = {
    "off": Case("aabbbc", ZONES_OFF, {"a": 2 / 6, "b": 3 / 6, "c": 1 / 6}),
    "prefer-zone": Case("aabbbc", ZonePolicy(ZonePolicyName.PREFER_ZONE), {"a": 1.0}),
    # Both of zone-a and one of zone-b are hinted for zone-a.
    "hints": Case("aabbbc", ZonePolicy(ZonePolicyName.HINTS), {"a": 2 / 3, "b": 1 / 3}, hints="aaabbc"),
    # Equal CPU gives each zone two of six endpoints, so zone-a gets one of the three in zone-c.
    "allocate": Case(
        "abbccc",
        ZonePolicy(ZonePolicyName.ALLOCATE),
        {"a": 1 / 2, "c": 1 / 2},
        facts=ZoneFacts(cpu_milli=((A, 4000), (B, 4000), (C, 4000))),
    ),
    # Zone-a has 1/8 of the endpoints and 1/3 of the requests, so it keeps 3/8 of them. Spare: 3/8 - 1/3 in zone-b and
    # 4/8 - 1/3 in zone-c, which is 1 to 4.
    "proportional": Case(
        "abbbcccc",
        ZonePolicy(ZonePolicyName.PROPORTIONAL),
        {"a": 3 / 8, "b": 1 / 8, "c": 4 / 8},
        facts=ZoneFacts(replicas=((A, 1), (B, 1), (C, 1))),
    ),
    # Nobody is on the own host; zone-a and zone-b are in the own region.
    "ordered": Case(
        "abbccc",
        ZonePolicy(ZonePolicyName.ORDERED, keys=("kubernetes.io/hostname", REGION, "*")),
        {"a": 1 / 3, "b": 2 / 3},
        own=OwnZone(A, "node", "node-1", labels=IN_EU),
        labelled="ab",
    ),
}


def endpoints_of(case: Case, made: Sequence[ZoneEndpoint]) -> list[Endpoint]:
    endpoints = [
        msgspec.structs.replace(each.endpoint, labels=IN_EU if each.zone[-1] in case.labelled else ()) for each in made
    ]
    if not case.hints:
        return endpoints
    return [
        msgspec.structs.replace(endpoint, hint_zones=(Zone(f"zone-{letter}"),))
        for endpoint, letter in zip(endpoints, case.hints, strict=True)
    ]


@pytest.mark.parametrize("name", CASES)
async def test_the_measured_split_is_the_policys_arithmetic(name: str) -> None:
    case = CASES[name]
    async with sites(case.zones) as made, planes() as plane:
        plane.serve(endpoints_of(case, made), case.policy, facts=case.facts, own=case.own)
        assert await plane.send(COUNT) == {200: COUNT}
    got: Counter[str] = Counter()
    for each in made:
        got[each.zone[-1]] += each.requests
    assert got.total() == plane.decisions().total() == COUNT
    for zone in "abc":
        share = case.expected.get(zone, 0.0)
        assert abs(got[zone] - COUNT * share) <= 3 * (COUNT * share * (1 - share)) ** 0.5, got
