"""What of Gateways becomes the model."""

from __future__ import annotations

from typing import Any

import trustme

from balancer.model.client_tls import ClientVerification
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.route_configurations import Wildcards
from balancer.model.routes import PathKind, TrailingSlash
from ingress.objects.kinds import ConfigMap, KubernetesObject, Metadata
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.assembly import Translation, translate
from ingress.translation.desired import EntryParts
from ingress.translation.gateway.serving import configuration_key, gateway_parts, is_bound
from tests.unit.ingress.cluster import config_map, inventory, service, tls_secret
from tests.unit.ingress.translation.gateway.objects import (
    gateway,
    gateway_class,
    http_route,
    listener,
    read,
    read_all,
    read_one,
)

SOCKETS = {80: "18080", 443: "18443"}
AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
LEAF = AUTHORITY.issue_cert("a.test", key_type=trustme.KeyType.ECDSA)
CERT = tls_secret("cert", LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes(), namespace="infra")
CA = ConfigMap(Metadata("ca", "infra"), {"ca.crt": AUTHORITY.cert_pem.bytes().decode()})
HTTPS = listener("https", 443, "HTTPS", tls={"certificateRefs": [{"name": "cert"}]})
ASKING = {"frontend": {"default": {"validation": {"caCertificateRefs": [{"kind": "ConfigMap", "name": "ca"}]}}}}


def parts(*objects: KubernetesObject) -> EntryParts:
    return gateway_parts(read_all(*objects), ClusterSettings(), sockets=SOCKETS, overrides={})


def translated(*objects: KubernetesObject) -> Translation:
    known = inventory(gateway_class(), config_map(), service("web", namespace="infra"), *objects)
    return translate(known, TranslationContext(gateway_ports=tuple(SOCKETS.items())))


def test_each_port_is_an_entry_point_with_a_configuration_of_its_own() -> None:
    found = parts(gateway(listener(), HTTPS), CERT)
    assert found.entry_points == (
        EntryPoint("gateway:443", Protocol.HTTPS, 443, "18443", "gateway:443"),
        EntryPoint("gateway:80", Protocol.HTTP, 80, "18080", "gateway:80", http2_cleartext=True),
    )
    assert [(each.key, each.wildcards, each.falls_through) for each in found.route_configurations] == [
        ("gateway:443", Wildcards.MANY_LABELS, True),
        ("gateway:80", Wildcards.MANY_LABELS, True),
    ]
    assert configuration_key(80) == "gateway:80"


def test_hosts_are_of_a_listener_and_the_older_route_comes_first() -> None:
    young = http_route("a", hostnames=["a.test"])
    found = parts(gateway(listener(hostname="*.test")), young, http_route("b", hostnames=["a.test"]))
    (host,) = found.hosts
    assert (host.name, host.listener, host.configuration) == ("a.test", "Gateway/infra/gw/http", "gateway:80")
    assert host.trailing_slash is TrailingSlash.SAME
    assert [each.owner.name for each in host.claims] == ["a", "b"]


def test_a_listener_without_a_usable_certificate_takes_its_names_and_serves_nothing() -> None:
    found = parts(gateway(HTTPS), http_route())
    assert [each.certificates for each in found.listeners] == [()]
    assert found.hosts == ()


def test_listeners_that_are_not_accepted_are_not_bound() -> None:
    odd = listener("odd", 9000, "UDP")
    assert parts(gateway(odd, listener("a", 80), listener("b", 80)), http_route()) == EntryParts()
    assert is_bound(read_one())
    assert is_bound(read_one(protocol="TCP", port=9000))
    assert not is_bound(read_one(protocol="UDP", port=9000))


def test_clients_of_a_listener_are_asked_for_certificates() -> None:
    made: Any = translated(gateway(HTTPS, tls=ASKING), http_route(), CERT, CA).model
    (host,) = made.hosts
    assert host.client_demand.verification is ClientVerification.ON
    assert host.client_demand.in_handshake
    assert {each.client_demand for each in made.listeners} == {None, host.client_demand}
    assert [each.key for each in made.authorities] == [host.client_demand.authority]
    assert [each.key for each in made.certificates] == ["infra/cert"]


def test_a_listener_without_hosts_asks_for_certificates_too() -> None:
    made: Any = translated(gateway(HTTPS, tls=ASKING), CERT, CA).model
    (demand,) = {each.client_demand for each in made.listeners} - {None}
    assert [each.key for each in made.authorities] == [demand.authority]


def test_authorities_of_several_config_maps_count_together() -> None:
    other = trustme.CA().cert_pem.bytes().decode()
    references = [{"group": "", "kind": "ConfigMap", "name": name} for name in ("ca", "ca2")]
    asking = {"frontend": {"default": {"validation": {"caCertificateRefs": references}}}}
    more = ConfigMap(Metadata("ca2", "infra"), {"ca.crt": other})
    made: Any = translated(gateway(HTTPS, tls=asking), http_route(), CERT, CA, more).model
    (authority,) = made.authorities
    assert authority.ca_pem.count(b"BEGIN CERTIFICATE") == 2


def test_the_model_has_ingresses_and_gateways_side_by_side() -> None:
    made = translated(gateway(), http_route()).model
    assert [each.key for each in made.entry_points] == ["gateway:80", "http", "https"]
    assert [each.key for each in made.listeners] == ["Gateway/infra/gw/http", "ingress"]
    assert made.hosts[0].routes[0].main.backend == "infra/web:80"
    assert {each.key for each in made.entry_points if each.http2_cleartext} == {"gateway:80"}
    assert not made.proxy.http2.cleartext


def test_without_gateways_nothing_is_different() -> None:
    made = translated().model
    assert [each.key for each in made.entry_points] == ["http", "https"]
    assert not made.proxy.http2.cleartext


def test_beside_a_method_without_a_service_services_are_expressions_and_come_first() -> None:
    method, of_service = {"method": {"method": "One"}}, {"method": {"service": "a.B"}}

    def kinds(*matches: dict[str, Any]) -> list[tuple[PathKind, str]]:
        calls = read("GRPCRoute", "calls", parentRefs=[{"name": "gw"}], rules=[{"matches": list(matches)}])
        (host,) = parts(gateway(), calls).hosts
        return [(each.kind, each.path) for each in host.claims]

    assert kinds(of_service) == [(PathKind.PREFIX, "/a.B")]
    assert kinds(method, of_service, {})[0] == (PathKind.REGEX, "/a.B")
    assert [kind for kind, _ in kinds(method, of_service, {})] == [PathKind.REGEX, PathKind.REGEX, PathKind.PREFIX]
