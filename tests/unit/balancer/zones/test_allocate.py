"""`allocate`: the counts by zone that the EndpointSlice controller comes to, and its objections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone, ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools, split
from tests import builders as build
from tests.properties import examples
from tests.unit.balancer.zones.surroundings import around, cases, zone_of

CASES = cases("topology_auto_allocation.json")
WRITTEN = cases("traffic_distribution.json")["reconcile_service"]
ALLOCATE = ZonePolicy(ZonePolicyName.ALLOCATE)
NAMES = ("zone-a", "zone-b", "zone-c", "zone-d")
EQUAL = {"zone-a": 1_000, "zone-b": 1_000, "zone-c": 1_000}
REASONS = {
    "InsufficientNodeInfo": Reason.NODE_INFO_INCOMPLETE,
    "InsufficientNumberOfEndpoints": Reason.TOO_FEW_ENDPOINTS,
    "MinAllocationExceedsOverloadThreshold": Reason.ALLOCATION_INFEASIBLE,
    "TopologyAwareHintsEnabled": Reason.ZONE_ALLOCATED,
    None: Reason.ZONE_ALLOCATED,
}


def spread(zones: Iterable[str | None]) -> tuple[Endpoint, ...]:
    """A ready endpoint in each zone that is named."""
    return tuple(Endpoint(f"10.0.0.{number}", 80, zone=zone_of(zone)) for number, zone in enumerate(zones, start=1))


def in_zones(counts: Mapping[str, int]) -> tuple[Endpoint, ...]:
    return spread(Counter(counts).elements())


def pools_by_zone(endpoints: tuple[Endpoint, ...], cpu_milli: Mapping[str, int] | None) -> dict[str, Pools]:
    """What a replica in each zone makes of it."""
    zones = cpu_milli or {"zone-a": 1}
    return {zone: split(endpoints, around(zone, cpu_milli=cpu_milli), ALLOCATE) for zone in zones}


def counts(pools: Mapping[str, Pools]) -> dict[str, int]:
    return {zone: len(each.zonal) for zone, each in pools.items()}


def crossing(pools: Mapping[str, Pools]) -> int:
    """How many endpoints are allocated to a zone that they are not in."""
    return sum(endpoint.zone != zone for zone, each in pools.items() for endpoint in each.zonal)


def reasons(pools: Mapping[str, Pools]) -> set[Reason]:
    return {each.reason for each in pools.values()}


@pytest.mark.parametrize(
    "case", [case for case in CASES["add_hints"] if case["slicesToCreate"]], ids=lambda c: c["name"]
)
def test_the_hints_that_the_controller_adds(case: dict[str, Any]) -> None:
    slices = case["slicesToCreate"] + case["slicesToUpdate"] + case["slicesUnchanged"]
    endpoints = spread(each["zone"] for entries in slices for each in entries)
    ratios = case["cpuRatiosByZone"]
    pools = pools_by_zone(endpoints, {zone: round(1_000 * share) for zone, share in ratios.items()} if ratios else None)
    assert reasons(pools) == {REASONS[case["derived"]["reason"]]}
    assert counts(pools) == (case["expect"]["hintsByZone"] or {"zone-a": 0})


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES["reconcile_topology"]["cases"]
        if case["topologyCacheEnabled"] and case["annotation"].lower() == "auto"
    ],
    ids=lambda case: case["name"],
)
def test_the_hints_that_the_controller_reconciles(case: dict[str, Any]) -> None:
    pools = pools_by_zone(in_zones(case["endpointsByZone"]), EQUAL)
    assert reasons(pools) == {REASONS[case["derived"]["reason"]]}
    assert counts(pools) == (case["expect"]["hintsByZone"] or dict.fromkeys(EQUAL, 0))
    assert crossing(pools) == case["expect"]["crossZoneHints"]


def test_auto_beside_traffic_distribution() -> None:
    case = next(each for each in WRITTEN["cases"] if each["annotation"] == "Auto")
    zones = {node["name"]: node["zone"] for node in WRITTEN["setup"]["nodes"]}
    endpoints = in_zones({zones[node]: count for node, count in WRITTEN["setup"]["podsByNode"].items()})
    pools = pools_by_zone(endpoints, dict.fromkeys(zones.values(), WRITTEN["setup"]["allocatableCpuPerNodeMilli"]))
    assert counts(pools) == case["expect"]["hintsByZone"]
    assert crossing(pools) == case["expect"]["endpointsWithCrossZoneHints"]


def test_endpoints_that_one_zone_gives_are_shared_by_those_that_lack() -> None:
    case = CASES["redistribute"][0]
    endpoints = spread(each["zone"] for entries in case["slices"] for each in entries)
    before, after = Counter(endpoint.zone for endpoint in endpoints), counts(pools_by_zone(endpoints, EQUAL))
    assert {zone: after[zone] - before[zone_of(zone)] for zone in after} == case["expect"]["redistributions"]


FEASIBILITY = [
    (cpu_milli, row)
    for table, cpu_milli in (
        ("3_equal_zones", {"a": 1_000, "b": 1_000, "c": 1_000}),
        ("2_equal_zones", {"a": 1_000, "b": 1_000}),
        ("2_zones_cpu_2_to_1", {"a": 2_000, "b": 1_000}),
    )
    for row in CASES["derived"][f"feasibility_{table}"]
]


@pytest.mark.parametrize("spread_over", [1, 3], ids=["in one zone", "spread"])
def test_only_the_number_of_endpoints_says_whether_an_allocation_is_feasible(spread_over: int) -> None:
    wrong = [(cpu_milli, row) for cpu_milli, row in FEASIBILITY if not is_as_the_row_says(cpu_milli, row, spread_over)]
    assert wrong == []
    assert len(FEASIBILITY) == 70


def is_as_the_row_says(cpu_milli: dict[str, int], row: dict[str, Any], spread_over: int) -> bool:
    zones = [list(cpu_milli)[number % min(spread_over, len(cpu_milli))] for number in range(row["readyEndpoints"])]
    pools = pools_by_zone(spread(zones), cpu_milli)
    if reasons(pools) != {REASONS[row["reason"]]}:
        return False
    if not row["feasible"]:
        return True
    enough = all(len(pools[zone].zonal) >= minimum for zone, minimum in row["minimumByZone"].items())
    return enough and sum(counts(pools).values()) == row["readyEndpoints"]


def test_an_even_spread_of_four_four_and_three_is_refused() -> None:
    issue = CASES["derived"]["issue_122437"]
    pools = pools_by_zone(in_zones(dict(zip("abc", issue["spread"], strict=True))), dict.fromkeys("abc", 1_000))
    assert reasons(pools) == {REASONS[issue["reason"]]}


@pytest.mark.parametrize(
    "case", [case for case in CASES["set_nodes"] if case["expect"]["sufficientNodeInfo"]], ids=lambda case: case["name"]
)
def test_nodes_that_suffice_allocate_by_their_cpu(case: dict[str, Any]) -> None:
    pools = pools_by_zone(spread(["zone-a"] * 100), case["expect"]["cpuMilliByZone"])
    assert counts(pools) == {zone: pytest.approx(100 * share) for zone, share in case["expect"]["ratios"].items()}


@pytest.mark.parametrize(
    ("own_zone", "cpu_milli", "zones", "reason"),
    [
        pytest.param(None, EQUAL, "abc", Reason.OWN_ZONE_UNKNOWN, id="own zone unknown"),
        pytest.param("zone-a", None, "abc", Reason.NODE_INFO_INCOMPLETE, id="nodes unknown"),
        pytest.param("zone-a", EQUAL | {"zone-c": 0}, "abc", Reason.NODE_INFO_INCOMPLETE, id="a zone without CPU"),
        pytest.param("zone-a", {}, "abc", Reason.TOO_FEW_ZONES, id="no node"),
        pytest.param("zone-a", {"zone-a": 1_000}, "abc", Reason.TOO_FEW_ZONES, id="nodes in one zone"),
        pytest.param("zone-a", EQUAL, "a-", Reason.TOO_FEW_ENDPOINTS, id="the first objection"),
        pytest.param("zone-a", EQUAL, "abc-", Reason.ALLOCATION_INFEASIBLE, id="the second objection"),
        pytest.param("zone-a", EQUAL, "aa-", Reason.NODE_INFO_INCOMPLETE, id="an endpoint without zone"),
        pytest.param("zone-d", EQUAL, "aaa", Reason.ZONE_EMPTY, id="own zone without nodes"),
        pytest.param("zone-a", EQUAL, "ddd", Reason.ZONE_EMPTY, id="all endpoints where no node is"),
    ],
)
def test_objections(own_zone: str | None, cpu_milli: dict[str, int] | None, zones: str, reason: Reason) -> None:
    endpoints = build.endpoints(zones)
    pools = split(endpoints, around(own_zone, cpu_milli=cpu_milli), ALLOCATE)
    assert (pools.zonal_mode, pools.general, pools.reason) == (False, endpoints, reason)


def test_a_zone_can_come_out_without_endpoints_and_then_uses_every_one() -> None:
    """As in the controller: three zones have less than half an endpoint too much, and none of them gives."""
    cpu_milli = {"zone-a": 300, "zone-b": 300, "zone-c": 300, "zone-d": 100}
    pools = pools_by_zone(in_zones({"zone-a": 4, "zone-b": 4, "zone-c": 4}), cpu_milli)
    assert counts(pools) == {"zone-a": 4, "zone-b": 4, "zone-c": 4, "zone-d": 0}
    assert (pools["zone-d"].zonal_mode, pools["zone-d"].reason) == (False, Reason.ZONE_EMPTY)


def test_endpoints_of_a_zone_without_nodes_stay_with_it() -> None:
    endpoints = in_zones({"zone-a": 2, "zone-b": 1, "zone-c": 1, "zone-d": 2})
    assert split(endpoints, around("zone-d", cpu_milli=EQUAL), ALLOCATE).zonal == endpoints[-2:]


def test_an_endpoint_that_is_not_ready_is_not_allocated() -> None:
    ready = build.endpoints("abc")
    gone = Endpoint("10.0.0.9", 80, zone=Zone("zone-a"), ready=False)
    assert split((*ready, gone), around("zone-a", cpu_milli=EQUAL), ALLOCATE).zonal == ready[:1]


def test_which_endpoint_moves_does_not_depend_on_the_order() -> None:
    ready = build.endpoints("aaaabc")
    for zone, expected in (("zone-a", ready[:2]), ("zone-b", (ready[3], ready[4])), ("zone-c", (ready[2], ready[5]))):
        for order in (ready, ready[::-1]):
            assert set(split(order, around(zone, cpu_milli=EQUAL), ALLOCATE).zonal) == set(expected)


in_known_zones = st.lists(st.sampled_from(NAMES), min_size=1, max_size=16).map(spread)
cpu_by_zone = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 9_000), min_size=2, max_size=3)


@examples(300)
@given(in_known_zones, cpu_by_zone)
def test_each_endpoint_is_allocated_to_exactly_one_zone(ready: tuple[Endpoint, ...], cpu_milli: dict[str, int]) -> None:
    pools = {zone: split(ready, around(zone, cpu_milli=cpu_milli), ALLOCATE) for zone in NAMES}
    if Reason.ZONE_ALLOCATED in reasons(pools):
        allocated = [endpoint for each in pools.values() for endpoint in each.zonal]
        assert sorted(allocated, key=ready.index) == list(ready)
        assert reasons(pools) <= {Reason.ZONE_ALLOCATED, Reason.ZONE_EMPTY}
        assert {zone for zone in pools if pools[zone].reason is Reason.ZONE_EMPTY}.isdisjoint(e.zone for e in ready)
    else:
        assert len(reasons(pools)) == 1
