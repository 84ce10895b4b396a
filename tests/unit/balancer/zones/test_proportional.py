"""`proportional`: Envoy's cases to the basis point, and what it does not do."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.zones import proportional
from balancer.zones.mixing import parts
from balancer.zones.reasons import Reason
from balancer.zones.spill import by_health
from balancer.zones.split import split
from balancer.zones.verdicts import ALL_BASIS_POINTS, Verdict
from tests import builders as build
from tests.unit.balancer.zones.surroundings import around, cases, zone_of

CASES = cases("envoy_locality.json")
STATES = {
    "NoLocalityRouting": {Reason.TOO_FEW_ZONES, Reason.TOO_FEW_ENDPOINTS, Reason.OWN_REPLICAS_UNKNOWN},
    "LocalityDirect": {Reason.PROPORTIONAL_LOCAL},
    "LocalityResidual": {Reason.PROPORTIONAL_LOCAL, Reason.PROPORTIONAL_RESIDUAL},
}
every_case = pytest.mark.parametrize("case", CASES["zone_aware"], ids=lambda case: case["id"])
divided = pytest.mark.parametrize(
    "case",
    [case for case in CASES["zone_aware"] if case["expect"]["state"] == "LocalityResidual"],
    ids=lambda case: case["id"],
)


def policy(min_cluster_size: int = 1) -> ZonePolicy:
    return ZonePolicy(ZonePolicyName.PROPORTIONAL, min_cluster_size=min_cluster_size)


def in_zones(counts: Mapping[str, int]) -> tuple[Endpoint, ...]:
    """So many ready endpoints in each zone; an empty name is an unknown zone."""
    zones = [zone_of(zone) for zone, count in counts.items() for _ in range(count)]
    return tuple(Endpoint(f"10.0.0.{number}", 80, zone=zone) for number, zone in enumerate(zones))


def judged(
    own_zone: str, replicas: Mapping[str, int] | None, endpoints: Mapping[str, int], *, min_cluster_size: int = 1
) -> Verdict:
    return proportional.judge(in_zones(endpoints), around(own_zone, replicas=replicas), policy(min_cluster_size))


def of_envoy(case: dict[str, Any]) -> Verdict:
    return judged(
        case["local_zone"],
        case["originating_healthy_hosts_per_zone"],
        case["upstream_healthy_hosts_per_zone"],
        min_cluster_size=case["config"]["min_cluster_size"],
    )


def zone_in(endpoints: tuple[Endpoint, ...]) -> str:
    """The one zone that all of them are in."""
    (zone,) = {endpoint.zone for endpoint in endpoints}
    return zone or ""


def weights(verdict: Verdict) -> dict[str, int]:
    return {zone_in(residual.endpoints): residual.weight for residual in verdict.residuals}


def split_of(verdict: Verdict) -> dict[str, float]:
    """The share of each zone in the requests: what the basis points and weights come to."""
    total, rest = sum(weights(verdict).values()), 1 - verdict.zonal_basis_points / ALL_BASIS_POINTS
    shares = {zone: rest * weight / total for zone, weight in weights(verdict).items()}
    if verdict.zonal is not None and verdict.zonal_basis_points:
        zone = zone_in(verdict.zonal)
        shares[zone] = shares.get(zone, 0.0) + verdict.zonal_basis_points / ALL_BASIS_POINTS
    return shares


@pytest.mark.large
@every_case
def test_envoy_is_in_the_same_state(case: dict[str, Any]) -> None:
    verdict = of_envoy(case)
    assert verdict.reason in STATES[case["expect"]["state"]]
    assert (verdict.zonal is None) == (case["expect"]["state"] == "NoLocalityRouting")
    assert bool(verdict.residuals) == (case["expect"]["state"] == "LocalityResidual")


@pytest.mark.large
@pytest.mark.parametrize(
    "case", [case for case in CASES["zone_aware"] if case["expect"]["split"]], ids=lambda case: case["id"]
)
def test_envoy_splits_the_same(case: dict[str, Any]) -> None:
    shares = split_of(of_envoy(case))
    for zone, expected in case["expect"]["split"].items():
        assert shares.get(zone, 0.0) == pytest.approx(expected, abs=1e-6)


@pytest.mark.large
@divided
def test_envoy_has_the_same_percentages_to_the_basis_point(case: dict[str, Any]) -> None:
    verdict = of_envoy(case)
    residuals = {zone: points for zone, points in case["expect"]["residual_bp"].items() if points}
    assert verdict.zonal_basis_points == case["expect"]["local_percent_to_route_bp"]
    if residuals:
        assert weights(verdict) == residuals
    else:  # no capacity is left: any zone
        assert weights(verdict) == dict.fromkeys(case["upstream_healthy_hosts_per_zone"], 1)


@pytest.mark.parametrize(
    ("case", "sample"),
    [
        pytest.param(case, sample, id=f"{case['id']}-{sample['random_local']}-{sample['random_cross']}")
        for case in CASES["zone_aware"]
        for sample in case.get("samples", ())
    ],
)
def test_the_same_random_numbers_lead_envoy_to_the_same_zone(case: dict[str, Any], sample: dict[str, Any]) -> None:
    """Envoy draws twice, for whether to leave and for where to; both draws are one place among the parts."""
    here = around(case["local_zone"], replicas=case["originating_healthy_hosts_per_zone"])
    pools = split(in_zones(case["upstream_healthy_hosts_per_zone"]), here, policy(case["config"]["min_cluster_size"]))
    whole = sum(residual.weight for residual in pools.residuals)
    place = sample["random_local"] * whole
    if sample["random_local"] >= pools.zonal_basis_points:
        leaving = ALL_BASIS_POINTS - pools.zonal_basis_points
        place = pools.zonal_basis_points * whole + sample["random_cross"] % whole * leaving
    chosen = parts(pools)
    ends = accumulate(part.weight for part in chosen)
    drawn = next(part for part, end in zip(chosen, ends, strict=True) if place < end)
    assert zone_in(drawn.pools.zonal) == sample["zone"]
    assert drawn.pools.reason is (
        Reason.PROPORTIONAL_LOCAL if sample["random_cross"] is None else Reason.PROPORTIONAL_RESIDUAL
    )


@pytest.mark.parametrize(
    ("own_zone", "replicas", "endpoints", "reason"),
    [
        pytest.param("", {"a": 1, "b": 1}, {"a": 9}, Reason.OWN_ZONE_UNKNOWN, id="own zone unknown"),
        pytest.param("a", None, {"a": 9}, Reason.OWN_REPLICAS_UNKNOWN, id="replicas unknown"),
        pytest.param("a", {}, {"a": 1, "b": 1}, Reason.OWN_REPLICAS_UNKNOWN, id="no replica"),
        pytest.param("a", {"b": 2}, {"a": 1, "b": 1}, Reason.TOO_FEW_ZONES, id="replicas in one zone"),
        pytest.param("c", {"a": 1, "b": 1}, {"a": 9}, Reason.TOO_FEW_ZONES, id="endpoints in one zone"),
        pytest.param("c", {"a": 1, "b": 1}, {"a": 1, "b": 1}, Reason.OWN_REPLICAS_UNKNOWN, id="none in our zone"),
        pytest.param("c", {"a": 1, "b": 1, "c": 0}, {"a": 1, "b": 1}, Reason.OWN_REPLICAS_UNKNOWN, id="nought"),
        pytest.param("a", {"a": 1, "b": 1}, {"a": 3, "b": 2}, Reason.TOO_FEW_ENDPOINTS, id="small cluster"),
    ],
)
def test_objections(own_zone: str, replicas: dict[str, int] | None, endpoints: dict[str, int], reason: Reason) -> None:
    assert judged(own_zone, replicas, endpoints, min_cluster_size=6) == Verdict(None, reason)


def test_as_many_endpoints_as_the_minimum_are_enough() -> None:
    assert judged("a", {"a": 1, "b": 1}, {"a": 3, "b": 3}, min_cluster_size=6).zonal is not None


def test_an_own_zone_that_can_carry_all_its_requests_keeps_them() -> None:
    ready = in_zones({"a": 2, "b": 1})
    verdict = proportional.judge(ready, around("a", replicas={"a": 1, "b": 1}), policy())
    assert verdict == Verdict(ready[:2], Reason.PROPORTIONAL_LOCAL, ALL_BASIS_POINTS, ())


def test_an_own_zone_without_endpoints_sends_every_request_to_those_with_capacity_to_spare() -> None:
    ready = in_zones({"b": 3, "c": 1})
    verdict = proportional.judge(ready, around("a", replicas={"a": 1, "b": 1, "c": 2}), policy())
    assert weights(verdict) == {"b": 5_000}
    assert verdict[:3] == (ready[:3], Reason.PROPORTIONAL_RESIDUAL, 0)


def test_endpoints_of_an_unknown_zone_get_their_share() -> None:
    verdict = judged("a", {"a": 1, "b": 1}, {"a": 1, "c": 2, "": 1})
    assert verdict.zonal_basis_points == 5_000
    assert list(weights(verdict).items()) == [("", 2_500), ("c", 5_000)]


def test_a_share_of_less_than_a_basis_point_is_nothing() -> None:
    few = judged("a", {"a": 1, "b": 1}, {"a": 1, "b": 10_000})
    assert (few.zonal_basis_points, weights(few)) == (0, {"b": 4_999})
    fewest = judged("a", {"a": 1, "b": 10_000}, {"a": 1, "b": 10_000})
    assert (fewest.zonal_basis_points, weights(fewest)) == (0, {"a": 1, "b": 1})


def test_replicas_that_are_known_to_be_none_are_no_reason_to_stop_serving() -> None:
    """Envoy's NoZoneAwareRoutingLocalEmpty: any endpoint that is well."""
    case = next(each for each in CASES["runtime_guards"] if each["name"] == "NoZoneAwareRoutingLocalEmpty")
    pools = split(build.endpoints("ab"), around("zone-a", replicas={"zone-a": 0, "zone-b": 0}), policy())
    assert (pools.zonal_mode, len(pools.general)) == (case["expect"]["zone_routing"], 2)


