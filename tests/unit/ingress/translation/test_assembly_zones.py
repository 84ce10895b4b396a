"""What the cluster says about zones, from its objects to the model."""

from __future__ import annotations

import pytest

from balancer.model.publication import RoutingModel
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePrices
from balancer.runtime.steps import finished
from balancer.zones.reasons import Reason
from balancer.zones.split import split
from balancer.zones.verdicts import Surroundings
from ingress.objects.kinds import KubernetesObject
from ingress.settings.context import TranslationContext
from ingress.sources.events import Upserted
from ingress.translation.assembly import translate, with_endpoints
from tests.unit.ingress.cluster import (
    config_map,
    endpoint,
    endpoint_slice,
    full_node,
    hints,
    ingress,
    ingress_class,
    inventory,
    leaving_node,
    rule,
    service,
    translated,
)


def zoned(*said: KubernetesObject, flag: str = "true", **settings: str) -> RoutingModel:
    """The model of a cart in a cluster with full Nodes and a Service of our own, as seen from node-1."""
    objects = (
        full_node("node-1", "zone-a", "2", labels={"rack": "r1"}),
        full_node("node-2", "zone-b", "4"),
        endpoint_slice("one", endpoint("10.0.0.1", node="node-1"), endpoint("10.0.0.2", node="node-2")),
        service("ours"),
        endpoint_slice("ours", endpoint("10.0.1.1", node="node-1"), of="ours"),
        config_map(zone_aware_routing=flag, **settings),
    )
    context = TranslationContext(node_name="node-1", publish_service="shop/ours")
    return translated(*objects, *said, context=context).model


def test_auto_is_hints_for_a_service_that_asks_for_them() -> None:
    web = ingress("web", rule("a.test"))
    asks, bare = service(distribution="PreferSameZone"), service()
    assert [zoned(web, item).backends[0].zone_policy.name.value for item in (asks, bare)] == ["hints", "prefer-zone"]
    assert zoned(web, asks, zone_policy="prefer-zone").backends[0].zone_policy.name.value == "prefer-zone"
    over = ingress("web", rule("a.test"), annotations={"zonal-ingress.io/zone-policy": "auto"})
    route = zoned(over, asks, zone_policy="prefer-zone").hosts[0].routes[0]
    assert route.main.zone_policy is not None
    assert route.main.zone_policy.name.value == "hints"


def test_labels_of_nodes_are_in_the_model_where_a_route_names_them() -> None:
    by_rack = {"zonal-ingress.io/zone-policy": "ordered: rack, row, *"}
    model = zoned(ingress("web", rule("a.test"), annotations=by_rack), service())
    assert [endpoint.labels for endpoint in model.backends[0].endpoints] == [(("rack", "r1"),), ()]
    assert model.own_zone.labels == (("rack", "r1"),)
    bare = zoned(ingress("web", rule("a.test")), service())
    assert {endpoint.labels for endpoint in bare.backends[0].endpoints} | {bare.own_zone.labels} == {()}


def test_facts_about_zones_are_in_the_model_where_a_policy_needs_them() -> None:
    web, cart = ingress("web", rule("a.test")), service()
    assert zoned(web, cart).zones == ZoneFacts()
    cpu, replicas = ((Zone("zone-a"), 2000), (Zone("zone-b"), 4000)), ((Zone("zone-a"), 1),)
    assert zoned(web, cart, zone_policy="allocate").zones == ZoneFacts(cpu_milli=cpu)
    assert zoned(web, cart, zone_policy="proportional").zones == ZoneFacts(replicas=replicas)
    assert zoned(web, cart, zone_drain="zone-b").zones == ZoneFacts(drained=(Zone("zone-b"),))


def test_while_the_flag_is_off_what_is_said_about_zones_changes_nothing_but_prices() -> None:
    loud = {"zonal-ingress.io/zone-policy": "ordered: rack"}
    quiet = zoned(ingress("web", rule("a.test")), service(), flag="false")
    said = zoned(
        ingress("web", rule("a.test"), annotations=loud),
        service(annotations=loud, distribution="PreferClose"),
        flag="false",
        zone_policy="allocate",
        zone_drain="zone-b",
    )
    assert said == quiet
    priced = zoned(ingress("web", rule("a.test")), service(), flag="false", zone_transfer_prices="0.01")
    assert priced.zones == ZoneFacts(prices=ZonePrices(0.01))


