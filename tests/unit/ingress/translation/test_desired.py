"""What Ingresses and Gateways ask for becomes one model: hosts by listener and name, and the entry points of both."""

from __future__ import annotations

from balancer.model.route_configurations import INGRESS_LISTENER
from ingress.objects.kinds import KubernetesObject
from ingress.settings.context import TranslationContext
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import translate
from tests.unit.ingress.cluster import config_map, ingress, ingress_class, inventory, rule, service
from tests.unit.ingress.translation.gateway.objects import gateway, gateway_class, http_route, listener

PORTS = {80: "18080"}


def places(*objects: KubernetesObject) -> list[tuple[str, str]]:
    """The listeners and names of the hosts, in the order of the model."""
    known = inventory(
        ingress_class(), gateway_class(), config_map(), service(), service("web", namespace="infra"), *objects
    )
    model = translate(known, TranslationContext(gateway_ports=tuple(PORTS.items()))).model
    return [(host.listener, host.name) for host in model.hosts]


def test_hosts_of_both_languages_are_sorted_by_listener_and_name() -> None:
    objects = (
        ingress("shop", rule("z.test"), rule("b.test")),
        gateway(listener()),
        http_route(hostnames=["c.test", "a.test"]),
    )
    found = places(*objects)
    assert found == sorted(found)
    assert {name for listener, name in found if listener == INGRESS_LISTENER.key} == {"z.test", "b.test"}
    assert {name for listener, name in found if listener != INGRESS_LISTENER.key} == {"a.test", "c.test"}
    assert places(*reversed(objects)) == found


def test_the_entry_points_of_ingresses_are_there_without_an_object() -> None:
    model = translate(Inventory(), TranslationContext()).model
    assert [each.key for each in model.entry_points] == ["http", "https"]
    assert model.listeners == (INGRESS_LISTENER,)
