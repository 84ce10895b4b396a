"""Documents become records of what we read, or one clear sentence."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ingress.findings import Subject
from ingress.objects.converting import decode
from ingress.objects.endpoint_hints import EndpointHints
from ingress.objects.kinds import (
    CLUSTER_WIDE,
    OPTIONAL_KINDS,
    EndpointConditions,
    EndpointSlice,
    Ingress,
    IngressClass,
    Kind,
    Metadata,
    Node,
    Secret,
    Service,
    ServicePort,
    key_of,
    subject_of,
)
from ingress.objects.node_status import LEAVING_TAINTS, Allocatable, NodeCondition, NodeSpec, NodeStatus, NodeTaint

VERSIONS = {
    "Ingress": "networking.k8s.io/v1",
    "IngressClass": "networking.k8s.io/v1",
    "Service": "v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "Node": "v1",
    "Secret": "v1",
    "ConfigMap": "v1",
}


def document(kind: str, **fields: Any) -> dict[Any, Any]:
    return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": {"name": "x"}, **fields}


def test_an_ingress_is_read_with_every_field() -> None:
    decoded = decode(
        document(
            "Ingress",
            spec={
                "ingressClassName": "zonal",
                "defaultBackend": {"service": {"name": "d", "port": {"number": 1}}},
                "tls": [{"hosts": ["a.test"], "secretName": "t"}],
                "rules": [
                    {
                        "host": "a.test",
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "s", "port": {"name": "http"}}},
                                }
                            ]
                        },
                    }
                ],
            },
        )
    )
    assert isinstance(decoded, Ingress)
    path = decoded.spec.rules[0].http.paths[0]  # type: ignore[union-attr]
    assert (path.path, path.path_type) == ("/", "Prefix")
    assert path.backend.service is not None
    assert path.backend.service.port.name == "http"
    assert decoded.spec.ingress_class_name == "zonal"
    assert decoded.spec.tls[0].secret_name == "t"


def test_a_service_a_slice_and_a_class_are_read() -> None:
    service = decode(document("Service", spec={"ports": [{"port": 80, "name": "http"}], "ipFamilies": ["IPv6"]}))
    assert isinstance(service, Service)
    assert service.spec.ports == (ServicePort(80, "http"),)
    assert service.spec.ip_families == ("IPv6",)
    item = decode(
        document(
            "EndpointSlice",
            addressType="IPv4",
            endpoints=[{"addresses": ["10.0.0.1"], "conditions": {"ready": False}, "nodeName": "n", "zone": "z"}],
            ports=[{"name": "http", "port": 8080}],
        )
    )
    assert isinstance(item, EndpointSlice)
    assert item.endpoints[0].conditions == EndpointConditions(ready=False)
    assert (item.endpoints[0].node_name, item.endpoints[0].zone) == ("n", "z")
    ours = decode(document("IngressClass", spec={"controller": "c"}))
    assert isinstance(ours, IngressClass)
    assert ours.spec.controller == "c"


def test_a_node_is_read_with_what_it_says_of_itself_and_without() -> None:
    status = {"allocatable": {"cpu": "3920m", "memory": "1Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}
    node, outline = decode(document("Node", status=status)), decode(document("Node"))
    assert isinstance(node, Node)
    assert isinstance(outline, Node)
    assert node.status == NodeStatus((NodeCondition("Ready", "True"),), Allocatable("3920m"))
    assert outline.status is None


@pytest.mark.parametrize("taint", sorted(LEAVING_TAINTS))
def test_a_node_goes_away_if_a_taint_says_so(taint: str) -> None:
    others = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    said = [*others, {"key": taint, "effect": "NoExecute", "timeAdded": "2027-01-31T18:00:00Z"}]
    node = decode(document("Node", spec={"taints": said, "providerID": "x"}))
    other = decode(document("Node", spec={"taints": others}))
    assert isinstance(node, Node)
    assert isinstance(other, Node)
    assert (node.leaving, node.spec) == (True, NodeSpec((NodeTaint(taint),)))
    assert (other.leaving, other.spec) == (False, NodeSpec()), "a taint that says nothing of it is no news"


def test_a_node_goes_away_if_it_is_deleted() -> None:
    whole = document("Node")
    whole["metadata"]["deletionTimestamp"] = "2027-01-31T18:00:00Z"
    node = decode(whole)
    assert isinstance(node, Node)
    assert node.leaving


def test_hints_and_what_asks_for_them_are_read() -> None:
    hints = [{"forZones": [{"name": "zone-a"}], "forNodes": [{"name": "node-1"}]}, {"forZones": "zone-a"}, None]
    item = decode(document("EndpointSlice", endpoints=[{"addresses": ["10.0.0.1"], "hints": each} for each in hints]))
    assert isinstance(item, EndpointSlice)
    assert [endpoint.hints for endpoint in item.endpoints] == [
        EndpointHints(("zone-a",), ("node-1",)),
        EndpointHints(malformed=True),
        None,
    ]
    service = decode(document("Service", spec={"trafficDistribution": "PreferSameZone"}))
    assert isinstance(service, Service)
    assert service.spec.traffic_distribution == "PreferSameZone"


def test_a_secret_gives_bytes_and_never_shows_them() -> None:
    encoded = base64.b64encode(b"hunter2").decode()
    secret = decode(document("Secret", data={"a": encoded, "b": "%"}, stringData={"c": "clear", "a2": "x"}))
    assert isinstance(secret, Secret)
    assert secret.value("a") == b"hunter2"
    assert secret.value("b") is None
    assert secret.value("c") == b"clear"
    assert secret.value("missing") is None
    assert encoded not in repr(secret)
    assert "clear" not in repr(secret)


def test_base64_may_be_broken_into_lines() -> None:
    text = base64.b64encode(b"x" * 100).decode()
    assert Secret(Metadata("x"), {"a": text[:50] + "\n  " + text[50:]}).value("a") == b"x" * 100


def test_what_an_object_is_called() -> None:
    node = Node(Metadata("n"))
    assert key_of(node) == ("", "n")
    assert subject_of(node) == Subject("Node", "", "n")


def test_what_ingress_needs_is_not_optional() -> None:
    assert Kind.INGRESS not in OPTIONAL_KINDS
    assert {Kind.NAMESPACE, Kind.GATEWAY_CLASS} == OPTIONAL_KINDS & CLUSTER_WIDE
    assert len(OPTIONAL_KINDS) == 12
