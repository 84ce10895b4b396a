"""Knows the paths of each kind in the API, and the queries of lists and watches.

Does not know how requests are sent, nor what they return.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.objects.kinds import Kind
from ingress.objects.zone_policy import ZONE_POLICY_GROUP, ZONE_POLICY_VERSION

SERVICE_NAME_LABEL: Final = "kubernetes.io/service-name"
"""The label that ties an EndpointSlice to its Service (discovery/v1). Slices without it belong to no Service."""

PAGE_ITEMS: Final = 500
"""The page size of client-go's pager."""


class Resource(msgspec.Struct, frozen=True):
    """How the API names a kind in paths and RBAC rules; `group` is empty for the legacy API."""

    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def prefix(self) -> str:
        """The path of the API group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


RESOURCES: Final[Mapping[Kind, Resource]] = {
    Kind.INGRESS: Resource("networking.k8s.io", "v1", "ingresses"),
    Kind.INGRESS_CLASS: Resource("networking.k8s.io", "v1", "ingressclasses", namespaced=False),
    Kind.SERVICE: Resource("", "v1", "services"),
    Kind.ENDPOINT_SLICE: Resource("discovery.k8s.io", "v1", "endpointslices"),
    Kind.NODE: Resource("", "v1", "nodes", namespaced=False),
    Kind.SECRET: Resource("", "v1", "secrets"),
    Kind.CONFIG_MAP: Resource("", "v1", "configmaps"),
    Kind.NAMESPACE: Resource("", "v1", "namespaces", namespaced=False),
    Kind.GATEWAY_CLASS: Resource(GATEWAY_GROUP, "v1", "gatewayclasses", namespaced=False),
    Kind.GATEWAY: Resource(GATEWAY_GROUP, "v1", "gateways"),
    Kind.LISTENER_SET: Resource(GATEWAY_GROUP, "v1", "listenersets"),
    Kind.HTTP_ROUTE: Resource(GATEWAY_GROUP, "v1", "httproutes"),
    Kind.GRPC_ROUTE: Resource(GATEWAY_GROUP, "v1", "grpcroutes"),
    Kind.TLS_ROUTE: Resource(GATEWAY_GROUP, "v1", "tlsroutes"),
    Kind.TCP_ROUTE: Resource(GATEWAY_GROUP, "v1", "tcproutes"),
    Kind.UDP_ROUTE: Resource(GATEWAY_GROUP, "v1", "udproutes"),
    Kind.REFERENCE_GRANT: Resource(GATEWAY_GROUP, "v1", "referencegrants"),
    Kind.BACKEND_TLS_POLICY: Resource(GATEWAY_GROUP, "v1", "backendtlspolicies"),
    Kind.ZONE_POLICY: Resource(ZONE_POLICY_GROUP, ZONE_POLICY_VERSION, "zonepolicies"),
}
"""Every kind that zonal reads."""


def path_of(kind: Kind, namespace: str = "", *, version: str = "") -> str:
    """The path of the collection of a kind; without a namespace, that of the whole cluster.

    `version` is empty for that of `RESOURCES`.

    Raises ValueError for a namespace of a cluster-wide kind.
    """
    resource = RESOURCES[kind]
    if version:
        resource = msgspec.structs.replace(resource, version=version)
    if namespace and not resource.namespaced:
        raise ValueError(f"{kind.value} has no namespace")
    place = f"namespaces/{namespace}/" if namespace else ""
    return f"{resource.prefix}/{place}{resource.plural}"


class Scope(msgspec.Struct, frozen=True):
    """What one reflector follows: a kind, in all namespaces or one, all objects or one.

    With `metadata_only` the API server sends neither spec nor status (PartialObjectMetadata, meta/v1).
    """

    kind: Kind
    namespace: str = ""
    name: str = ""
    metadata_only: bool = False

    @property
    def path(self) -> str:
        """The path of list and watch."""
        return path_of(self.kind, self.namespace)

    @property
    def list_accept(self) -> str:
        """The Accept field of a list."""
        return _partial("PartialObjectMetadataList") if self.metadata_only else "application/json"

    @property
    def watch_accept(self) -> str:
        """The Accept field of a watch, whose events carry single objects."""
        return _partial("PartialObjectMetadata") if self.metadata_only else "application/json"

    def list_query(self, *, token: str = "", anything: bool = False) -> dict[str, str]:
        """The query for a page of a list: the first page, or the page of a continue `token`.

        With `anything` the first page may be any state that the API server has in memory (`resourceVersion=0`).
        Otherwise it is the newest state.
        """
        query = {**self._selectors, "limit": str(PAGE_ITEMS)}
        if token:
            query["continue"] = token
        elif anything:
            query["resourceVersion"] = "0"
        return query

    def watch_query(self, *, version: str, seconds: int) -> dict[str, str]:
        """The query for the changes after a version. The API server ends the watch after `seconds`."""
        return {
            **self._selectors,
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }

    def streaming_list_query(self, *, seconds: int) -> dict[str, str]:
        """The query for the present state as events up to a bookmark, and the changes after it (KEP-3157)."""
        return {
            **self._selectors,
            "watch": "1",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }

    @property
    def _selectors(self) -> dict[str, str]:
        selectors = {"fieldSelector": f"metadata.name={self.name}"} if self.name else {}
        if self.kind is Kind.ENDPOINT_SLICE:
            selectors["labelSelector"] = SERVICE_NAME_LABEL
        return selectors


def _partial(kind: str) -> str:
    return f"application/json;as={kind};g=meta.k8s.io;v=v1"
