"""`prefer-zone`: the own zone's endpoints, unless one of four objections holds."""

from __future__ import annotations

import pytest

from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.zones import prefer_zone
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Verdict
from tests import builders as build
from tests.unit.balancer.zones.surroundings import around


def judge(
    zones: str, *, own_zone: str | None = "zone-a", min_endpoints: int = 1, min_percent: int = 0
) -> tuple[int | None, Reason]:
    """How many endpoints are wanted (None: every one), and why. A letter is a ready endpoint in that zone."""
    policy = ZonePolicy(ZonePolicyName.PREFER_ZONE, min_endpoints=min_endpoints, min_percent=min_percent)
    verdict = prefer_zone.judge(build.endpoints(zones), around(own_zone), policy)
    return (len(verdict.zonal) if verdict.zonal is not None else None), verdict.reason


def test_the_endpoints_of_the_own_zone_serve_alone() -> None:
    ready = build.endpoints("abab-")
    assert prefer_zone.judge(ready, around("zone-a"), build.PREFER_ZONE) == Verdict(
        (ready[0], ready[2]), Reason.ZONE_LOCAL
    )


def test_an_unknown_own_zone_is_never_that_of_an_endpoint_without_one() -> None:
    assert judge("--", own_zone=None) == (None, Reason.OWN_ZONE_UNKNOWN)


@pytest.mark.parametrize("zones", ["b", "bc", "-", "--b"])
def test_a_zone_without_endpoints(zones: str) -> None:
    assert judge(zones) == (None, Reason.ZONE_EMPTY)


@pytest.mark.parametrize(
    ("zones", "expected"), [("ab", (None, Reason.BELOW_MIN_ENDPOINTS)), ("aab", (2, Reason.ZONE_LOCAL))]
)
def test_as_many_endpoints_as_the_minimum_are_enough(zones: str, expected: tuple[int | None, Reason]) -> None:
    assert judge(zones, min_endpoints=2) == expected


@pytest.mark.parametrize(
    ("zones", "min_percent", "expected"),
    [
        ("abbb", 25, (1, Reason.ZONE_LOCAL)),
        ("abbb", 26, (None, Reason.BELOW_MIN_PERCENT)),
        ("abc", 33, (1, Reason.ZONE_LOCAL)),
        ("abc", 34, (None, Reason.BELOW_MIN_PERCENT)),
        ("aa", 100, (2, Reason.ZONE_LOCAL)),
        ("aa-", 100, (None, Reason.BELOW_MIN_PERCENT)),
    ],
)
def test_a_share_as_large_as_the_minimum_is_enough(
    zones: str, min_percent: int, expected: tuple[int | None, Reason]
) -> None:
    assert judge(zones, min_percent=min_percent) == expected


def test_the_first_objection_is_the_reason() -> None:
    assert judge("b", own_zone=None, min_endpoints=9, min_percent=100) == (None, Reason.OWN_ZONE_UNKNOWN)
    assert judge("b", min_endpoints=9, min_percent=100) == (None, Reason.ZONE_EMPTY)
    assert judge("ab", min_endpoints=9, min_percent=100) == (None, Reason.BELOW_MIN_ENDPOINTS)
