"""What of Gateway API is supported: the features that a GatewayClass names, and the routes that each protocol takes.

One table, which the documentation prints.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final

import msgspec

from ingress.objects.metadata import Kind


class Needed(Enum):
    """What some features need beside zonal. Without that they are not claimed."""

    EXPERIMENTAL = "definitions of the experimental channel"
    """The API server drops fields that its definitions lack."""
    EXTERNAL_IPS = "`--gateway-external-ips`"
    ALIASES = "`--gateway-aliases`"


class FeatureRow(msgspec.Struct, frozen=True):
    """A feature under the name that the conformance suite has for it, what it is, and what it needs."""

    name: str
    meaning: str
    needs: Needed | None = None


FEATURES: Final[tuple[FeatureRow, ...]] = (
    FeatureRow("BackendTLSPolicy", "TLS to endpoints, verified by a hostname and the authorities in ConfigMaps"),
    FeatureRow("BackendTLSPolicySANValidation", "other names that the certificates of endpoints may have"),
    FeatureRow("GRPCRoute", "routes of gRPC: services, methods, header fields, weights"),
    FeatureRow("GRPCRouteNamedRouteRule", "rules of a GRPCRoute with names"),
    FeatureRow("Gateway", "Gateways and their listeners"),
    FeatureRow("GatewayAddressEmpty", "addresses that a Gateway asks for by their type alone"),
    FeatureRow("GatewayBackendClientCertificate", "the certificate that a Gateway shows to endpoints"),
    FeatureRow("GatewayFrontendClientCertificateValidation", "certificates that clients have to show"),
    FeatureRow("GatewayFrontendClientCertificateValidationInsecureFallback", "certificates that clients may show"),
    FeatureRow("GatewayHTTPListenerIsolation", "a request belongs to the most specific listener of its port"),
    FeatureRow(
        "GatewayHTTPSListenerDetectMisdirectedRequests", "421 for a host of another listener than the handshake"
    ),
    FeatureRow(
        "GatewayInfrastructurePropagation",
        "labels and annotations of infrastructure on a Service in the namespace of the Gateway",
        Needed.ALIASES,
    ),
    FeatureRow("GatewayPort8080", "a listener on port 8080"),
    FeatureRow("GatewayStaticAddresses", "addresses that a Gateway asks for by value", Needed.EXTERNAL_IPS),
    FeatureRow("HTTPRoute", "routes of HTTP: paths, header fields, hosts, weights"),
    FeatureRow("HTTPRoute303RedirectStatusCode", "redirects with the status 303"),
    FeatureRow("HTTPRoute307RedirectStatusCode", "redirects with the status 307"),
    FeatureRow("HTTPRoute308RedirectStatusCode", "redirects with the status 308"),
    FeatureRow("HTTPRouteBackendProtocolH2C", "endpoints that speak HTTP/2 without TLS (appProtocol)"),
    FeatureRow("HTTPRouteBackendProtocolWebSocket", "endpoints that speak WebSocket (appProtocol)"),
    FeatureRow("HTTPRouteBackendRequestHeaderModification", "header fields of requests, for one backend of a rule"),
    FeatureRow("HTTPRouteBackendTimeout", "the time of one attempt"),
    FeatureRow("HTTPRouteCORS", "which origins may read responses"),
    FeatureRow("HTTPRouteDestinationPortMatching", "parentRefs that name a port"),
    FeatureRow("HTTPRouteHostRewrite", "another Host for endpoints"),
    FeatureRow("HTTPRouteMethodMatching", "matches of the method"),
    FeatureRow("HTTPRouteNamedRouteRule", "rules of an HTTPRoute with names"),
    FeatureRow("HTTPRouteParentRefPort", "parentRefs that name a port"),
    FeatureRow("HTTPRoutePathRedirect", "redirects to another path"),
    FeatureRow("HTTPRoutePathRewrite", "another path for endpoints"),
    FeatureRow("HTTPRoutePortRedirect", "redirects to another port"),
    FeatureRow("HTTPRouteQueryParamMatching", "matches of query parameters"),
    FeatureRow("HTTPRouteRequestMirror", "copies of requests"),
    FeatureRow("HTTPRouteRequestMultipleMirrors", "copies to several backends"),
    FeatureRow("HTTPRouteRequestPercentageMirror", "copies of a share of the requests"),
    FeatureRow("HTTPRouteRequestTimeout", "the time of a request as a whole"),
    FeatureRow("HTTPRouteResponseHeaderModification", "header fields of responses"),
    FeatureRow("HTTPRouteRetry", "requests that are repeated after some statuses", Needed.EXPERIMENTAL),
    FeatureRow(
        "HTTPRouteRetryBackendTimeout", "requests that are repeated after `backendRequest`", Needed.EXPERIMENTAL
    ),
    FeatureRow("HTTPRouteRetryConnectionError", "requests that are repeated elsewhere", Needed.EXPERIMENTAL),
    FeatureRow("HTTPRouteSchemeRedirect", "redirects to another scheme"),
    FeatureRow("ListenerSet", "listeners beside those of a Gateway"),
    FeatureRow("ReferenceGrant", "references to other namespaces"),
    FeatureRow("TCPRoute", "routes of TCP: each connection goes to one endpoint"),
    FeatureRow("TLSRoute", "routes of TLS by the name in the ClientHello"),
    FeatureRow("TLSRouteModeMixed", "listeners that end TLS and listeners that pass it on one port"),
    FeatureRow("TLSRouteModeTerminate", "TLS that ends here; endpoints get what is inside"),
)
"""By name."""


def supported_features(present: Collection[Needed]) -> tuple[str, ...]:
    """The names of the features that are supported where `present` is there, sorted."""
    return tuple(sorted(each.name for each in FEATURES if each.needs is None or each.needs in present))


ROUTES_BY_PROTOCOL: Final[Mapping[str, tuple[Kind, ...]]] = {
    "HTTP": (Kind.HTTP_ROUTE, Kind.GRPC_ROUTE),
    "HTTPS": (Kind.HTTP_ROUTE, Kind.GRPC_ROUTE),
    "TLS": (Kind.TLS_ROUTE,),
    "TCP": (Kind.TCP_ROUTE,),
}
"""The kinds of routes of each supported protocol, in the order of statuses. TLS is that which passes through."""

ROUTES_WHERE_TLS_ENDS: Final[tuple[Kind, ...]] = (Kind.TLS_ROUTE, Kind.TCP_ROUTE)
"""The kinds of routes of the protocol TLS in the mode Terminate: what comes out of it is TCP."""
