"""The resources that the test API server serves, and what is particular about each.

Responsible for names, scopes and the empty shape of each kind, as a table. It must not know objects or requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]
"""A JSON object of Kubernetes, whose fields are the API's affair."""

_NODE_STATUS: Document = {
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    "nodeInfo": dict.fromkeys(
        (
            "machineID",
            "systemUUID",
            "bootID",
            "kernelVersion",
            "osImage",
            "containerRuntimeVersion",
            "kubeletVersion",
            "kubeProxyVersion",
            "operatingSystem",
            "architecture",
        ),
        "",
    ),
}


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of the API. `empty` is what the server writes of a kind without content, as in a bookmark."""

    group: str
    version: str
    plural: str
    kind: str
    short_names: tuple[str, ...] = ()
    is_namespaced: bool = True
    has_status: bool = False
    has_generation: bool = False
    delete_returns_object: bool = False
    needs_version_to_update: bool = False
    creates_on_update: bool = False
    empty: Document = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The plural as the API's messages write it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


_NETWORKING = "networking.k8s.io"
_BALANCED: Document = {"spec": {}, "status": {"loadBalancer": {}}}

CORE_EVENT = Resource("", "v1", "events", "Event", ("ev",), creates_on_update=True)
EVENT = Resource("events.k8s.io", "v1", "events", "Event", ("ev",), creates_on_update=True)

RESOURCES = (
    Resource("", "v1", "configmaps", "ConfigMap", ("cm",)),
    CORE_EVENT,
    Resource("", "v1", "namespaces", "Namespace", ("ns",), is_namespaced=False, has_status=True),
    Resource(
        "",
        "v1",
        "nodes",
        "Node",
        ("no",),
        is_namespaced=False,
        has_status=True,
        empty={"spec": {}, "status": _NODE_STATUS},
    ),
    Resource(
        "",
        "v1",
        "pods",
        "Pod",
        ("po",),
        has_status=True,
        has_generation=True,
        delete_returns_object=True,
        empty={"spec": {"containers": None}, "status": {}},
    ),
    Resource("", "v1", "secrets", "Secret"),
    Resource(
        "",
        "v1",
        "services",
        "Service",
        ("svc",),
        has_status=True,
        delete_returns_object=True,
        creates_on_update=True,
        empty=_BALANCED,
    ),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        ("crd",),
        is_namespaced=False,
        has_status=True,
        has_generation=True,
        empty={"spec": {}},
    ),
    Resource("apps", "v1", "daemonsets", "DaemonSet", ("ds",), has_status=True, has_generation=True),
    Resource("apps", "v1", "deployments", "Deployment", ("deploy",), has_status=True, has_generation=True),
    Resource("apps", "v1", "statefulsets", "StatefulSet", ("sts",), has_status=True, has_generation=True),
    Resource(
        "coordination.k8s.io",
        "v1",
        "leases",
        "Lease",
        needs_version_to_update=True,
        creates_on_update=True,
        empty={"spec": {}},
    ),
    Resource(
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        "EndpointSlice",
        has_generation=True,
        empty={"addressType": "", "endpoints": None, "ports": None},
    ),
    EVENT,
    Resource(
        _NETWORKING, "v1", "ingresses", "Ingress", ("ing",), has_status=True, has_generation=True, empty=_BALANCED
    ),
    Resource(
        _NETWORKING,
        "v1",
        "ingressclasses",
        "IngressClass",
        is_namespaced=False,
        has_generation=True,
        empty={"spec": {}},
    ),
)
"""Every resource. Both resources of Events show one store, in which they lie as of events.k8s.io."""

GATEWAY_GROUP = "gateway.networking.k8s.io"
_GATEWAY_KINDS = {
    "GatewayClass": "gatewayclasses",
    "Gateway": "gateways",
    "ListenerSet": "listenersets",
    "HTTPRoute": "httproutes",
    "GRPCRoute": "grpcroutes",
    "TLSRoute": "tlsroutes",
    "TCPRoute": "tcproutes",
    "UDPRoute": "udproutes",
    "ReferenceGrant": "referencegrants",
    "BackendTLSPolicy": "backendtlspolicies",
}

CUSTOM_RESOURCES = (
    *(
        Resource(
            GATEWAY_GROUP,
            version,
            plural,
            kind,
            is_namespaced=kind != "GatewayClass",
            has_status=True,
            has_generation=True,
        )
        for version in ("v1beta1", "v1")
        for kind, plural in _GATEWAY_KINDS.items()
    ),
    Resource("zonal-ingress.io", "v1alpha1", "zonepolicies", "ZonePolicy", has_status=True, has_generation=True),
)
"""Resources that are served only if a test says so. All versions of a kind show one store."""

CUSTOM_GROUPS = frozenset(resource.group for resource in CUSTOM_RESOURCES)

BY_PATH = {
    (resource.group, resource.version, resource.plural): resource for resource in (*RESOURCES, *CUSTOM_RESOURCES)
}
BY_KIND = {resource.kind: resource for resource in (*RESOURCES, *CUSTOM_RESOURCES) if resource is not CORE_EVENT}
KINDS = tuple(BY_KIND)
