"""Turns parsed documents into records of the kinds that zonal reads.

Unknown fields are ignored, null counts as absent, and a malformed object is refused with one clear sentence. Does not
know where documents come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ingress.objects.gateway import (
    BackendTlsPolicy,
    Gateway,
    GatewayClass,
    ListenerSet,
    Namespace,
    ReferenceGrant,
)
from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.objects.gateway_routes import GrpcRoute, HttpRoute, TcpRoute, TlsRoute, UdpRoute
from ingress.objects.kinds import (
    CLUSTER_WIDE,
    ConfigMap,
    EndpointSlice,
    Ingress,
    IngressClass,
    Kind,
    KubernetesObject,
    Node,
    Secret,
    Service,
)
from ingress.objects.metadata import Reported
from ingress.objects.names import LABEL, SUBDOMAIN
from ingress.objects.zone_policy import ZONE_POLICY_GROUP, ZONE_POLICY_VERSION, ZonePolicyObject

Document = Mapping[Any, Any]
"""A mapping as parsed from YAML or JSON, with unknown contents."""

_GATEWAY_V1: Final = f"{GATEWAY_GROUP}/v1"
_GATEWAY_V1BETA1: Final = f"{GATEWAY_GROUP}/v1beta1"

_RECORDS: Mapping[tuple[str, str], type[KubernetesObject]] = {
    ("networking.k8s.io/v1", "Ingress"): Ingress,
    ("networking.k8s.io/v1", "IngressClass"): IngressClass,
    ("v1", "Service"): Service,
    ("discovery.k8s.io/v1", "EndpointSlice"): EndpointSlice,
    ("v1", "Node"): Node,
    ("v1", "Secret"): Secret,
    ("v1", "ConfigMap"): ConfigMap,
    ("v1", "Namespace"): Namespace,
    (_GATEWAY_V1, "GatewayClass"): GatewayClass,
    (_GATEWAY_V1, "Gateway"): Gateway,
    (_GATEWAY_V1, "ListenerSet"): ListenerSet,
    (_GATEWAY_V1, "HTTPRoute"): HttpRoute,
    (_GATEWAY_V1, "GRPCRoute"): GrpcRoute,
    (_GATEWAY_V1, "TLSRoute"): TlsRoute,
    (_GATEWAY_V1, "TCPRoute"): TcpRoute,
    (_GATEWAY_V1, "UDPRoute"): UdpRoute,
    (_GATEWAY_V1, "ReferenceGrant"): ReferenceGrant,
    (_GATEWAY_V1, "BackendTLSPolicy"): BackendTlsPolicy,
    (f"{ZONE_POLICY_GROUP}/{ZONE_POLICY_VERSION}", "ZonePolicy"): ZonePolicyObject,
    # The same shapes under their older version, which API servers still serve.
    (_GATEWAY_V1BETA1, "GatewayClass"): GatewayClass,
    (_GATEWAY_V1BETA1, "Gateway"): Gateway,
    (_GATEWAY_V1BETA1, "HTTPRoute"): HttpRoute,
    (_GATEWAY_V1BETA1, "ReferenceGrant"): ReferenceGrant,
}
# msgspec crashes when two threads see a type for the first time at once, so it sees all of them here.
_SEEN = tuple(msgspec.json.Decoder(record) for record in dict.fromkeys(_RECORDS.values()))

# Removed in Kubernetes 1.22 and 1.25. To ignore them silently would look like a lost route.
_RETIRED: Mapping[tuple[str, str], str] = {
    ("extensions/v1beta1", "Ingress"): "networking.k8s.io/v1",
    ("networking.k8s.io/v1beta1", "Ingress"): "networking.k8s.io/v1",
    ("networking.k8s.io/v1beta1", "IngressClass"): "networking.k8s.io/v1",
    ("discovery.k8s.io/v1beta1", "EndpointSlice"): "discovery.k8s.io/v1",
}


class ObjectError(ValueError):
    """A document is not a valid object of its kind. The text is one sentence that says what to change."""


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
        fields = _without_nulls(document, {})
        if issubclass(record, Reported) and isinstance(fields, dict) and "status" in fields:
            fields = {**fields, "status": msgspec.Raw(msgspec.json.encode(fields["status"]))}
        return msgspec.convert(fields, type=record)
    except RecursionError:
        raise ObjectError(f"{record.kind.value} is malformed: it is nested too deeply") from None
    except TypeError:
        raise ObjectError(f"{record.kind.value} is malformed: its status has keys that are no texts") from None
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
