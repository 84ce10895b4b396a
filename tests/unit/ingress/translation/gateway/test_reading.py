"""Everything of Gateway API in a cluster, read at once."""

from __future__ import annotations

import random

import pytest

from ingress.objects.kinds import KubernetesObject
from ingress.translation.gateway.reading import NOTHING
from tests.unit.ingress.cluster import config_map, service
from tests.unit.ingress.translation.gateway.objects import (
    conditions,
    gateway,
    gateway_class,
    grant,
    http_route,
    listener,
    listener_set,
    policy,
    read,
    read_all,
)

ALL = {"namespaces": {"from": "All"}}
CERTIFICATE = {"certificateRefs": [{"name": "cert", "namespace": "shop"}]}

CLUSTER: tuple[KubernetesObject, ...] = (
    gateway(
        listener(allowedRoutes=ALL),
        listener("https", 443, "HTTPS", tls=CERTIFICATE),
        allowedListeners=ALL,
        tls={"backend": {"clientCertificateRef": {"name": "me"}}},
    ),
    gateway(name="later"),
    listener_set(listener("extra", hostname="extra.test"), namespace="shop"),
    http_route(),
    http_route("other", namespace="shop", to="nope"),
    service("web", namespace="infra"),
    grant("Gateway", to="Secret"),
    policy(),
)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_objects_says_nothing(seed: int) -> None:
    objects = list(CLUSTER)
    random.Random(seed).shuffle(objects)
    assert read_all(*objects) == read_all(*CLUSTER)


def test_without_ports_or_a_class_of_ours_nothing_is_read() -> None:
    assert read_all(*CLUSTER, ports=frozenset()) == NOTHING
    theirs = read("Gateway", "theirs", gatewayClassName="foreign", listeners=[listener()])
    assert not read_all(theirs).gateways


def test_what_objects_name_is_needed_whether_it_exists_or_not() -> None:
    found = read_all(*CLUSTER)
    assert {key for each in found.needs for key in each.secrets} == {("infra", "me"), ("shop", "cert")}
    assert {key for each in found.needs for key in each.config_maps} == {("infra", "ca")}
    assert found.services == {("infra", "web"), ("shop", "nope")}


def test_an_older_gateway_keeps_its_listener_and_routes_are_attached_all_the_same() -> None:
    found = read_all(*CLUSTER, http_route("late", parentRefs=[{"name": "later"}]))
    assert conditions(found, "Gateway", "later")["Accepted"] == ("False", "ListenersNotValid")
    assert conditions(found, "HTTPRoute", "late")["Accepted"] == ("True", "Accepted")


def test_a_listener_set_waits_for_its_gateway() -> None:
    parameters = {"parametersRef": {"group": "", "kind": "ConfigMap", "name": "zonal"}}
    objects = (gateway(allowedListeners=ALL, infrastructure=parameters), listener_set(listener("x", 8080)))
    refused = read_all(*objects)
    assert conditions(refused, "Gateway", "gw")["Accepted"] == ("False", "InvalidParameters")
    assert conditions(refused, "ListenerSet", "extra")["Accepted"] == ("False", "ParentNotAccepted")
    assert not any(each.serves for each in refused.listeners)
    assert [each.config_maps for each in refused.needs] == [(("infra", "zonal"),)]
    taken = read_all(*objects, config_map("infra", "zonal"))
    assert conditions(taken, "ListenerSet", "extra")["Accepted"] == ("True", "Accepted")


def test_addresses_of_an_unknown_type_refuse_a_gateway() -> None:
    found = read_all(gateway(addresses=[{"type": "x.test/odd", "value": "1"}]))
    assert conditions(found, "Gateway", "gw")["Accepted"] == ("False", "UnsupportedAddress")


def test_a_class_is_told_apart() -> None:
    assert conditions(read_all(), "GatewayClass", gateway_class().metadata.name)["Accepted"] == ("True", "Accepted")
