"""The cluster of routes is as large as it says, and every route is served through its Gateway or ListenerSet."""

from __future__ import annotations

from collections import Counter

from ingress.objects.converting import decode
from ingress.objects.gateway_routes import HttpRoute
from ingress.objects.kinds import Kind
from ingress.settings.context import TranslationContext
from ingress.sources.events import Replaced, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import translate
from ingress.translation.gateway.grants import Grants, Referrer
from tests.bench.control.routed_cluster import (
    RouteShape,
    documents,
    far_route_of,
    gateway_of,
    grant_of,
    host_of,
    ports_of,
    route_of,
)

SMALL = RouteShape(routes=60, gateways=4, listener_sets=10, namespaces=3)


def test_it_is_as_large_as_it_says() -> None:
    kinds = Counter(each["kind"] for each in documents(SMALL, port=8080))
    assert (kinds["HTTPRoute"], kinds["Gateway"], kinds["ListenerSet"], kinds["Service"]) == (60, 4, 10, 60)


def test_every_route_is_served_on_the_port_of_its_gateway() -> None:
    objects = [item for each in documents(SMALL, port=8080) if (item := decode(each)) is not None]
    inventory = Inventory()
    for kind in Kind:
        inventory.apply(Replaced(kind, tuple(item for item in objects if item.kind is kind)))
    bound = tuple((port, f"gateway-{port}") for port in ports_of(SMALL))
    model = translate(inventory, TranslationContext(allow_local_endpoints=True, gateway_ports=bound)).model
    found = {
        (host.name, point.port)
        for point in model.entry_points
        for host in model.hosts
        if host.configuration == point.configuration
    }
    first, *_ = ports_of(SMALL)
    assert {(host_of(SMALL, each), first + gateway_of(SMALL, each)) for each in range(60)} <= found


def test_a_change_is_another_path_of_the_same_route() -> None:
    changed, before = route_of(SMALL, 7, target="/elsewhere"), route_of(SMALL, 7)
    assert changed["metadata"] == before["metadata"]
    assert changed["spec"]["rules"] != before["spec"]["rules"]


def test_a_far_route_is_closed_without_its_grant() -> None:
    far = [item for each in (far_route_of(SMALL, 7), grant_of(SMALL, 7)) if (item := decode(each)) is not None]
    route, granted = far
    assert isinstance(route, HttpRoute)
    (reference,) = route.spec.rules[0].backend_refs
    asked = {"group": "", "kind": "Service", "namespace": reference.namespace, "name": reference.name}
    referrer = Referrer("HTTPRoute", route.metadata.namespace)
    inventory = Inventory()
    assert not Grants(inventory).allow(referrer, **asked)
    inventory.apply(Upserted(granted))
    assert Grants(inventory).allow(referrer, **asked)
