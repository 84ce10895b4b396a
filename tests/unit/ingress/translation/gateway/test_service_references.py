"""References to Services, and why their requests cannot be served."""

from __future__ import annotations

import pytest

from ingress.objects.gateway_references import ServiceBackend
from ingress.objects.kinds import ServicePort
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.service_references import NamedPort, ServiceFinder
from ingress.translation.gateway.standings import Problem
from tests.unit.ingress.cluster import inventory, service
from tests.unit.ingress.translation.gateway.objects import grant

ROUTE = Referrer("HTTPRoute", "infra")


def finder(*, granted: bool = False, external: bool = False) -> ServiceFinder:
    known = inventory(
        service("web", namespace="infra"),
        service("names", ServicePort(53, "dns", "UDP"), namespace="infra"),
        service("ext", namespace="infra", kind="ExternalName"),
        service("web", namespace="shop"),
        *((grant(),) if granted else ()),
    )
    return ServiceFinder(known, Grants(known), allow_external=external)


def test_a_port_is_found_with_its_name() -> None:
    assert finder().find(ServiceBackend("web", port=80), ROUTE) == NamedPort("infra", "web", 80, "http")
    far = ServiceBackend("web", namespace="shop", port=80)
    assert finder(granted=True).find(far, ROUTE) == NamedPort("shop", "web", 80, "http")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (ServiceBackend("web", kind="Bucket", port=80), "InvalidKind"),
        (ServiceBackend("web", group="x", port=80), "InvalidKind"),
        (ServiceBackend("web", namespace="shop", port=80), "RefNotPermitted"),
        (ServiceBackend("nope", namespace="shop", port=80), "RefNotPermitted"),
        (ServiceBackend("nope", port=80), "BackendNotFound"),
        (ServiceBackend("web", port=81), "BackendNotFound"),
        (ServiceBackend("web"), "BackendNotFound"),
        (ServiceBackend("ext", port=80), "BackendNotFound"),
        (ServiceBackend("names", port=53), "UnsupportedProtocol"),
    ],
)
def test_why_a_reference_leads_nowhere(reference: ServiceBackend, reason: str) -> None:
    found = finder().find(reference, ROUTE)
    assert isinstance(found, Problem)
    assert found.reason == reason


def test_what_was_looked_for_is_known_and_what_was_not_allowed_was_not() -> None:
    searching = finder()
    searching.find(ServiceBackend("nope", port=80), ROUTE)
    searching.find(ServiceBackend("web", namespace="shop", port=80), ROUTE)
    assert searching.looked_for == {("infra", "nope")}


def test_the_operator_may_allow_names_outside() -> None:
    assert isinstance(finder(external=True).find(ServiceBackend("ext", port=80), ROUTE), NamedPort)