@pytest.mark.parametrize(("well", "serving"), [(2, 6), (4, 4)])
def test_too_few_that_are_well_are_not_preferred(well: int, serving: int) -> None:
    """Envoy's MaxUnhealthyPanic: 6 endpoints and a threshold of 50 per cent."""
    case = next(each for each in CASES["runtime_guards"] if each["name"] == "MaxUnhealthyPanic")
    pools = split(build.endpoints("aaabbb"), around("zone-a"), policy())
    kept = by_health(pools, is_well=lambda each: int(each.address[-1]) <= well, panic_percent=50)
    in_panic = case["expect"]["panic"] if well == 2 else case["then"]["panic"]
    assert (len(kept.general), kept.reason is Reason.PANIC) == (serving, in_panic)


def test_a_threshold_of_nought_does_not_turn_the_last_resort_off() -> None:
    """Envoy's DisablePanicMode has no endpoint then; we never refuse what could be tried."""
    pools = split(build.endpoints("a"), around("zone-a"), policy())
    assert by_health(pools, is_well=lambda _: False, panic_percent=0).general == build.endpoints("a")


counts = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 40), min_size=2)


@given(counts, counts)
def test_every_endpoint_gets_equally_many_requests_if_every_replica_does(
    replicas: dict[str, int], endpoints: dict[str, int]
) -> None:
    """But for what floor divisions lose: a basis point or two of all requests for each zone."""
    requests = dict.fromkeys(endpoints, 0.0)
    everything = sum(replicas.values())
    for own_zone, count in replicas.items():
        for zone, share in split_of(judged(own_zone, replicas, endpoints)).items():
            requests[zone] += share * count / everything
    for zone, count in endpoints.items():
        assert requests[zone] == pytest.approx(count / sum(endpoints.values()), abs=0.002)


@given(counts, counts, st.sampled_from("abcd"))
def test_basis_points_and_weights_are_parts_of_all_requests(
    replicas: dict[str, int], endpoints: dict[str, int], own_zone: str
) -> None:
    verdict = judged(own_zone, replicas, endpoints)
    assert 0 <= verdict.zonal_basis_points <= ALL_BASIS_POINTS
    assert all(residual.weight >= 1 and residual.endpoints for residual in verdict.residuals)
    assert sum(weights(verdict).values()) <= ALL_BASIS_POINTS
    assert (verdict.zonal_basis_points == ALL_BASIS_POINTS) == (not verdict.residuals)
