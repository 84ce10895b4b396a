"""Policies say how endpoints are spoken to, or close them."""

from __future__ import annotations

from typing import Any

import trustme

from balancer.model.endpoints import EndpointTls
from ingress.objects.kinds import ConfigMap, Metadata
from ingress.translation.gateway.ways import ways_of
from tests.unit.ingress.cluster import service
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, policy, read_all

CA = ConfigMap(Metadata("ca", "infra"), {"ca.crt": trustme.CA().cert_pem.bytes().decode()})


def way(tls: dict[str, Any] | None = None, **said: Any) -> EndpointTls | None:
    item = gateway(tls=tls) if tls is not None else gateway()
    found = read_all(item, http_route(), service("web", namespace="infra"), policy(**said), CA)
    (made,) = ways_of(found, ("infra", "gw")).values()
    return made


def test_a_policy_verifies_its_hostname_by_its_authorities() -> None:
    assert way() == EndpointTls(verify=True, server_name="a.test", authority="configmaps/infra/ca")
    system = way(caCertificateRefs=[], wellKnownCACertificates="System")
    assert system == EndpointTls(verify=True, server_name="a.test")


def test_what_cannot_be_carried_out_is_closed() -> None:
    assert way(caCertificateRefs=[{"group": "", "kind": "ConfigMap", "name": "none"}]) is None
    assert way(subjectAltNames=[{"type": "URI", "uri": "spiffe://a"}]) is None
    assert way({"backend": {"clientCertificateRef": {"name": "me"}}}) is None


def test_ports_without_a_policy_are_left_out() -> None:
    found = read_all(gateway(), http_route(), service("web", namespace="infra"))
    assert ways_of(found, ("infra", "gw")) == {}
