"""The cheap path of slices: the same as a whole translation, with all else taken over as it is."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from balancer.runtime.steps import finished
from ingress.findings import Finding, Severity
from ingress.objects.kinds import EndpointSlice, Kind, KubernetesObject, ServicePort, SlicePort
from ingress.settings.context import TranslationContext
from ingress.sources.events import Removed, Upserted
from ingress.sources.inventory import Changes
from ingress.translation.assembly import translate, with_endpoints
from tests.properties import examples
from tests.unit.ingress.cluster import (
    backend,
    config_map,
    endpoint,
    endpoint_slice,
    full_node,
    hints,
    ingress,
    ingress_class,
    inventory,
    path,
    rule,
    service,
)

SERVICES = ("cart", "pay", "stock", "ours")
CONTEXT = TranslationContext(publish_service="shop/ours", node_name="node-1")
FIXED: tuple[KubernetesObject, ...] = (
    ingress_class(),
    full_node("node-1", "zone-b", labels={"rack": "r1"}),
    service(
        "cart",
        ServicePort(80, "http"),
        ServicePort(81, "admin"),
        annotations={"zonal-ingress.io/zone-policy": "ordered: rack, *"},
    ),
    service("ours", ServicePort(81, "admin"), ServicePort(80, "http")),
    service("pay", annotations={"zonal-ingress.io/zone-policy": "proportional"}),
    service("stock", annotations={"nginx.ingress.kubernetes.io/service-upstream": "true"}),
    ingress(
        "web",
        rule("shop.test", path("/"), path("/admin", to=backend("cart", 81)), path("/pay", to=backend("pay"))),
    ),
    ingress("upstream", rule("stock.test", path("/", to=backend("stock")))),
)
ADDRESSES = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3", "127.0.0.1", "not an address", "fd00::1"])
ENDPOINTS = st.builds(
    endpoint,
    ADDRESSES,
    zone=st.sampled_from(["", "zone-a", "not a zone!"]),
    node=st.sampled_from(["", "node-1", "node-2"]),
    ready=st.sampled_from([None, True, False]),
    terminating=st.sampled_from([None, True]),
    hints=st.sampled_from([None, hints("zone-a"), hints("zone-a", "zone-b", nodes=["node-1"]), {"forZones": 1}]),
)
TOLD_ZONE = st.sampled_from([None, "zone-a", "zone-x"])
AWARE = st.sampled_from([(), (config_map(zone_aware_routing="true"),)])


@st.composite
def slices(draw: st.DrawFn) -> EndpointSlice:
    return endpoint_slice(
        draw(st.sampled_from(["one", "two", "three"])),
        *draw(st.lists(ENDPOINTS, min_size=1, max_size=4)),
        of=draw(st.sampled_from([*SERVICES, "unknown"])),
        family=draw(st.sampled_from(["IPv4", "IPv6"])),
        ports=(SlicePort("http", 8080), SlicePort("admin", draw(st.sampled_from([9000, 9001])))),
    )


EVENTS = st.one_of(
    st.builds(Upserted, slices()),
    st.builds(lambda name: Removed(Kind.ENDPOINT_SLICE, "shop", name), st.sampled_from(["one", "two", "three"])),
)


@examples(150)
@given(AWARE, TOLD_ZONE, st.lists(st.lists(EVENTS, max_size=4), max_size=4))
def test_the_cheap_path_gives_what_a_whole_translation_gives(
    aware: tuple[KubernetesObject, ...], told_zone: str | None, bursts: list[list[Upserted | Removed]]
) -> None:
    known, context = inventory(*FIXED, *aware), msgspec.structs.replace(CONTEXT, zone=told_zone)
    known.take_changes()
    last = translate(known, context)
    for burst in bursts:
        for event in burst:
            known.apply(event)
        changes = known.take_changes()
        assert not changes.beyond
        last = finished(with_endpoints(last, changes.slices_of, known))
        assert last == translate(known, context)


def test_a_service_that_loses_its_endpoints_is_a_finding_until_they_return() -> None:
    known = inventory(*FIXED, *(endpoint_slice(name, of=name) for name in SERVICES))
    last = translate(known, TranslationContext())
    about_cart = Finding(
        "Service",
        "shop",
        "cart",
        "NoReadyEndpoint",
        "No endpoint of Service shop/cart is ready on port 80: find out why its pods are not ready.",
        "Requests for the Service are answered with 503.",
        Severity.CLOSED,
    )
    ports = (SlicePort("http", 8080), SlicePort("admin", 8081))
    for ready in (True, False, True):
        slices = [endpoint_slice("cart", endpoint(ready=ready)), endpoint_slice("admin", endpoint(), ports=ports[1:])]
        known.take_changes()
        for item in slices:
            known.apply(Upserted(item))
        last = finished(with_endpoints(last, known.take_changes().slices_of, known))
        assert [finding for finding in last.findings if finding.name == "cart"] == ([] if ready else [about_cart])


def test_the_zone_of_the_option_is_a_finding_until_an_endpoint_is_there() -> None:
    known = inventory(*FIXED, endpoint_slice("one", endpoint(zone="zone-a")))
    last = translate(known, TranslationContext(zone="zone-x"))
    for zone, expected in (("zone-x", 0), ("zone-a", 1), ("zone-x", 0)):
        known.take_changes()
        known.apply(Upserted(endpoint_slice("one", endpoint(zone=zone))))
        last = finished(with_endpoints(last, known.take_changes().slices_of, known))
        assert [finding.reason for finding in last.findings].count("OwnZoneEmpty") == expected


def test_a_zone_without_a_replica_is_a_finding_until_one_is_ready_there() -> None:
    slices = endpoint_slice("one", endpoint(zone="zone-a"), endpoint("10.0.0.2", zone="zone-c"))
    known = inventory(*FIXED, config_map(zone_aware_routing="true"), slices)
    last = translate(known, CONTEXT)
    for zones, expected in ((("zone-a",), ["zone-c"]), (("zone-a", "zone-c"), []), ((), [])):
        known.take_changes()
        ours = [endpoint(f"10.0.1.{number}", zone=zone) for number, zone in enumerate(zones)]
        known.apply(Upserted(endpoint_slice("ours", *ours, of="ours", ports=(SlicePort("admin", 9),))))
        last = finished(with_endpoints(last, known.take_changes().slices_of, known))
        assert [each.name for each in last.findings if each.reason == "ZoneWithoutReplica"] == expected
        assert last == translate(known, CONTEXT)


def test_our_replicas_and_labels_of_nodes_come_on_the_cheap_path() -> None:
    known = inventory(*FIXED, config_map(zone_aware_routing="true"))
    last = translate(known, CONTEXT)
    assert (last.model.zones.replicas, last.model.own_zone.labels) == (None, (("rack", "r1"),))
    known.take_changes()
    known.apply(Upserted(endpoint_slice("one", endpoint(zone="zone-a"), of="ours", ports=(SlicePort("admin", 9),))))
    known.apply(Upserted(endpoint_slice("two", endpoint(node="node-1"))))
    changes = known.take_changes()
    assert not changes.beyond
    after = finished(with_endpoints(last, changes.slices_of, known)).model
    assert after.zones.replicas == (("zone-a", 1),)
    assert [endpoint.labels for backend in after.backends for endpoint in backend.endpoints] == [(("rack", "r1"),)]


def test_routes_and_other_backends_are_taken_over_as_they_are() -> None:
    known = inventory(*FIXED, endpoint_slice("one"), endpoint_slice("two", of="pay"))
    last = translate(known, TranslationContext())
    known.take_changes()
    known.apply(Upserted(endpoint_slice("one", endpoint("10.0.0.9"))))
    after = finished(with_endpoints(last, known.take_changes().slices_of, known))
    assert after.model.hosts is last.model.hosts
    changed = [
        one.key for one, other in zip(after.model.backends, last.model.backends, strict=True) if one is not other
    ]
    assert changed == ["shop/cart:80"]


def test_findings_that_are_the_same_are_not_made_anew() -> None:
    known = inventory(*FIXED, endpoint_slice("one", endpoint("127.0.0.1")), endpoint_slice("two", of="pay"))
    last = translate(known, TranslationContext())
    assert last.findings
    known.take_changes()
    known.apply(Upserted(endpoint_slice("two", endpoint("10.0.0.9"), of="pay")))
    after = finished(with_endpoints(last, known.take_changes().slices_of, known))
    assert after.findings is last.findings
    known.apply(Upserted(endpoint_slice("one", endpoint("10.0.0.9"))))
    assert finished(with_endpoints(after, known.take_changes().slices_of, known)).findings != last.findings


def test_what_has_changed_is_told_once() -> None:
    known = inventory(*FIXED, endpoint_slice("one"))
    known.take_changes()
    known.apply(Upserted(endpoint_slice("one", of="pay")))
    assert known.take_changes() == Changes(slices_of=frozenset({("shop", "cart"), ("shop", "pay")}))
    known.apply(Upserted(service("pay", ServicePort(90, "http"))))
    assert known.take_changes() == Changes(services=frozenset({("shop", "pay")}))
    assert known.take_changes() == Changes()
