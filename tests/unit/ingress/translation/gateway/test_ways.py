"""Policies say how endpoints are spoken to, or close them."""

from __future__ import annotations

from typing import Any

import trustme

from balancer.model.endpoints import EndpointTls
from ingress.objects.kinds import ConfigMap, Metadata, Secret
from ingress.translation.gateway.ways import CHAIN_MOST, ways_of
from tests.unit.ingress.cluster import service, tls_secret
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, policy, read_all

LEAF = trustme.CA().issue_cert("me.test")
ME = tls_secret("me", LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes(), namespace="infra")
CA = ConfigMap(Metadata("ca", "infra"), {"ca.crt": trustme.CA().cert_pem.bytes().decode()})


def way(tls: dict[str, Any] | None = None, *others: Secret, **said: Any) -> EndpointTls | None:
    item = gateway(tls=tls) if tls is not None else gateway()
    found = read_all(item, http_route(), service("web", namespace="infra"), policy(**said), CA, *others)
    (made,) = ways_of(found, ("infra", "gw")).values()
    return made


def test_a_policy_verifies_its_hostname_by_its_authorities() -> None:
    expected = EndpointTls(verify=True, server_name="a.test", authority="configmaps/infra/ca", intermediates=CHAIN_MOST)
    assert way() == expected
    system = way(caCertificateRefs=[], wellKnownCACertificates="System")
    assert system == EndpointTls(verify=True, server_name="a.test", intermediates=CHAIN_MOST)


def test_one_of_the_names_that_a_policy_says_is_enough() -> None:
    names = [{"type": "URI", "uri": "spiffe://a"}, {"type": "Hostname", "hostname": "b.test"}]
    found = way(subjectAltNames=names)
    assert found is not None
    assert (found.server_name, found.names) == ("a.test", ("spiffe://a", "b.test"))


def test_a_gateway_shows_its_certificate_where_a_policy_wants_tls() -> None:
    found = way({"backend": {"clientCertificateRef": {"name": "me"}}}, ME)
    assert found is not None
    assert found.client_certificate == "infra/me"


def test_what_cannot_be_carried_out_is_closed() -> None:
    assert way(caCertificateRefs=[{"group": "", "kind": "ConfigMap", "name": "none"}]) is None
    assert way({"backend": {"clientCertificateRef": {"name": "me"}}}) is None


def test_ports_without_a_policy_are_left_out() -> None:
    found = read_all(gateway(), http_route(), service("web", namespace="infra"))
    assert ways_of(found, ("infra", "gw")) == {}
