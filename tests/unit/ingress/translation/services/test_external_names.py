"""Services of type ExternalName: refused unless allowed, and then public addresses only."""

from __future__ import annotations

import pytest

from ingress.objects.kinds import Metadata, Service, ServicePort, ServiceSpec
from ingress.settings.context import TranslationContext
from ingress.sources.events import Resolved
from ingress.translation.assembly import Translation, translate
from tests.unit.ingress.cluster import config_map, ingress, ingress_class, inventory, rule, translated


def external(name: str = "api.example.com", *ports: ServicePort) -> Service:
    return Service(Metadata("cart", "shop"), ServiceSpec("ExternalName", ports, external_name=name))


def translated_external(service: Service, *addresses: str, local: bool = False) -> Translation:
    known = inventory(service, ingress_class(), config_map(), ingress("web", rule("shop.test")))
    known.apply(Resolved("shop", "api.example.com", addresses))
    return translate(known, TranslationContext(allow_external_name=True, allow_local_endpoints=local))


def test_an_external_name_is_refused_unless_it_is_allowed() -> None:
    result = translated(external(), ingress_class(), ingress("web", rule("shop.test")))
    assert [finding.reason for finding in result.findings] == ["ExternalName"]
    assert result.wanted.names == frozenset()


def test_an_allowed_external_name_is_wanted_and_its_public_addresses_serve() -> None:
    result = translated_external(external(), "8.8.8.8", "2001:4860:4860::8888")
    assert result.wanted.names == {("shop", "api.example.com")}
    (made,) = result.model.backends
    assert [(item.address, item.port, item.zone) for item in made.endpoints] == [
        ("2001:4860:4860::8888", 80, None),
        ("8.8.8.8", 80, None),
    ]


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "fd00::1",
        "::1",
        "100.64.0.1",
        "::ffff:10.0.0.1",
        "0.0.0.0",
        "64:ff9b::a00:1",
    ],
)
def test_an_external_name_leads_into_no_private_network(address: str) -> None:
    result = translated_external(external(), address, "8.8.8.8")
    assert [item.address for item in result.model.backends[0].endpoints] == ["8.8.8.8"]
    assert [finding.reason for finding in result.findings] == ["EndpointRefused"]
    assert len(translated_external(external(), address, local=True).model.backends[0].endpoints) == 1


@pytest.mark.parametrize("name", ["", "not a name", "a..b", "-x.test", "x" * 300, f"{'x' * 64}.test"])
def test_what_is_no_name_is_a_finding(name: str) -> None:
    result = translated_external(external(name))
    assert [finding.reason for finding in result.findings] == ["InvalidExternalName"]
    assert result.wanted.names == frozenset()
