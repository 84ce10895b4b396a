"""Gateways, their classes, ListenerSets, grants and policies become records with the defaults of the CRDs."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.objects.converting import ObjectError, decode
from ingress.objects.gateway import (
    BackendTlsPolicy,
    Gateway,
    GatewayClass,
    ListenerSet,
    ListenerTlsSpec,
    ReferenceGrant,
)
from ingress.objects.metadata import Kind


def read(kind: str, spec: object, version: str = "v1") -> Any:
    document = {"apiVersion": f"gateway.networking.k8s.io/{version}", "kind": kind, "metadata": {"name": "x"}}
    return decode({**document, "spec": spec})


def test_a_gateway_has_the_defaults_of_the_api_server() -> None:
    listener = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert"}]}}
    read_gateway = read("Gateway", {"gatewayClassName": "zonal", "listeners": [listener], "addresses": [{}]})
    assert isinstance(read_gateway, Gateway)
    found = read_gateway.spec.listeners[0]
    assert found.allowed_routes.namespaces.source == "Same"
    assert isinstance(found.tls, ListenerTlsSpec)
    assert (found.tls.mode, found.tls.certificate_refs[0].kind) == ("Terminate", "Secret")
    assert read_gateway.spec.allowed_listeners.namespaces.source == "None"
    assert read_gateway.spec.addresses[0].type == "IPAddress"


def test_words_that_are_unknown_are_kept_for_the_status() -> None:
    listener = {"name": "odd", "port": 1, "protocol": "example.com/quic", "allowedRoutes": {"kinds": [{"kind": "X"}]}}
    found = read("Gateway", {"listeners": [listener]}).spec.listeners[0]
    assert found.protocol == "example.com/quic"
    assert found.allowed_routes.kinds[0].group == "gateway.networking.k8s.io"


def test_from_is_read_where_it_is_a_namespace_and_where_it_is_a_list() -> None:
    allowed = {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"a": "b"}}}}
    gateway = read("Gateway", {"listeners": [{"allowedRoutes": allowed}], "allowedListeners": {"namespaces": {}}})
    assert gateway.spec.listeners[0].allowed_routes.namespaces.source == "Selector"
    grant = read(
        "ReferenceGrant", {"from": [{"group": "g", "kind": "k", "namespace": "n"}], "to": [{"kind": "Secret"}]}
    )
    assert isinstance(grant, ReferenceGrant)
    assert (grant.spec.sources[0].namespace, grant.spec.to[0].name) == ("n", "")


def test_a_listener_set_names_a_gateway_unless_it_says_otherwise() -> None:
    found = read("ListenerSet", {"parentRef": {"name": "gw"}})
    assert isinstance(found, ListenerSet)
    assert (found.spec.parent_ref.kind, found.spec.parent_ref.group) == ("Gateway", "gateway.networking.k8s.io")


def test_a_policy_of_a_backend_is_read_with_every_name() -> None:
    validation = {
        "hostname": "a.test",
        "wellKnownCACertificates": "System",
        "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}],
        "subjectAltNames": [{"type": "URI", "uri": "spiffe://a"}],
    }
    found = read("BackendTLSPolicy", {"targetRefs": [{"kind": "Service", "name": "s"}], "validation": validation})
    assert isinstance(found, BackendTlsPolicy)
    assert found.spec.validation.well_known_ca_certificates == "System"
    assert found.spec.validation.ca_certificate_refs[0].name == "ca"
    assert found.spec.validation.subject_alt_names[0].uri == "spiffe://a"


def test_a_class_has_no_namespace_and_may_be_of_an_older_version() -> None:
    found = read("GatewayClass", {"controllerName": "c"}, "v1beta1")
    assert isinstance(found, GatewayClass)
    assert (found.kind, found.metadata.namespace) == (Kind.GATEWAY_CLASS, "")


def test_a_spec_of_another_type_is_one_unreadable_object() -> None:
    with pytest.raises(ObjectError, match="Gateway is malformed"):
        read("Gateway", "nonsense")
