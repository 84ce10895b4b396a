"""Defines the kinds of Kubernetes objects that zonal reads, as small typed records.

Turns a parsed document into a record with only the fields that zonal reads: unknown fields are ignored, null counts as
absent, and a malformed object is refused with one clear sentence. Does not know where documents come from, nor what a
route is.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, ClassVar

import msgspec

from ingress.findings import Subject
from ingress.objects.endpoint_hints import read_hints
from ingress.objects.names import LABEL, SUBDOMAIN
from ingress.objects.node_status import NodeStatus


class ObjectError(ValueError):
    """A document is not a valid object of its kind. The text is one sentence that says what to change."""


class Kind(Enum):
    """The kinds that zonal reads. The value is Kubernetes' name of the kind."""

    INGRESS = "Ingress"
    INGRESS_CLASS = "IngressClass"
    SERVICE = "Service"
    ENDPOINT_SLICE = "EndpointSlice"
    NODE = "Node"
    SECRET = "Secret"
    CONFIG_MAP = "ConfigMap"


CLUSTER_WIDE = frozenset({Kind.INGRESS_CLASS, Kind.NODE})
"""Kinds without a namespace."""


# The API's int32. Without a bound a number may be too long to be written as text.
_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class _Wire(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Fields are named in snake case here and in camel case on the wire."""


class Metadata(_Wire, frozen=True):
    """ObjectMeta. `sequence` is the place of the object in a manifest folder; 0 if the cluster dates objects."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    sequence: int = 0


class ServicePortReference(_Wire, frozen=True):
    """A port of a Service by name or by number. 0 and empty mean absent."""

    name: str = ""
    number: _Int32 = 0


class ServiceReference(_Wire, frozen=True):
    """A Service in the namespace of the Ingress."""

    name: str = ""
    port: ServicePortReference = ServicePortReference()


class ResourceReference(_Wire, frozen=True):
    """An object of any kind: a backend that is not a Service, or the Pod of an endpoint."""

    kind: str = ""
    name: str = ""


class IngressBackend(_Wire, frozen=True):
    """Where a path leads: exactly one of the two is set."""

    service: ServiceReference | None = None
    resource: ResourceReference | None = None


class IngressPath(_Wire, frozen=True):
    """One path of a rule."""

    path: str = ""
    path_type: str | None = None
    backend: IngressBackend = IngressBackend()


class IngressHttp(_Wire, frozen=True):
    """The paths of a rule."""

    paths: tuple[IngressPath, ...] = ()


class IngressRule(_Wire, frozen=True):
    """A host and its paths. An empty host means every host."""

    host: str = ""
    http: IngressHttp | None = None


class IngressTls(_Wire, frozen=True):
    """The hosts of a Secret's certificate. Without hosts, all hosts of the Ingress."""

    hosts: tuple[str, ...] = ()
    secret_name: str = ""


class IngressSpec(_Wire, frozen=True):
    """networking.k8s.io/v1 IngressSpec."""

    ingress_class_name: str | None = None
    default_backend: IngressBackend | None = None
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTls, ...] = ()


class PublishedAddress(_Wire, frozen=True, order=True):
    """An address where clients reach an Ingress (IngressLoadBalancerIngress): usually one of the two, rarely both."""

    ip: str = ""
    hostname: str = ""


class LoadBalancerStatus(_Wire, frozen=True):
    """Every address of an Ingress."""

    ingress: tuple[PublishedAddress, ...] = ()


class IngressStatus(_Wire, frozen=True):
    """networking.k8s.io/v1 IngressStatus. Routing does not depend on it."""

    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Ingress(_Wire, frozen=True):
    """networking.k8s.io/v1 Ingress."""

    kind: ClassVar[Kind] = Kind.INGRESS
    metadata: Metadata
    spec: IngressSpec = IngressSpec()
    status: IngressStatus = IngressStatus()


class IngressClassSpec(_Wire, frozen=True):
    """The controller of the Ingresses of a class."""

    controller: str = ""


class IngressClass(_Wire, frozen=True):
    """networking.k8s.io/v1 IngressClass."""

    kind: ClassVar[Kind] = Kind.INGRESS_CLASS
    metadata: Metadata
    spec: IngressClassSpec = IngressClassSpec()


class ServicePort(_Wire, frozen=True):
    """A port of a Service; EndpointSlices carry the same name."""

    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    name: str = ""
    protocol: str = "TCP"
    app_protocol: str = ""


class ServiceSpec(_Wire, frozen=True):
    """v1 ServiceSpec."""

    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] = ()
    ip_families: tuple[str, ...] = ()
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    traffic_distribution: str = ""
    external_name: str = ""


class Service(_Wire, frozen=True):
    """v1 Service."""

    kind: ClassVar[Kind] = Kind.SERVICE
    metadata: Metadata
    spec: ServiceSpec = ServiceSpec()


