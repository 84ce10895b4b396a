"""A document becomes a record of its kind, or is refused with one sentence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.converting import ObjectError, decode, kind_of
from ingress.objects.kinds import (
    ConfigMap,
    EndpointSlice,
    Kind,
    Metadata,
    Node,
)
from ingress.objects.node_status import NodeStatus

VERSIONS = {
    "Ingress": "networking.k8s.io/v1",
    "IngressClass": "networking.k8s.io/v1",
    "Service": "v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "Node": "v1",
    "Secret": "v1",
    "ConfigMap": "v1",
    "Namespace": "v1",
    "GatewayClass": "gateway.networking.k8s.io/v1",
    "Gateway": "gateway.networking.k8s.io/v1",
    "ListenerSet": "gateway.networking.k8s.io/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
    "GRPCRoute": "gateway.networking.k8s.io/v1",
    "TLSRoute": "gateway.networking.k8s.io/v1",
    "TCPRoute": "gateway.networking.k8s.io/v1",
    "ReferenceGrant": "gateway.networking.k8s.io/v1",
    "BackendTLSPolicy": "gateway.networking.k8s.io/v1",
}


def document(kind: str, **fields: Any) -> dict[Any, Any]:
    return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": {"name": "x"}, **fields}


@pytest.mark.parametrize("kind", VERSIONS)
def test_every_kind_decodes_from_its_name_alone(kind: str) -> None:
    decoded = decode(document(kind))
    assert decoded is not None
    assert decoded.kind is Kind(kind)
    assert kind_of(document(kind)) is Kind(kind)


def test_unknown_fields_are_ignored() -> None:
    read = Node(Metadata("x"), NodeStatus())
    assert decode(document("Node", status={"images": [1, 2, 3]}, spec={"x": None})) == read


def test_null_lists_maps_and_fields_count_as_absent() -> None:
    item = decode(document("EndpointSlice", addressType=None, endpoints=None, ports=None))
    assert item == EndpointSlice(Metadata("x", "default"))
    labelled = decode(
        {**document("ConfigMap", data=None), "metadata": {"name": "x", "labels": None, "creationTimestamp": None}}
    )
    assert labelled == ConfigMap(Metadata("x", "default"))


def test_a_namespaced_object_is_in_default_and_a_cluster_wide_one_nowhere() -> None:
    placed = {"metadata": {"name": "x", "namespace": "shop"}}
    assert decode(document("Service")).metadata.namespace == "default"  # type: ignore[union-attr]
    assert decode({**document("Service"), **placed}).metadata.namespace == "shop"  # type: ignore[union-attr]
    assert decode({**document("Node"), **placed}).metadata.namespace == ""  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "other",
    [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}},
        {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "x"}},
    ],
)
def test_other_kinds_are_none_of_ours(other: dict[Any, Any]) -> None:
    assert decode(other) is None
    assert kind_of(other) is None


@pytest.mark.parametrize(
    ("malformed", "sentence"),
    [
        ({"a": 1}, "give apiVersion and kind"),
        ({"apiVersion": 1, "kind": []}, "give apiVersion and kind"),
        ({"apiVersion": "networking.k8s.io/v1beta1", "kind": "Ingress"}, "write it as networking.k8s.io/v1"),
        ({"apiVersion": "v1", "kind": "Service"}, "metadata"),
        (document("ConfigMap", data={"zone-aware-routing": True}), "put it in quotes"),
        (document("Service", spec={"ports": [{"port": "80"}]}), r"\$\.spec\.ports\[0\]\.port"),
        ({**document("Service"), "metadata": {"name": "a/b"}}, "metadata.name"),
        ({**document("Service"), "metadata": {"name": "a", "namespace": "A"}}, "metadata.namespace"),
        (document("Service", spec={"ports": [{"port": 0}]}), r"\$\.spec\.ports\[0\]\.port"),
        (document("Service", spec={"ports": [{"port": 65536}]}), r"\$\.spec\.ports\[0\]\.port"),
        (document("Service", spec={"ports": [{"port": 10**6000}]}), r"\$\.spec\.ports\[0\]\.port"),
        (document("EndpointSlice", ports=[{"port": -(10**6000)}]), r"\$\.ports\[0\]\.port"),
        (document("Ingress", spec={"defaultBackend": {"service": {"port": {"number": 2**31}}}}), "number"),
        ({**document("ConfigMap"), "\ud800": "a"}, "lone surrogates"),
        (document("Ingress", spec=[]), "Ingress is malformed"),
    ],
)
def test_a_malformed_object_is_refused_with_one_sentence(malformed: dict[Any, Any], sentence: str) -> None:
    with pytest.raises(ObjectError, match=sentence) as refused:
        decode(malformed)
    assert "\n" not in str(refused.value)


def test_a_document_that_holds_itself_is_decoded_or_refused() -> None:
    loop: dict[Any, Any] = document("ConfigMap")
    loop["other"] = loop
    assert decode(loop) == ConfigMap(Metadata("x", "default"))
    loop["data"] = loop
    with pytest.raises(ObjectError):
        decode(loop)


def test_a_document_that_is_nested_too_deeply_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ObjectError, match="nested too deeply"):
        decode(document("ConfigMap", other=deep))


def test_a_document_of_shared_nodes_costs_its_nodes_and_not_its_size_on_paper() -> None:
    laugh: list[Any] = ["ha"]
    for _ in range(100):
        laugh = [laugh, laugh]
    assert decode(document("ConfigMap", other=laugh)) is not None


def test_the_error_of_a_secret_does_not_quote_it() -> None:
    with pytest.raises(ObjectError) as refused:
        decode(document("Secret", data={"hunter-key": {"hunter": "value"}}))
    assert "hunter" not in str(refused.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**4000, -(10**4000), "\ud800", "\0", b"\xff", {"a"}, ("a",), {1: "a"}, {b"a": {}}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    kind=st.sampled_from(sorted(VERSIONS)),
    fields=st.dictionaries(
        st.sampled_from(["spec", "data", "metadata", "endpoints", "ports", "addressType", "stringData"]), JSON
    ),
)
def test_no_document_raises_anything_but_object_error(kind: str, fields: dict[str, Any]) -> None:
    try:
        decoded = decode({**document(kind), **fields})
    except ObjectError as refused:
        assert str(refused)
    else:
        assert decoded is not None
        assert decoded.kind is Kind(kind)
