"""Defines the kinds of Kubernetes objects that zonal reads, as small typed records with only the fields that it reads.

Does not know where objects come from, nor what a route is.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, ClassVar, get_args

import msgspec

from ingress.findings import Subject
from ingress.objects.endpoint_hints import read_hints
from ingress.objects.gateway import (
    BackendTlsPolicy,
    Gateway,
    GatewayClass,
    ListenerSet,
    Namespace,
    ReferenceGrant,
)
from ingress.objects.gateway_routes import GatewayRoute
from ingress.objects.metadata import CLUSTER_WIDE, ApiObject, Int32, Kind, Metadata, Wire
from ingress.objects.node_status import NodeSpec, NodeStatus
from ingress.objects.zone_policy import ZonePolicyObject

# What every kind has is defined below the kinds of Gateway API, and used everywhere together with the kinds.
__all__ = ("CLUSTER_WIDE", "Kind", "Metadata")


class ServicePortReference(Wire, frozen=True):
    """A port of a Service by name or by number. 0 and empty mean absent."""

    name: str = ""
    number: Int32 = 0


class ServiceReference(Wire, frozen=True):
    """A Service in the namespace of the Ingress."""

    name: str = ""
    port: ServicePortReference = ServicePortReference()


class ResourceReference(Wire, frozen=True):
    """An object of any kind: a backend that is not a Service, or the Pod of an endpoint."""

    kind: str = ""
    name: str = ""


class IngressBackend(Wire, frozen=True):
    """Where a path leads: exactly one of the two is set."""

    service: ServiceReference | None = None
    resource: ResourceReference | None = None


class IngressPath(Wire, frozen=True):
    """One path of a rule."""

    path: str = ""
    path_type: str | None = None
    backend: IngressBackend = IngressBackend()


class IngressHttp(Wire, frozen=True):
    """The paths of a rule."""

    paths: tuple[IngressPath, ...] = ()


class IngressRule(Wire, frozen=True):
    """A host and its paths. An empty host means every host."""

    host: str = ""
    http: IngressHttp | None = None


class IngressTls(Wire, frozen=True):
    """The hosts of a Secret's certificate. Without hosts, all hosts of the Ingress."""

    hosts: tuple[str, ...] = ()
    secret_name: str = ""


class IngressSpec(Wire, frozen=True):
    """networking.k8s.io/v1 IngressSpec."""

    ingress_class_name: str | None = None
    default_backend: IngressBackend | None = None
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTls, ...] = ()


class PublishedAddress(Wire, frozen=True, order=True):
    """An address where clients reach an Ingress (IngressLoadBalancerIngress): usually one of the two, rarely both."""

    ip: str = ""
    hostname: str = ""


class LoadBalancerStatus(Wire, frozen=True):
    """Every address of an Ingress."""

    ingress: tuple[PublishedAddress, ...] = ()


class IngressStatus(Wire, frozen=True):
    """networking.k8s.io/v1 IngressStatus. Routing does not depend on it."""

    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Ingress(ApiObject, frozen=True):
    """networking.k8s.io/v1 Ingress."""

    kind: ClassVar[Kind] = Kind.INGRESS
    spec: IngressSpec = IngressSpec()
    status: IngressStatus = IngressStatus()


class IngressClassSpec(Wire, frozen=True):
    """The controller of the Ingresses of a class."""

    controller: str = ""


class IngressClass(ApiObject, frozen=True):
    """networking.k8s.io/v1 IngressClass."""

    kind: ClassVar[Kind] = Kind.INGRESS_CLASS
    spec: IngressClassSpec = IngressClassSpec()


GATEWAY_ANNOTATION = "zonal-ingress.io/gateway"
"""Names, as namespace/name, the Gateway that a Service of ours was made for."""


class ServicePort(Wire, frozen=True):
    """A port of a Service; EndpointSlices carry the same name. `target_port` is a number, or the name of a port of
    pods.
    """

    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    name: str = ""
    protocol: str = "TCP"
    app_protocol: str = ""
    target_port: int | str = 0


class ServiceSpec(Wire, frozen=True):
    """v1 ServiceSpec.

    `topology_keys` may be anything in a document. Here they are texts. Kubernetes removed the field in 1.22.
    """

    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] = ()
    ip_families: tuple[str, ...] = ()
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    traffic_distribution: str = ""
    external_name: str = ""
    external_ips: tuple[str, ...] = msgspec.field(default=(), name="externalIPs")
    topology_keys: object = ()

    def __post_init__(self) -> None:
        """Reads the topology keys."""
        if self.topology_keys != ():
            msgspec.structs.force_setattr(self, "topology_keys", _texts(self.topology_keys))


