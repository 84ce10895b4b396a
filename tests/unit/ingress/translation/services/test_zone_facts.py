"""CPU and replicas by zone, only where a policy asks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from balancer.model.zones import Zone, ZoneFacts, ZonePolicyName, ZonePrices
from ingress.objects.kinds import KubernetesObject, Node, ServicePort, SlicePort
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.zones import ZoneFactSettings
from ingress.settings.zone_values import ZoneDrain
from ingress.translation.services.zone_facts import cpu_by_zone, replicas_by_zone, zone_facts, zones_leaving
from tests.unit.ingress.cluster import endpoint, endpoint_slice, full_node, inventory, leaving_node, node, service

OWN = ("zonal", "web")
CASES = json.loads((Path(__file__).parents[4] / "cases" / "topology_auto_allocation.json").read_text(encoding="utf-8"))
SAID = ZoneFactSettings((ZoneDrain(Zone("zone-b")),), 5.0, ZonePrices(0.01))
NODES = (full_node("a", "zone-a", "2"), full_node("b", "zone-b", "3920m"))


def nodes_of(case: dict[str, Any]) -> list[Node]:
    return [
        full_node(f"node-{index}", item["zone"], f"{item['cpuMilli']}m", ready=item["ready"], labels=item["labels"])
        for index, item in enumerate(case["nodes"])
    ]


@pytest.mark.parametrize("case", CASES["set_nodes"], ids=lambda case: case["name"])
def test_cpu_is_counted_as_the_topology_cache_counts_it(case: dict[str, Any]) -> None:
    expected, counted = case["expect"], cpu_by_zone(nodes_of(case))
    assert counted is not None
    if expected["sufficientNodeInfo"]:
        assert dict(counted) == expected["cpuMilliByZone"]
    else:
        # Enough is known of the nodes; fewer than two zones of them is for the policy to say.
        assert len(counted) < 2


@pytest.mark.parametrize(
    "bad",
    [
        full_node("bad", None),
        full_node("bad", ""),
        full_node("bad", "no zone"),
        full_node("bad", "zone-a", ""),
        full_node("bad", "zone-a", "0"),
        full_node("bad", "zone-a", "lots"),
        node("bad", "zone-a"),
    ],
)
def test_one_node_of_which_too_little_is_known_spoils_all(bad: Node) -> None:
    assert cpu_by_zone(NODES) == (("zone-a", 2000), ("zone-b", 3920))
    assert cpu_by_zone([*NODES, bad]) is None


@pytest.mark.parametrize(
    "left_out",
    [
        full_node("bad", None, ready="False"),
        full_node("bad", None, ready="Unknown"),
        full_node("bad", "zone-c", labels={"node-role.kubernetes.io/master": ""}),
        full_node("bad", None, "", labels={"node-role.kubernetes.io/control-plane": "true"}),
    ],
)
def test_nodes_without_workload_do_not_count(left_out: Node) -> None:
    assert cpu_by_zone([*NODES, left_out]) == cpu_by_zone(NODES)


def test_without_nodes_nothing_is_known() -> None:
    assert cpu_by_zone([]) is None


def replicas(*objects: KubernetesObject) -> dict[Zone, int] | None:
    found = replicas_by_zone(inventory(*objects), OWN)
    return dict(found) if found is not None else None


def own_service(*ports: ServicePort) -> KubernetesObject:
    return service("web", *ports, namespace="zonal")


def own_slice(name: str, *endpoints: Any, **more: Any) -> KubernetesObject:
    return endpoint_slice(name, *endpoints, of="web", namespace="zonal", **more)


def test_ready_replicas_of_every_slice_are_counted_once() -> None:
    one = own_slice("one", endpoint("10.0.0.1", zone="zone-b"), endpoint("10.0.0.2", node="node-1"))
    two = own_slice("two", endpoint("10.0.0.1", zone="zone-b"), endpoint("10.0.0.3", zone="zone-b"))
    going = own_slice("three", endpoint("10.0.0.4", zone="zone-c", ready=False, serving=True, terminating=True))
    known = node("node-1", "zone-a"), own_service(), one, two, going
    assert replicas(*known) == {"zone-a": 1, "zone-b": 2}
    assert replicas_by_zone(inventory(*known), OWN) == (("zone-a", 1), ("zone-b", 2))


def test_a_replica_with_two_ports_is_one() -> None:
    ports = ServicePort(53, "dns", "UDP"), ServicePort(80, "http"), ServicePort(443, "https")
    both = (SlicePort("http", 8080), SlicePort("https", 8443))
    assert replicas(own_service(*ports), own_slice("one", endpoint(zone="z"), ports=both)) == {"z": 1}


@pytest.mark.parametrize(
    "objects",
    [
        (),
        (own_service(),),
        (own_slice("one", endpoint(zone="z")),),
        (own_service(ServicePort(53, "dns", "UDP")), own_slice("one", endpoint(zone="z"))),
        (own_service(), own_slice("one", endpoint(zone="z", ready=False))),
        (own_service(), own_slice("one", endpoint("10.0.0.1", zone="z"), endpoint("10.0.0.2"))),
        (own_service(), own_slice("one", endpoint(zone="no zone"))),
    ],
)
def test_replicas_that_cannot_be_counted_are_not_known(objects: tuple[KubernetesObject, ...]) -> None:
    assert replicas(*objects) is None


def test_without_a_service_of_ours_nothing_is_known() -> None:
    assert replicas_by_zone(inventory(own_service(), own_slice("one", endpoint(zone="z"))), None) is None


def facts(*policies: ZonePolicyName, aware: bool = True) -> ZoneFacts:
    known = inventory(*NODES, own_service(), own_slice("one", endpoint(zone="z")))
    settings = ClusterSettings(zone_aware_routing=aware, zone_facts=SAID)
    replicas_of = OWN if ZonePolicyName.PROPORTIONAL in policies else None
    return zone_facts(known, settings, policies=policies, replicas_of=replicas_of, now_epoch_seconds=0.0)


def test_what_no_policy_asks_for_is_left_out() -> None:
    said = ZoneFacts(None, None, (Zone("zone-b"),), 5.0, ZonePrices(0.01))
    assert facts(ZonePolicyName.PREFER_ZONE, ZonePolicyName.HINTS) == said
    assert facts(ZonePolicyName.ALLOCATE).cpu_milli == (("zone-a", 2000), ("zone-b", 3920))
    assert facts(ZonePolicyName.ALLOCATE).replicas is None
    assert facts(ZonePolicyName.PROPORTIONAL).replicas == (("z", 1),)


def test_while_the_flag_is_off_there_are_prices_alone() -> None:
    assert facts(ZonePolicyName.ALLOCATE, aware=False) == ZoneFacts(prices=ZonePrices(0.01))


@pytest.mark.parametrize(
    ("nodes", "zones"),
    [
        ((), ()),
        ((full_node("a", "zone-a"), leaving_node("b", "zone-a")), ("zone-a",)),
        ((full_node("a", "zone-a"), full_node("b", "zone-a"), leaving_node("c", "zone-a")), ()),
        ((full_node("a", "zone-a"), leaving_node("b", "zone-b"), leaving_node("c", "zone-c")), ("zone-b", "zone-c")),
        ((leaving_node("a", "no zone"),), ()),
    ],
)
def test_a_zone_goes_away_with_half_of_its_nodes(nodes: tuple[Node, ...], zones: tuple[str, ...]) -> None:
    assert zones_leaving(nodes) == zones


def test_zones_that_go_away_are_told_where_a_policy_minds_zones() -> None:
    known = inventory(leaving_node("a", "zone-a"))
    settings = ClusterSettings(zone_aware_routing=True)

    def told(*policies: ZonePolicyName) -> tuple[str, ...]:
        return zone_facts(known, settings, policies=policies, replicas_of=None, now_epoch_seconds=0.0).leaving

    assert told() == told(ZonePolicyName.OFF) == ()
    assert told(ZonePolicyName.OFF, ZonePolicyName.PREFER_ZONE) == ("zone-a",)
