"""What is supposed where a dump has none of a kind: exactly what the Ingresses name, and usable."""

from __future__ import annotations

from ingress.migration.assuming import SUPPOSED, secrets_for, services_for, slices_for
from ingress.objects.converting import decode
from ingress.objects.kinds import Ingress, Kind, Metadata, Service, ServicePort, ServiceSpec
from ingress.settings.table.tls_keys import KeyBounds
from ingress.sources.inventory import SERVICE_LABEL
from ingress.translation.secrets.key_pairs import read_pair
from tests.integration.manifests import backend, ingress, path, rule


def read(**changes: object) -> Ingress:
    document = ingress(
        "web",
        rule("shop.test", path("/", "cart"), {"path": "/api", "pathType": "Prefix", "backend": backend("cart", "api")}),
        tls=[{"hosts": ["www.shop.test"], "secretName": "shop"}],
    )
    document["spec"] |= changes
    found = decode(document)
    assert isinstance(found, Ingress)
    return found


def test_services_have_the_ports_that_are_named() -> None:
    services = services_for([read(defaultBackend=backend("fallback"))])
    service, fallback = sorted(services, key=lambda each: each.metadata.name)
    assert (service.metadata.namespace, service.metadata.name) == ("shop", "cart")
    assert set(service.spec.ports) == {ServicePort(port=80), ServicePort(port=80, name="api")}
    assert fallback.metadata.name == "fallback"


def test_a_resource_backend_names_no_service() -> None:
    resource = {"resource": {"apiGroup": "x", "kind": "Bucket", "name": "b"}}
    assert services_for([read(rules=[rule("a.test", {"path": "/", "pathType": "Prefix", "backend": resource})])]) == ()


def test_every_service_but_an_external_one_has_an_endpoint() -> None:
    cart = Service(Metadata(name="cart", namespace="shop"), ServiceSpec(ports=(ServicePort(port=80, name="http"),)))
    outside = Service(Metadata(name="outside", namespace="shop"), ServiceSpec(type="ExternalName"))
    (found,) = slices_for([cart, outside])
    assert found.metadata.labels[SERVICE_LABEL] == "cart"
    assert [(port.name, port.port) for port in found.ports] == [("http", 80)]
    assert found.endpoints[0].addresses == ("192.0.2.1",)


def test_a_secret_has_a_certificate_for_the_hosts_that_name_it_and_passwords() -> None:
    shop, other = secrets_for([("shop", "shop"), ("shop", "passwords")], [read()])[::-1]
    assert (shop.metadata.name, other.metadata.name) == ("shop", "passwords")
    for secret in (shop, other):
        read_pair(secret.value("tls.crt"), secret.value("tls.key"), KeyBounds())
        assert secret.value("auth")
        assert secret.value("ca.crt")


def test_each_kind_that_is_supposed_has_its_sentence() -> None:
    assert SUPPOSED.keys() == {Kind.SERVICE, Kind.ENDPOINT_SLICE, Kind.SECRET}