def _texts(document: object) -> tuple[str, ...]:
    """The texts of a parsed list. Anything else becomes one empty text, which is no label."""
    items = tuple(document) if isinstance(document, (list, tuple)) else ("",)
    return items if all(isinstance(item, str) for item in items) else ("",)


class Service(ApiObject, frozen=True):
    """v1 Service. `status` has the shape of that of an Ingress, and counts only for Services of Gateways."""

    kind: ClassVar[Kind] = Kind.SERVICE
    spec: ServiceSpec = ServiceSpec()
    status: IngressStatus = IngressStatus()


class EndpointConditions(Wire, frozen=True):
    """None is nil. Nil means true for ready and serving, and false for terminating (discovery/v1)."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class SliceEndpoint(Wire, frozen=True):
    """One endpoint of a slice. Consumers must use only the first address (discovery/v1).

    `hints` may be anything in a document. Here it is an `EndpointHints` or None.
    """

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    node_name: str = ""
    zone: str = ""
    hints: object = None
    target_ref: ResourceReference | None = None

    def __post_init__(self) -> None:
        """Reads the hints."""
        if self.hints is not None:
            msgspec.structs.force_setattr(self, "hints", read_hints(self.hints))


class SlicePort(Wire, frozen=True):
    """A port on which every endpoint of the slice listens. None means all ports."""

    name: str = ""
    port: Int32 | None = None
    protocol: str = "TCP"


class EndpointSlice(ApiObject, frozen=True):
    """discovery.k8s.io/v1 EndpointSlice."""

    kind: ClassVar[Kind] = Kind.ENDPOINT_SLICE
    address_type: str = ""
    endpoints: tuple[SliceEndpoint, ...] = ()
    ports: tuple[SlicePort, ...] = ()


class Node(ApiObject, frozen=True):
    """v1 Node. `status` is None if only metadata was asked for, or if a manifest has none."""

    kind: ClassVar[Kind] = Kind.NODE
    status: NodeStatus | None = None
    spec: NodeSpec = NodeSpec()

    @property
    def leaving(self) -> bool:
        """Whether the Node is said to go away or to be lost: by its deletion, which finalizers delay, or by a taint."""
        return bool(self.spec.taints or self.metadata.deletion_timestamp)


class Secret(ApiObject, frozen=True):
    """v1 Secret. `string_data` is clear text in a manifest. It wins over `data`, as in the API."""

    kind: ClassVar[Kind] = Kind.SECRET
    data: dict[str, str] = msgspec.field(default_factory=dict)
    string_data: dict[str, str] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Secret(namespace={self.metadata.namespace!r}, name={self.metadata.name!r}, data=***)"

    def value(self, key: str) -> bytes | None:
        """The bytes under `key`; None if the key is missing or its value is not base64."""
        if key in self.string_data:
            return self.string_data[key].encode("utf-8", "replace")
        try:
            return base64.b64decode(re.sub(r"\s", "", self.data[key]), validate=True) if key in self.data else None
        except (binascii.Error, ValueError):
            return None


class ConfigMap(ApiObject, frozen=True):
    """v1 ConfigMap."""

    kind: ClassVar[Kind] = Kind.CONFIG_MAP
    data: dict[str, str] = msgspec.field(default_factory=dict)


GatewayObject = (
    Namespace
    | GatewayClass
    | Gateway
    | ListenerSet
    | GatewayRoute
    | ReferenceGrant
    | BackendTlsPolicy
    | ZonePolicyObject
)
OPTIONAL_KINDS: frozenset[Kind] = frozenset(record.kind for record in get_args(GatewayObject))
"""The kinds that Gateway API needs. A cluster may lack them, and without Gateways nobody follows them."""

KubernetesObject = Ingress | IngressClass | Service | EndpointSlice | Node | Secret | ConfigMap | GatewayObject


def subject_of(subject: KubernetesObject) -> Subject:
    """The subject of findings about this object."""
    return Subject(subject.kind.value, subject.metadata.namespace, subject.metadata.name)


def key_of(subject: KubernetesObject) -> tuple[str, str]:
    """Namespace and name, which identify an object among those of its kind."""
    return subject.metadata.namespace, subject.metadata.name
