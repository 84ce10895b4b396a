"""Gateways with Services of their own: places, addresses, and what is in the way of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

import pytest

from ingress.objects.converting import decode
from ingress.objects.gateway import Gateway
from ingress.objects.kinds import Kind, PublishedAddress
from ingress.settings.gateway_ports import GatewayServices
from ingress.sources.events import BoundPort, Provisioned, Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.own_ports import ExposedPort, left_over_configuration, missing_address, written
from ingress.translation.gateway.reading import GatewayOptions, ReadGateways, read_gateways
from ingress.translation.gateway.register import service_name
from ingress.translation.gateway.standings import Address, GatewayStatus
from ingress.translation.secrets.materials import Materials
from tests.unit.ingress.writing.gateway.objects import OURS, Document, custom, gateway, gateway_class, route

TARGETS = (20000, 20001)
ADDRESS = {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}


def service(name: str = "gw", *ports: tuple[int, int], status: Any = None, **spec: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": service_name(("infra", name)),
            "namespace": "zonal",
            "annotations": {"zonal-ingress.io/gateway": f"infra/{name}"},
        },
        "spec": {
            "type": "LoadBalancer",
            "ports": [{"port": port, "targetPort": target, "appProtocol": "http"} for port, target in ports],
            **spec,
        },
        "status": status or {},
    }


def read(
    *documents: Document,
    provisioned: Provisioned | None = None,
    networks: tuple[str, ...] = (),
    targets: Sequence[int] = TARGETS,
) -> ReadGateways:
    known = Inventory()
    found = [item for each in (gateway_class(), *documents) if (item := decode(each)) is not None]
    for kind in Kind:
        known.apply(Replaced(kind, tuple(item for item in found if item.kind is kind)))
    known.apply(provisioned or Provisioned())
    services = GatewayServices("zonal", tuple(targets), external_networks=tuple(map(ip_network, networks)))
    return read_gateways(known, GatewayOptions(OURS, services=services), GatewayMaterial(known, Materials()))


def status(found: ReadGateways, name: str = "gw") -> GatewayStatus:
    (item,) = [each.status for each in found.standings if (each.kind, each.name) == ("Gateway", name)]
    assert isinstance(item, GatewayStatus)
    return item


def programmed(item: GatewayStatus) -> tuple[str, str, str]:
    (found,) = [each for each in item.conditions if each.type == "Programmed"]
    return found.status, found.reason, found.message


def test_without_a_service_a_gateway_waits_and_says_for_which() -> None:
    found = read(gateway(), route(), provisioned=Provisioned(problem="it is refused."))
    assert programmed(status(found))[:2] == ("False", "Pending")
    assert f"zonal/{service_name(('infra', 'gw'))}: it is refused." in programmed(status(found))[2]
    (listener,) = status(found).listeners
    assert [each.reason for each in listener.conditions if each.type == "Programmed"] == ["Pending"]
    assert ("zonal", service_name(("infra", "gw"))) in found.services


def test_a_service_with_an_address_makes_it_programmed() -> None:
    found = status(read(gateway(), service("gw", (80, 20000), status=ADDRESS)))
    assert programmed(found)[:2] == ("True", "Programmed")
    assert found.addresses == (Address("IPAddress", "203.0.113.7"),)


def test_while_a_service_has_no_address_its_gateway_is_not_programmed() -> None:
    found = status(read(gateway(), service("gw", (80, 20000))))
    assert programmed(found)[:2] == ("False", "AddressNotAssigned")
    assert found.addresses == ()
    empty = status(read(gateway(), service("gw", (80, 20000), status={"loadBalancer": {"ingress": [{}]}})))
    assert (empty.addresses, programmed(empty)[1]) == ((), "AddressNotAssigned")


@pytest.mark.parametrize(
    ("spec", "addresses"),
    [
        ({"type": "ClusterIP", "clusterIP": "10.96.0.9"}, ["10.96.0.9"]),
        ({"type": "ClusterIP", "clusterIP": "None"}, []),
        ({"type": "ClusterIP", "clusterIP": "10.96.0.9", "externalIPs": ["203.0.113.9"]}, ["203.0.113.9"]),
        ({"type": "NodePort", "clusterIP": "10.96.0.9"}, ["192.0.2.1"]),
    ],
)
def test_addresses_depend_on_the_type_of_the_service(spec: Document, addresses: list[str]) -> None:
    provisioned = Provisioned(addresses=(PublishedAddress(ip="192.0.2.1"),))
    found = status(read(gateway(), service("gw", (80, 20000), **spec), provisioned=provisioned))
    assert [each.value for each in found.addresses] == addresses


def test_a_gateway_that_asks_for_addresses_has_only_those() -> None:
    asks = gateway(addresses=[{"value": "198.51.100.7"}])
    placed = service("gw", (80, 20000), status=ADDRESS, externalIPs=["198.51.100.7"])
    found = status(read(asks, placed, networks=("198.51.100.0/24",)))
    assert found.addresses == (Address("IPAddress", "198.51.100.7"),)
    assert programmed(found)[:2] == ("True", "Programmed")
    lacking = status(read(gateway(addresses=[{"value": "192.0.2.9"}]), service("gw", (80, 20000), status=ADDRESS)))
    assert lacking.addresses == (Address("IPAddress", "203.0.113.7"),)
    assert programmed(lacking)[:2] == ("False", "AddressNotUsable")


def test_two_gateways_on_one_port_never_meet() -> None:
    found = read(
        gateway("one"), gateway("two"), service("one", (80, 20000), status=ADDRESS), service("two", (80, 20001))
    )
    assert [each.conflict for each in found.listeners] == [None, None]
    assert len({each.configuration for each in found.listeners}) == 2
    assert [each.socket for each in found.listeners] == ["20000", "20001"]


def test_a_planned_port_is_served_and_says_so_to_nobody_yet() -> None:
    found = read(gateway(), provisioned=Provisioned((BoundPort("infra", "gw", 80, 20001, "http"),)))
    assert found.listeners[0].socket == "20001"
    assert found.exposures[0].ports == (ExposedPort(80, "http", 20001),)
    assert programmed(status(found))[1] == "Pending"


def test_a_plan_gives_way_to_the_register() -> None:
    plan = Provisioned((BoundPort("infra", "two", 80, 20000, "http"),))
    found = read(gateway("one"), gateway("two"), service("one", (80, 20000)), provisioned=plan)
    assert [each.socket for each in found.listeners] == ["20000", ""]


def test_beyond_the_range_no_port_is_available_and_what_stands_stays() -> None:
    old = gateway("old", port=80)
    found = read(gateway("a"), gateway("b"), old, service("old", (80, 20000)))
    refused = {each.gateway[1]: each.refused.reason for each in found.listeners if each.refused is not None}
    assert refused == {"b": "PortUnavailable"}


def test_a_listener_set_that_its_gateway_does_not_take_uses_up_no_bound_port() -> None:
    listeners = [{"name": f"l{port}", "port": port, "protocol": "HTTP"} for port in range(9000, 9064)]
    parent = {"name": "a", "namespace": "infra"}
    thief = custom("ListenerSet", "thief", {"parentRef": parent, "listeners": listeners}, namespace="evil")
    found = read(gateway("a"), gateway("b"), thief)
    assert [(each.gateway[1], each.refused) for each in found.listeners] == [("a", None), ("b", None)]


def test_what_has_no_listener_any_more_is_left_over() -> None:
    found = read(gateway(port=81), service("gw", (80, 20000)))
    (item,) = found.left_over
    assert (item.port, item.target, item.protocol) == (80, 20000, "http")
    assert left_over_configuration(item) == "gateway:infra/gw:80"


def test_an_address_that_is_asked_for_must_be_there() -> None:
    asked = gateway(addresses=[{"type": "IPAddress", "value": "203.0.113.9"}])
    balanced = service("gw", (80, 20000), status=ADDRESS)
    assert programmed(status(read(asked, balanced)))[:2] == ("False", "AddressNotUsable")
    found = read(asked, balanced, networks=("203.0.113.8/29",))
    assert found.exposures[0].external_ips == ("203.0.113.9",)
    external = service("gw", (80, 20000), externalIPs=["203.0.113.9"])
    assert programmed(status(read(asked, external)))[0] == "True"
    anything = gateway(addresses=[{"type": "IPAddress"}])
    assert programmed(status(read(anything, balanced)))[0] == "True"


def test_names_and_numbers_are_addresses_of_their_types() -> None:
    addresses = (PublishedAddress(ip="::1"),)
    assert written(addresses) == (Address("IPAddress", "::1"),)
    item = decode(gateway(addresses=[{"value": "::1"}]))
    assert isinstance(item, Gateway)
    assert missing_address(item, written(addresses), "x", "y") is None


def many(namespace: str, count: int) -> Document:
    """A Gateway with a listener on each of so many ports."""
    listeners = [{"name": f"l{port}", "port": port, "protocol": "HTTP"} for port in range(1, count + 1)]
    document = gateway(listeners=listeners)
    document["metadata"] = {**document["metadata"], "namespace": namespace, "name": f"of-{namespace}"}
    return document


def open_ports(found: ReadGateways) -> Counter[str]:
    """How many ports are allowed, by the namespace of the Gateway."""
    return Counter(exposure.gateway[0] for exposure in found.exposures for _ in exposure.ports)


def test_the_gateways_of_one_namespace_leave_bound_ports_for_those_of_another() -> None:
    found = read(many("a-greedy", 60), many("modest", 3), targets=range(20000, 20050))
    assert open_ports(found) == {"a-greedy": 44, "modest": 3}
    refused = [
        each.message
        for listener in status(found, "of-a-greedy").listeners
        for each in listener.conditions
        if each.reason == "PortUnavailable"
    ]
    assert "Gateways of a-greedy have 44 of 50 bound ports" in refused[0]


def test_many_greedy_namespaces_leave_bound_ports_for_a_modest_one() -> None:
    found = read(many("a", 30), many("b", 30), many("modest", 3), targets=range(20000, 20050))
    assert open_ports(found) == {"a": 30, "b": 16, "modest": 3}


def test_few_bound_ports_are_for_whoever_comes_first() -> None:
    assert open_ports(read(many("a", 20), many("b", 3), targets=range(20000, 20010))) == {"a": 10}