class EndpointConditions(_Wire, frozen=True):
    """None is nil. Nil means true for ready and serving, and false for terminating (discovery/v1)."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class SliceEndpoint(_Wire, frozen=True):
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


class SlicePort(_Wire, frozen=True):
    """A port on which every endpoint of the slice listens. None means all ports."""

    name: str = ""
    port: _Int32 | None = None
    protocol: str = "TCP"


class EndpointSlice(_Wire, frozen=True):
    """discovery.k8s.io/v1 EndpointSlice."""

    kind: ClassVar[Kind] = Kind.ENDPOINT_SLICE
    metadata: Metadata
    address_type: str = ""
    endpoints: tuple[SliceEndpoint, ...] = ()
    ports: tuple[SlicePort, ...] = ()


class Node(_Wire, frozen=True):
    """v1 Node. `status` is None if only metadata was asked for, or if a manifest has none."""

    kind: ClassVar[Kind] = Kind.NODE
    metadata: Metadata
    status: NodeStatus | None = None


class Secret(_Wire, frozen=True):
    """v1 Secret. `string_data` is clear text in a manifest. It wins over `data`, as in the API."""

    kind: ClassVar[Kind] = Kind.SECRET
    metadata: Metadata
    data: dict[str, str] = {}
    string_data: dict[str, str] = {}

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


class ConfigMap(_Wire, frozen=True):
    """v1 ConfigMap."""

    kind: ClassVar[Kind] = Kind.CONFIG_MAP
    metadata: Metadata
    data: dict[str, str] = {}


Document = Mapping[Any, Any]
"""A mapping as parsed from YAML or JSON, with unknown contents."""

KubernetesObject = Ingress | IngressClass | Service | EndpointSlice | Node | Secret | ConfigMap

_RECORDS: Mapping[tuple[str, str], type[KubernetesObject]] = {
    ("networking.k8s.io/v1", "Ingress"): Ingress,
    ("networking.k8s.io/v1", "IngressClass"): IngressClass,
    ("v1", "Service"): Service,
    ("discovery.k8s.io/v1", "EndpointSlice"): EndpointSlice,
    ("v1", "Node"): Node,
    ("v1", "Secret"): Secret,
    ("v1", "ConfigMap"): ConfigMap,
}

# Removed in Kubernetes 1.22 and 1.25. To ignore them silently would look like a lost route.
_RETIRED: Mapping[tuple[str, str], str] = {
    ("extensions/v1beta1", "Ingress"): "networking.k8s.io/v1",
    ("networking.k8s.io/v1beta1", "Ingress"): "networking.k8s.io/v1",
    ("networking.k8s.io/v1beta1", "IngressClass"): "networking.k8s.io/v1",
    ("discovery.k8s.io/v1beta1", "EndpointSlice"): "discovery.k8s.io/v1",
}


def subject_of(subject: KubernetesObject) -> Subject:
    """The subject of findings about this object."""
    return Subject(subject.kind.value, subject.metadata.namespace, subject.metadata.name)


def key_of(subject: KubernetesObject) -> tuple[str, str]:
    """Namespace and name, which identify an object among those of its kind."""
    return subject.metadata.namespace, subject.metadata.name


def kind_of(document: Document) -> Kind | None:
    """The kind of a parsed document by its apiVersion and kind; None for kinds that zonal does not read."""
    record = _RECORDS.get(_type_of(document))
    return record.kind if record else None


def decode(document: Document) -> KubernetesObject | None:
    """The record of a document as parsed from YAML or JSON; None for kinds that zonal does not read.

    A namespaced object without a namespace is in `default`, as with kubectl. Raises `ObjectError` for an object that
    the API would refuse to store in this shape.
    """
    version, kind = _type_of(document)
    if not version or not kind:
        raise ObjectError("is not a Kubernetes object: give apiVersion and kind")
    if (version, kind) in _RETIRED:
        raise ObjectError(f"{kind} {version} is not read any more: write it as {_RETIRED[version, kind]}")
    record = _RECORDS.get((version, kind))
    return placed(_converted(document, record)) if record else None


def record_of(kind: Kind) -> type[KubernetesObject]:
    """The record type for objects of this kind."""
    return next(record for record in _RECORDS.values() if record.kind is kind)


def decode_item(kind: Kind, document: Document) -> KubernetesObject:
    """The record of a document of the known kind `kind`, because items of the API's lists do not name their kind.

    Raises `ObjectError` as `decode` does.
    """
    return placed(_converted(document, record_of(kind)))


def _type_of(document: Document) -> tuple[str, str]:
    version, kind = document.get("apiVersion"), document.get("kind")
    return (version, kind) if isinstance(version, str) and isinstance(kind, str) else ("", "")


def _converted(document: Document, record: type[KubernetesObject]) -> KubernetesObject:
    try:
        return msgspec.convert(_without_nulls(document, {}), type=record)
    except RecursionError:
        raise ObjectError(f"{record.kind.value} is malformed: it is nested too deeply") from None
    except UnicodeError:
        raise ObjectError(f"{record.kind.value} is malformed: it holds lone surrogates, which are no text") from None
    except msgspec.ValidationError as error:
        # msgspec names the place and the types but never the value, which may belong to a Secret.
        hint = "; put it in quotes" if "Expected `str`" in str(error) else ""
        raise ObjectError(f"{record.kind.value} is malformed: {error}{hint}") from None


def _without_nulls(value: object, done: dict[int, object]) -> object:
    # YAML aliases make a document a graph. By identity, each node is copied once and cycles end.
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, Mapping):
        fields: dict[object, object] = {}
        done[id(value)] = fields
        fields.update((key, _without_nulls(item, done)) for key, item in value.items() if item is not None)
        return fields
    if isinstance(value, list):
        items: list[object] = []
        done[id(value)] = items
        items.extend(_without_nulls(item, done) for item in value)
        return items
    return value


def placed(decoded: KubernetesObject) -> KubernetesObject:
    """The object with its namespace. Raises `ObjectError` for names that the API would refuse."""
    metadata = decoded.metadata
    namespace = "" if decoded.kind in CLUSTER_WIDE else metadata.namespace or "default"
    if not SUBDOMAIN.fullmatch(metadata.name):
        raise ObjectError(f"{decoded.kind.value} has an invalid metadata.name: use lower case letters, digits, - and .")
    if namespace and not LABEL.fullmatch(namespace):
        raise ObjectError(f"{decoded.kind.value} has an invalid metadata.namespace: use lower case letters, digits, -")
    if namespace == metadata.namespace:
        return decoded
    return msgspec.structs.replace(decoded, metadata=msgspec.structs.replace(metadata, namespace=namespace))
