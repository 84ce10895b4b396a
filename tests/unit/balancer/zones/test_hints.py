"""`hints`: kube-proxy's own cases, the hints that the cluster writes, and where ingress-nginx goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools, split
from tests.unit.balancer.zones.surroundings import around, cases, zone_of, zones_of

KUBE_PROXY = cases("kube_proxy_hints.json")
WRITTEN = cases("traffic_distribution.json")
INGRESS_NGINX = cases("ingress_nginx_defects.json")["cases"]
HINTS = ZonePolicy(ZonePolicyName.HINTS)

REASONS = {
    "no_hints_at_all": Reason.NO_HINTS,
    "some_ready_endpoint_lacks_zone_hint": Reason.HINT_MISSING_ON_READY_ENDPOINT,
    "zone_not_in_hints": Reason.ZONE_NOT_HINTED,
    "node_hints_did_not_apply_and_no_zone_hints": Reason.ZONE_NOT_HINTED,
    "no_ready_endpoint": Reason.TERMINATING_LAST_RESORT,
    "no_endpoints": Reason.TERMINATING_LAST_RESORT,
}
MODES = {"PreferSameNode": Reason.NODE_LOCAL, "PreferSameZone": Reason.ZONE_HINTED}


def serving(pools: Pools) -> list[str]:
    return [f"{each.address}:{each.port}" for each in (pools.zonal if pools.zonal_mode else pools.general)]


def of_kube_proxy(case: dict[str, Any]) -> Pools:
    """Before 1.35 a gate could be off, and node hints were not read."""
    endpoints = tuple(
        Endpoint(
            address=each["ip"],
            port=each["port"],
            ready=each["ready"],
            serving_terminating=not each["ready"] and each["serving"] and each["terminating"],
            hint_zones=zones_of(each["zoneHints"]),
            hint_nodes=tuple(each["nodeHints"] or ()) if case["gate_PreferSameTrafficDistribution"] else (),
        )
        for each in case["endpoints"]
    )
    return split(endpoints, around(case["node"]["zone"], node=case["node"]["name"] or None), HINTS)


def reason_in(case: dict[str, Any]) -> Reason:
    return MODES.get(case["derived"]["topologyMode"]) or REASONS[case["derived"]["topologyReason"]]


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in KUBE_PROXY["cases"]
        if not case["service"]["internalPolicyLocal"] and not case["service"]["externalPolicyLocal"]
    ],
    ids=lambda case: case["id"],
)
def test_kube_proxy_selects_the_same(case: dict[str, Any]) -> None:
    pools = of_kube_proxy(case)
    assert serving(pools) == case["derived"]["proxy_selected"]
    assert pools.reason is reason_in(case)


@pytest.mark.parametrize("case", KUBE_PROXY["derived_cases"], ids=lambda case: case["id"])
def test_the_corners_of_kube_proxy(case: dict[str, Any]) -> None:
    pools = of_kube_proxy(case)
    assert serving(pools) == case["expect"]["clusterEndpoints"]
    assert pools.reason is reason_in(case)


def written_endpoints(case: dict[str, Any]) -> tuple[Endpoint, ...]:
    """The slices of a Service as the controller leaves them, as one set; a condition that is absent means true."""
    lists = case["expect"]["slicesToCreate"], case["expect"]["slicesToUpdate"], case["expect"]["slicesUnchanged"]
    return tuple(
        Endpoint(
            address=each["address"],
            port=80,
            zone=zone_of(each["zone"]),
            node=each["nodeName"],
            ready=each["ready"] is not False,
            hint_zones=zones_of((each["hints"] or {}).get("forZones")),
            hint_nodes=tuple((each["hints"] or {}).get("forNodes") or ()),
        )
        for slices in lists
        for entries in slices
        for each in entries
    )


@pytest.mark.parametrize(
    ("case_id", "zone", "expected", "reason"),
    [
        ("td-01", "zone-a", "1356", Reason.ZONE_HINTED),
        ("td-01", "zone-c", "8", Reason.ZONE_HINTED),
        ("td-01", "zone-d", "12345678", Reason.ZONE_NOT_HINTED),
        ("td-01", None, "12345678", Reason.OWN_ZONE_UNKNOWN),
        ("td-02", "zone-b", "247", Reason.ZONE_HINTED),
        ("td-04", "zone-b", "2", Reason.ZONE_HINTED),
        ("td-09", "zone-a", "56", Reason.NO_HINTS),
        ("tdd-01", "a", "1", Reason.ZONE_HINTED),
        ("tdd-02", "a", "1", Reason.NO_HINTS),
        ("tdd-03", "b", "1", Reason.ZONE_HINTED),
        ("tdd-04", "a", "1", Reason.ZONE_HINTED),
    ],
)
def test_the_hints_that_traffic_distribution_writes(
    case_id: str, zone: str | None, expected: str, reason: Reason
) -> None:
    case = next(each for each in (*WRITTEN["reconcile_hints"], *WRITTEN["derived_cases"]) if each["id"] == case_id)
    pools = split(written_endpoints(case), around(zone), HINTS)
    assert "".join(endpoint.partition(":")[0][-1] for endpoint in serving(pools)) == expected
    assert pools.reason is reason


@pytest.mark.parametrize("node", [f"node-{number}" for number in range(1, 9)])
def test_prefer_same_node_finds_the_endpoint_of_the_own_node_without_any_zone(node: str) -> None:
    case = next(each for each in WRITTEN["reconcile_hints"] if each["trafficDistribution"] == "PreferSameNode")
    pools = split(written_endpoints(case), around(None, node=node), HINTS)
    assert (serving(pools), pools.reason) == ([f"10.0.0.{node[-1]}:80"], Reason.NODE_LOCAL)


MISSING = Reason.HINT_MISSING_ON_READY_ENDPOINT


def shop(hints: list[str]) -> tuple[Endpoint, ...]:
    """A ready endpoint for each word: its letters are the hinted zones, its digits the hinted nodes, `-` is no hint."""
    return tuple(
        Endpoint(
            address=f"10.0.0.{number}",
            port=80,
            hint_zones=zones_of([f"zone-{letter}" for letter in word if letter.isalpha()]),
            hint_nodes=tuple(f"node-{digit}" for digit in word if digit.isdigit()),
        )
        for number, word in enumerate(hints, start=1)
    )


@pytest.mark.parametrize(
    ("hints", "zone", "node", "expected", "reason"),
    [
        pytest.param("a1 a2", "zone-a", "node-1", "1", Reason.NODE_LOCAL, id="the own node first"),
        pytest.param("a1 a2", "zone-a", "node-3", "12", Reason.ZONE_HINTED, id="then the own zone"),
        pytest.param("a1 b", "zone-b", "node-1", "2", Reason.ZONE_HINTED, id="not all hinted for nodes"),
        pytest.param("a1 2", "zone-a", "node-3", "12", MISSING, id="not all hinted for zones"),
        pytest.param("1 -", None, "node-1", "12", MISSING, id="one hinted for a node"),
        pytest.param("a -", None, None, "12", MISSING, id="the first objection is the reason"),
        pytest.param("ab b", "zone-a", None, "1", Reason.ZONE_HINTED, id="several zones"),
        pytest.param("a b", None, "node-1", "12", Reason.OWN_ZONE_UNKNOWN, id="own zone unknown"),
        pytest.param("1 2", "zone-a", None, "12", Reason.ZONE_NOT_HINTED, id="own node unknown"),
        pytest.param("- -", None, None, "12", Reason.NO_HINTS, id="nothing hinted, nothing known"),
    ],
)
def test_node_hints_come_first_and_a_kind_of_hint_counts_only_if_all_carry_it(
    hints: str, zone: str | None, node: str | None, expected: str, reason: Reason
) -> None:
    pools = split(shop(hints.split()), around(zone, node=node), HINTS)
    assert ("".join(each.partition(":")[0][-1] for each in serving(pools)), pools.reason) == (expected, reason)


def of_slices(case: dict[str, Any]) -> list[str]:
    """What serves a case of ingress-nginx: judged over all slices of the Service together."""
    endpoints = tuple(
        Endpoint(address=each["ip"], port=80, ready=each["ready"], hint_zones=zones_of(each["hints"]))
        for entries in case["slices"]
        for each in entries
    )
    return [each.partition(":")[0] for each in serving(split(endpoints, around(case["controller_zone"]), HINTS))]


@pytest.mark.parametrize("case", INGRESS_NGINX, ids=lambda case: case["id"])
def test_where_ingress_nginx_differs_from_kube_proxy_we_do_not(case: dict[str, Any]) -> None:
    assert of_slices(case) == case["kube_proxy_would_select"]


@pytest.mark.parametrize("case_id", ["in-06", "in-07", "in-10"])
def test_the_defects_that_ingress_nginx_ships_are_not_ours(case_id: str) -> None:
    case = next(each for each in INGRESS_NGINX if each["id"] == case_id)
    assert of_slices(case) != case["expect_shipped"]
    assert of_slices(case)
