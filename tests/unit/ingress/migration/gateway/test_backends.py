"""Backends become backendRefs, and TLS to endpoints BackendTLSPolicies."""

from __future__ import annotations

import pytest

from ingress.migration.gateway.backends import BackendProblem, ServicePorts, TlsPolicies
from ingress.objects.kinds import (
    IngressBackend,
    Metadata,
    Secret,
    ServicePort,
    ServicePortReference,
    ServiceReference,
)
from ingress.settings.table.endpoint_tls import EndpointScheme, EndpointTlsOptions
from tests.unit.ingress.cluster import inventory, service

TLS = EndpointTlsOptions(EndpointScheme.HTTPS, "shop/ca", verify=True, name="web.shop")


def backend(name: str = "web", *, number: int = 0, port: str = "") -> IngressBackend:
    return IngressBackend(ServiceReference(name, ServicePortReference(name=port, number=number)))


def test_a_port_by_name_has_the_number_of_the_service() -> None:
    ports = ServicePorts(inventory(service("web", ServicePort(8080, "http"), namespace="shop")))
    assert ports.reference("shop", backend(port="http")) == {"name": "web", "port": 8080}
    assert ports.reference("shop", backend(number=80)) == {"name": "web", "port": 80}


@pytest.mark.parametrize("said", [backend(port="http"), IngressBackend()])
def test_a_backend_without_a_number_is_a_problem(said: IngressBackend) -> None:
    with pytest.raises(BackendProblem):
        ServicePorts(inventory()).reference("shop", said)


def test_a_verified_service_has_a_policy_with_its_authority() -> None:
    policies = TlsPolicies(inventory(Secret(Metadata("ca", "shop"), string_data={"ca.crt": "PEM"})))
    policies.protect("shop", "web", TLS)
    authority, policy = policies.documents()
    assert authority["data"] == {"ca.crt": "PEM"}
    validation = policy["spec"]["validation"]
    assert validation["hostname"] == "web.shop"
    assert validation["caCertificateRefs"] == [{"group": "", "kind": "ConfigMap", "name": "web-authority"}]


@pytest.mark.parametrize(
    "said",
    [
        EndpointTlsOptions(EndpointScheme.HTTPS),
        EndpointTlsOptions(EndpointScheme.HTTPS, verify=True),
        EndpointTlsOptions(EndpointScheme.HTTPS, "shop/none", verify=True, name="web.shop"),
    ],
)
def test_what_nobody_verifies_or_nobody_has_is_a_problem(said: EndpointTlsOptions) -> None:
    policies = TlsPolicies(inventory())
    with pytest.raises(BackendProblem):
        policies.protect("shop", "web", said)
    assert policies.documents() == []


def test_the_certificate_of_the_secret_is_one_for_all_services() -> None:
    both = {"ca.crt": "PEM", "tls.crt": "PEM", "tls.key": "KEY"}
    policies = TlsPolicies(
        inventory(Secret(Metadata("ca", "shop"), string_data=both), Secret(Metadata("other", "shop"), string_data=both))
    )
    policies.protect("shop", "web", TLS)
    policies.protect("shop", "api", TLS)
    assert policies.client_certificate == ("shop", "ca")
    with pytest.raises(BackendProblem, match="it is that of shop/ca"):
        policies.protect("shop", "third", EndpointTlsOptions(EndpointScheme.HTTPS, "shop/other", verify=True, name="a"))
    assert len(policies.documents()) == 4


def test_an_authority_alone_is_shown_to_nobody() -> None:
    policies = TlsPolicies(inventory(Secret(Metadata("ca", "shop"), string_data={"ca.crt": "PEM"})))
    policies.protect("shop", "web", TLS)
    assert policies.client_certificate is None


def test_a_secret_that_the_check_supposes_is_nobodys_authority() -> None:
    supposed = inventory(Secret(Metadata("ca", "shop"), string_data={"ca.crt": "PEM", "tls.crt": "PEM"}))
    policies = TlsPolicies(supposed, knows_secrets=False)
    with pytest.raises(BackendProblem, match="is not in the dump"):
        policies.protect("shop", "web", TLS)
    assert policies.client_certificate is None
