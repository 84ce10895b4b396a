"""`ordered`: the cases of topologyKeys, and where the value of a label comes from."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.zones.ordered import HOSTNAME, ZONE
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools, split
from tests.unit.balancer.zones.surroundings import around, cases, zone_of

CASES = cases("topology_keys.json")["cases"]


def serving(pools: Pools) -> list[str]:
    return [f"{each.address}:{each.port}" for each in (pools.zonal if pools.zonal_mode else pools.general)]


def policy(*keys: str) -> ZonePolicy:
    return ZonePolicy(ZonePolicyName.ORDERED, keys=keys)


def documented(entry: dict[str, str], node_labels: dict[str, dict[str, str]]) -> Endpoint:
    address, _, port = entry["endpoint"].partition(":")
    labels = node_labels.get(entry["nodeName"], {})
    return Endpoint(
        address, int(port), zone=zone_of(labels.get(ZONE)), node=entry["nodeName"], labels=tuple(sorted(labels.items()))
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_topology_keys_selected_the_same(case: dict[str, Any]) -> None:
    labels = case["nodeLabels"].get(case["currentNode"], {})
    here = around(labels.get(ZONE), node=case["currentNode"], labels=labels)
    endpoints = tuple(documented(entry, case["nodeLabels"]) for entry in case["endpoints"])
    pools = split(endpoints, here, policy(*case["topologyKeys"]))
    assert serving(pools) == case["expect"]
    if endpoints:
        assert pools.reason is (Reason.ORDERED_MATCH if case["expect"] else Reason.ORDERED_NONE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_labels_alone_are_enough(case: dict[str, Any]) -> None:
    labels = case["nodeLabels"].get(case["currentNode"], {})
    endpoints = tuple(
        Endpoint(each.address, each.port, labels=each.labels)
        for each in (documented(entry, case["nodeLabels"]) for entry in case["endpoints"])
    )
    pools = split(endpoints, around(None, labels=labels), policy(*case["topologyKeys"]))
    assert serving(pools) == case["expect"]


SHOP = (
    Endpoint("10.0.0.1", 80, zone=zone_of("zone-a"), node="node-1", labels=(("rack", "7"),)),
    Endpoint("10.0.0.2", 80, zone=zone_of("zone-a"), node="node-2", labels=(("rack", "8"),)),
    Endpoint("10.0.0.3", 80, zone=zone_of("zone-b"), node="node-3", labels=(("rack", "7"),)),
    Endpoint("10.0.0.4", 80),
)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([HOSTNAME], "1"),
        ([ZONE], "12"),
        (["rack"], "13"),
        (["rack", ZONE], "13"),
        (["colour", ZONE], "12"),
        (["colour"], ""),
        (["colour", "*"], "1234"),
        ([], "1234"),
    ],
)
def test_the_first_key_with_a_match_chooses(keys: list[str], expected: str) -> None:
    pools = split(SHOP, around("zone-a", node="node-1", labels={"rack": "7"}), policy(*keys))
    assert "".join(each.partition(":")[0][-1] for each in serving(pools)) == expected
    assert pools.reason is (Reason.ORDERED_MATCH if expected else Reason.ORDERED_NONE)


def test_what_is_unknown_on_both_sides_is_no_match() -> None:
    for key in (HOSTNAME, ZONE, "rack"):
        assert serving(split(SHOP, around(None), policy(key))) == []


def test_a_strict_list_without_a_match_is_zonal_mode_with_nothing_in_it() -> None:
    pools = split(SHOP, around("zone-z"), policy(ZONE))
    assert (pools.zonal_mode, pools.zonal, pools.general) == (True, (), SHOP)


def test_any_endpoint_is_the_general_pool() -> None:
    pools = split(SHOP, around("zone-z"), policy(ZONE, "*"))
    assert (pools.zonal_mode, pools.general) == (False, SHOP)


def test_a_zone_that_was_set_by_hand_outranks_the_label_of_the_node() -> None:
    here = around("zone-b", labels={ZONE: "zone-a"})
    assert serving(split(SHOP, here, policy(ZONE))) == ["10.0.0.3:80"]
