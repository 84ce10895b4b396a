"""Defines the kinds of Gateway API that are no routes: classes, Gateways, ListenerSets, grants, policies of backends.

A field that is absent has the value that the API server would set (CRDs of v1.6). Words that Gateway API enumerates are
texts here, because a newer word must become a status and not an unreadable object.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from ingress.objects.gateway_references import GATEWAY_GROUP, ObjectReference, ParentReference, SecretReference
from ingress.objects.metadata import ApiObject, Int32, Kind, Reported, Wire


class Namespace(ApiObject, frozen=True):
    """v1 Namespace, of which only the labels count."""

    kind: ClassVar[Kind] = Kind.NAMESPACE


class GatewayClassSpec(Wire, frozen=True):
    """The controller of the Gateways of a class, and the object with its parameters."""

    controller_name: str = ""
    parameters_ref: ObjectReference | None = None


class GatewayClass(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 GatewayClass."""

    kind: ClassVar[Kind] = Kind.GATEWAY_CLASS
    spec: GatewayClassSpec = GatewayClassSpec()


class SelectorRequirement(Wire, frozen=True):
    """One expression of a label selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    """meta/v1 LabelSelector. An empty one selects everything."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[SelectorRequirement, ...] = ()


class RouteNamespaces(Wire, frozen=True):
    """The namespaces from which routes may attach."""

    source: str = msgspec.field(default="Same", name="from")
    selector: LabelSelector | None = None


class ListenerNamespaces(Wire, frozen=True):
    """The namespaces from which ListenerSets may attach."""

    source: str = msgspec.field(default="None", name="from")
    selector: LabelSelector | None = None


class RouteGroupKind(Wire, frozen=True):
    """A kind of routes."""

    kind: str = ""
    group: str = GATEWAY_GROUP


class AllowedRoutes(Wire, frozen=True):
    """Which routes a listener takes. Without `kinds`, all that its protocol allows."""

    namespaces: RouteNamespaces = RouteNamespaces()
    kinds: tuple[RouteGroupKind, ...] = ()


class ListenerTlsSpec(Wire, frozen=True):
    """How a listener ends TLS, or that it does not."""

    mode: str = "Terminate"
    certificate_refs: tuple[SecretReference, ...] = ()
    options: dict[str, str] = msgspec.field(default_factory=dict)


class ListenerSpec(Wire, frozen=True):
    """A listener of a Gateway or ListenerSet. An empty hostname means every name."""

    name: str = ""
    port: Int32 = 0
    protocol: str = ""
    hostname: str = ""
    tls: ListenerTlsSpec | None = None
    allowed_routes: AllowedRoutes = AllowedRoutes()


class ClientValidation(Wire, frozen=True):
    """Which authorities sign the certificates of clients."""

    ca_certificate_refs: tuple[ObjectReference, ...] = ()
    mode: str = "AllowValidOnly"


class FrontendTls(Wire, frozen=True):
    """What clients have to show."""

    validation: ClientValidation | None = None


class PortTls(Wire, frozen=True):
    """What clients of one port have to show."""

    port: Int32 = 0
    tls: FrontendTls = FrontendTls()


class FrontendTlsByPort(Wire, frozen=True):
    """What clients have to show, for every port and for single ones."""

    default: FrontendTls = FrontendTls()
    per_port: tuple[PortTls, ...] = ()


class BackendTls(Wire, frozen=True):
    """Which certificate the Gateway shows to backends."""

    client_certificate_ref: SecretReference | None = None


class GatewayTls(Wire, frozen=True):
    """TLS of a whole Gateway."""

    frontend: FrontendTlsByPort | None = None
    backend: BackendTls | None = None


class GatewayAddress(Wire, frozen=True):
    """An address that a Gateway asks for. Without a value, any of its type."""

    type: str = "IPAddress"
    value: str = ""


class Infrastructure(Wire, frozen=True):
    """What is made for a Gateway: labels and annotations of that, and the object with parameters."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    parameters_ref: ObjectReference | None = None


class AllowedListeners(Wire, frozen=True):
    """Which ListenerSets a Gateway takes."""

    namespaces: ListenerNamespaces = ListenerNamespaces()


class GatewaySpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 GatewaySpec. `default_scope` is experimental."""

    gateway_class_name: str = ""
    listeners: tuple[ListenerSpec, ...] = ()
    addresses: tuple[GatewayAddress, ...] = ()
    infrastructure: Infrastructure = Infrastructure()
    allowed_listeners: AllowedListeners = AllowedListeners()
    tls: GatewayTls = GatewayTls()
    default_scope: str = ""


class Gateway(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 Gateway."""

    kind: ClassVar[Kind] = Kind.GATEWAY
    spec: GatewaySpec = GatewaySpec()


class ListenerSetSpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 ListenerSetSpec."""

    parent_ref: ParentReference = ParentReference()
    listeners: tuple[ListenerSpec, ...] = ()


class ListenerSet(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 ListenerSet."""

    kind: ClassVar[Kind] = Kind.LISTENER_SET
    spec: ListenerSetSpec = ListenerSetSpec()


class GrantFrom(Wire, frozen=True):
    """Objects of a kind in a namespace, which may refer."""

    group: str = ""
    kind: str = ""
    namespace: str = ""


class GrantTo(Wire, frozen=True):
    """Objects of a kind that may be referred to. Without a name, all of them."""

    group: str = ""
    kind: str = ""
    name: str = ""


class ReferenceGrantSpec(Wire, frozen=True):
    """Who may refer to what in the namespace of the grant."""

    sources: tuple[GrantFrom, ...] = msgspec.field(default=(), name="from")
    to: tuple[GrantTo, ...] = ()


class ReferenceGrant(ApiObject, frozen=True):
    """gateway.networking.k8s.io/v1 ReferenceGrant."""

    kind: ClassVar[Kind] = Kind.REFERENCE_GRANT
    spec: ReferenceGrantSpec = ReferenceGrantSpec()


class SubjectAltName(Wire, frozen=True):
    """A name that the certificate of a backend must have."""

    type: str = ""
    hostname: str = ""
    uri: str = ""


class BackendTlsValidation(Wire, frozen=True):
    """How the certificate of a backend is verified."""

    hostname: str = ""
    ca_certificate_refs: tuple[ObjectReference, ...] = ()
    well_known_ca_certificates: str = msgspec.field(default="", name="wellKnownCACertificates")
    subject_alt_names: tuple[SubjectAltName, ...] = ()


class BackendTlsPolicySpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 BackendTLSPolicySpec."""

    target_refs: tuple[ObjectReference, ...] = ()
    validation: BackendTlsValidation = BackendTlsValidation()


class BackendTlsPolicy(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 BackendTLSPolicy."""

    kind: ClassVar[Kind] = Kind.BACKEND_TLS_POLICY
    spec: BackendTlsPolicySpec = BackendTlsPolicySpec()
