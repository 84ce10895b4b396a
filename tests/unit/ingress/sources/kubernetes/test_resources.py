"""Paths and queries are those of the API."""

from __future__ import annotations

import pytest

from ingress.objects.kinds import CLUSTER_WIDE, Kind
from ingress.sources.kubernetes.resources import RESOURCES, Scope, path_of


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (Kind.INGRESS, "/apis/networking.k8s.io/v1/ingresses"),
        (Kind.INGRESS_CLASS, "/apis/networking.k8s.io/v1/ingressclasses"),
        (Kind.SERVICE, "/api/v1/services"),
        (Kind.ENDPOINT_SLICE, "/apis/discovery.k8s.io/v1/endpointslices"),
        (Kind.NODE, "/api/v1/nodes"),
        (Kind.SECRET, "/api/v1/secrets"),
        (Kind.CONFIG_MAP, "/api/v1/configmaps"),
        (Kind.NAMESPACE, "/api/v1/namespaces"),
        (Kind.GATEWAY_CLASS, "/apis/gateway.networking.k8s.io/v1/gatewayclasses"),
        (Kind.BACKEND_TLS_POLICY, "/apis/gateway.networking.k8s.io/v1/backendtlspolicies"),
    ],
)
def test_every_kind_has_its_collection(kind: Kind, path: str) -> None:
    assert path_of(kind) == path


def test_an_older_version_is_in_the_path() -> None:
    assert path_of(Kind.GATEWAY, "shop", version="v1beta1").endswith(".k8s.io/v1beta1/namespaces/shop/gateways")


def test_a_namespace_comes_before_the_plural() -> None:
    assert path_of(Kind.SECRET, "shop") == "/api/v1/namespaces/shop/secrets"
    assert path_of(Kind.INGRESS, "shop") == "/apis/networking.k8s.io/v1/namespaces/shop/ingresses"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind in CLUSTER_WIDE])
def test_a_kind_without_namespaces_is_not_asked_for_in_one(kind: Kind) -> None:
    with pytest.raises(ValueError, match=kind.value):
        path_of(kind, "shop")


def test_the_table_agrees_with_the_records() -> None:
    assert set(RESOURCES) == set(Kind)
    assert {kind for kind, resource in RESOURCES.items() if not resource.namespaced} == CLUSTER_WIDE


def test_the_first_page_of_a_list_may_come_from_memory_and_the_next_goes_on() -> None:
    scope = Scope(Kind.SERVICE)
    assert scope.list_query(anything=True) == {"limit": "500", "resourceVersion": "0"}
    assert scope.list_query() == {"limit": "500"}
    # A token carries its version; the API refuses both together.
    assert scope.list_query(token="t", anything=True) == {"limit": "500", "continue": "t"}


def test_a_watch_says_where_it_begins_and_when_it_ends() -> None:
    assert Scope(Kind.SERVICE).watch_query(version="7", seconds=300) == {
        "watch": "1",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }


def test_a_streaming_list_asks_for_initial_events_and_their_end() -> None:
    assert Scope(Kind.SERVICE).streaming_list_query(seconds=300) == {
        "watch": "1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }


def test_one_object_is_selected_by_its_name_in_list_and_watch() -> None:
    scope = Scope(Kind.CONFIG_MAP, "zonal", "settings")
    assert scope.path == "/api/v1/namespaces/zonal/configmaps"
    queries = (
        scope.list_query(),
        scope.watch_query(version="1", seconds=1),
        scope.streaming_list_query(seconds=1),
    )
    assert {query["fieldSelector"] for query in queries} == {"metadata.name=settings"}


def test_slices_of_no_service_are_not_asked_for() -> None:
    assert Scope(Kind.ENDPOINT_SLICE).list_query()["labelSelector"] == "kubernetes.io/service-name"
    assert "labelSelector" not in Scope(Kind.SERVICE).list_query()


def test_metadata_alone_is_asked_for_by_accept() -> None:
    nodes = Scope(Kind.NODE, metadata_only=True)
    assert nodes.list_accept == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    assert nodes.watch_accept == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert Scope(Kind.NODE).list_accept == Scope(Kind.NODE).watch_accept == "application/json"