HINTED = (
    endpoint_slice(
        "cart-1",
        endpoint("10.0.0.1", zone="zone-a", hints=hints("zone-b")),
        endpoint("10.0.0.2", zone="zone-b", hints=hints("zone-a")),
    ),
    ingress("web", rule("a.test")),
)


@pytest.mark.parametrize("mode", [None, "Disabled", "example.com/mine", "Atuo"])
def test_auto_follows_hints_whoever_wrote_them(mode: str | None) -> None:
    said = {"service.kubernetes.io/topology-mode": mode} if mode is not None else {}
    found = translated(*HINTED, service(annotations=said), config_map(zone_aware_routing="true"))
    [backend] = found.model.backends
    pools = split(backend.endpoints, Surroundings(OwnZone(Zone("zone-a"))), backend.zone_policy)
    assert (pools.reason, [each.address for each in pools.zonal]) == (Reason.ZONE_HINTED, ["10.0.0.2"])
    assert "HintsUnread" not in {each.reason for each in found.findings}


def test_disabled_without_hints_is_every_endpoint_as_in_kube_proxy() -> None:
    plain = endpoint_slice("cart-1", endpoint("10.0.0.1", zone="zone-a"), endpoint("10.0.0.2", zone="zone-b"))
    said = {"service.kubernetes.io/topology-mode": "Disabled"}
    found = translated(
        plain, ingress("web", rule("a.test")), service(annotations=said), config_map(zone_aware_routing="true")
    )
    [backend] = found.model.backends
    pools = split(backend.endpoints, Surroundings(OwnZone(Zone("zone-a"))), backend.zone_policy)
    assert (pools.reason, len(pools.general), pools.zonal_mode) == (Reason.NO_HINTS, 2, False)


def test_a_policy_that_leaves_hints_unread_is_a_finding_also_when_only_slices_change() -> None:
    settings = config_map(zone_aware_routing="true", zone_policy="prefer-zone")
    objects = (ingress_class(), *HINTED, service(), settings)
    known = inventory(*objects)
    before = translate(known, TranslationContext(zone="zone-a"))
    assert "HintsUnread" in {each.reason for each in before.findings}
    bare = endpoint_slice("cart-1", endpoint("10.0.0.1", zone="zone-a"))
    known.apply(Upserted(bare))
    after = finished(with_endpoints(before, [("shop", "cart")], known))
    assert after == translate(known, TranslationContext(zone="zone-a"))
    assert "HintsUnread" not in {each.reason for each in after.findings}
    known.apply(Upserted(HINTED[0]))
    assert finished(with_endpoints(after, [("shop", "cart")], known)).findings == before.findings
    off = translated(*HINTED, service())
    assert "HintsUnread" not in {each.reason for each in off.findings}


@pytest.mark.parametrize(
    ("flag", "policy", "leaves"), [("true", "auto", True), ("true", "off", False), ("false", "auto", False)]
)
def test_endpoints_on_nodes_that_go_away_are_marked_where_zones_count(flag: str, policy: str, *, leaves: bool) -> None:
    objects = (
        ingress_class(),
        leaving_node("node-1", "zone-a"),
        full_node("node-2", "zone-b"),
        endpoint_slice("cart-1", endpoint("10.0.0.1", node="node-1"), endpoint("10.0.0.2", node="node-2")),
        service(),
        ingress("web", rule("a.test")),
        config_map(zone_aware_routing=flag, zone_policy=policy),
    )
    known, context = inventory(*objects), TranslationContext()
    before = translate(known, context)
    assert [each.leaving for each in before.model.backends[0].endpoints] == [leaves, False]
    assert before.model.zones.leaving == (("zone-a",) if leaves else ())
    known.apply(Upserted(endpoint_slice("cart-1", endpoint("10.0.0.3", node="node-1"))))
    after = finished(with_endpoints(before, [("shop", "cart")], known))
    assert after == translate(known, context)
    assert [each.leaving for each in after.model.backends[0].endpoints] == [leaves]
