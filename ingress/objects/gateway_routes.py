"""Defines the routes of Gateway API: HTTPRoute, GRPCRoute, TLSRoute, TCPRoute and UDPRoute.

A field that is absent has the value that the API server would set (CRDs of v1.6). Words that Gateway API enumerates are
texts here, because a newer word must become a status and not an unreadable object.
"""

from __future__ import annotations

from typing import ClassVar, get_args

from ingress.objects.gateway_references import ObjectReference, ParentReference, ServiceBackend, WeightedBackend
from ingress.objects.metadata import Int32, Kind, Reported, Wire


class PathMatch(Wire, frozen=True):
    """The path of requests."""

    type: str = "PathPrefix"
    value: str = "/"


class ValueMatch(Wire, frozen=True):
    """A header field or query parameter of requests."""

    name: str = ""
    value: str = ""
    type: str = "Exact"


class HttpMatch(Wire, frozen=True):
    """What all has to hold of a request. An empty method means every method."""

    path: PathMatch = PathMatch()
    headers: tuple[ValueMatch, ...] = ()
    query_params: tuple[ValueMatch, ...] = ()
    method: str = ""


class GrpcMethodMatch(Wire, frozen=True):
    """The service and method of calls. An empty one means every one."""

    type: str = "Exact"
    service: str = ""
    method: str = ""


class GrpcMatch(Wire, frozen=True):
    """What all has to hold of a call. Without a method match, every call."""

    method: GrpcMethodMatch | None = None
    headers: tuple[ValueMatch, ...] = ()


class HeaderValue(Wire, frozen=True):
    """A header field."""

    name: str = ""
    value: str = ""


class HeaderModifier(Wire, frozen=True):
    """Header fields that are set, added and removed."""

    set: tuple[HeaderValue, ...] = ()
    add: tuple[HeaderValue, ...] = ()
    remove: tuple[str, ...] = ()


class Fraction(Wire, frozen=True):
    """A share of the requests."""

    numerator: Int32 = 0
    denominator: Int32 = 100


class RequestMirror(Wire, frozen=True):
    """Who gets copies, and of how many requests. Without `percent` and `fraction`, of all."""

    backend_ref: ServiceBackend = ServiceBackend()
    percent: Int32 | None = None
    fraction: Fraction | None = None


class PathModifier(Wire, frozen=True):
    """A new path, or a new beginning in place of the prefix that matched. None means absent."""

    type: str = ""
    replace_full_path: str | None = None
    replace_prefix_match: str | None = None


class RequestRedirect(Wire, frozen=True):
    """Where clients are sent. What is absent stays as it was; the port 0 means absent."""

    scheme: str = ""
    hostname: str = ""
    path: PathModifier | None = None
    port: Int32 = 0
    status_code: Int32 = 302


class UrlRewrite(Wire, frozen=True):
    """What backends get in place of the host and path of the client."""

    hostname: str = ""
    path: PathModifier | None = None


class Cors(Wire, frozen=True):
    """Which origins may read responses."""

    allow_origins: tuple[str, ...] = ()
    allow_credentials: bool = False
    allow_methods: tuple[str, ...] = ()
    allow_headers: tuple[str, ...] = ()
    expose_headers: tuple[str, ...] = ()
    max_age: Int32 = 5


class HttpAuth(Wire, frozen=True):
    """What an auth service over HTTP gets of requests, and endpoints of its answers."""

    path: str = ""
    allowed_headers: tuple[str, ...] = ()
    allowed_response_headers: tuple[str, ...] = ()


class ForwardBody(Wire, frozen=True):
    """How much of the body an auth service gets."""

    max_size: Int32 = 0


class ExternalAuthFilter(Wire, frozen=True):
    """Who judges requests (experimental)."""

    protocol: str = ""
    backend_ref: ServiceBackend = ServiceBackend()
    http: HttpAuth = HttpAuth()
    forward_body: ForwardBody = ForwardBody()


class RouteFilter(Wire, frozen=True):
    """A step on the way of requests and responses. `type` says which of the members counts."""

    type: str = ""
    request_header_modifier: HeaderModifier | None = None
    response_header_modifier: HeaderModifier | None = None
    request_mirror: RequestMirror | None = None
    request_redirect: RequestRedirect | None = None
    url_rewrite: UrlRewrite | None = None
    cors: Cors | None = None
    external_auth: ExternalAuthFilter | None = None
    extension_ref: ObjectReference | None = None


class RouteBackend(WeightedBackend, frozen=True):
    """A backend of an HTTPRoute or GRPCRoute, with its share of the requests and filters of its own."""

    filters: tuple[RouteFilter, ...] = ()


class RouteTimeouts(Wire, frozen=True):
    """Durations as text (GEP-2257). Empty means unset."""

    request: str = ""
    backend_request: str = ""


class RouteRetry(Wire, frozen=True):
    """When a request is tried again (experimental). None and empty mean unset."""

    codes: tuple[Int32, ...] = ()
    attempts: Int32 | None = None
    backoff: str = ""


class CookieConfig(Wire, frozen=True):
    """How long a cookie of a session lives."""

    lifetime_type: str = "Session"


class SessionPersistence(Wire, frozen=True):
    """Asks that the requests of a session go to one endpoint (experimental)."""

    session_name: str = ""
    absolute_timeout: str = ""
    type: str = "Cookie"
    cookie_config: CookieConfig = CookieConfig()


class HttpRule(Wire, frozen=True):
    """Matches, of which one has to hold, and what becomes of these requests."""

    name: str = ""
    matches: tuple[HttpMatch, ...] = (HttpMatch(),)
    filters: tuple[RouteFilter, ...] = ()
    backend_refs: tuple[RouteBackend, ...] = ()
    timeouts: RouteTimeouts = RouteTimeouts()
    retry: RouteRetry | None = None
    session_persistence: SessionPersistence | None = None


class HttpRouteSpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 HTTPRouteSpec."""

    parent_refs: tuple[ParentReference, ...] = ()
    use_default_gateways: str = ""
    hostnames: tuple[str, ...] = ()
    rules: tuple[HttpRule, ...] = (HttpRule(),)


class HttpRoute(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 HTTPRoute."""

    kind: ClassVar[Kind] = Kind.HTTP_ROUTE
    spec: HttpRouteSpec = HttpRouteSpec()


class GrpcRule(Wire, frozen=True):
    """Matches, of which one has to hold, and what becomes of these calls."""

    name: str = ""
    matches: tuple[GrpcMatch, ...] = ()
    filters: tuple[RouteFilter, ...] = ()
    backend_refs: tuple[RouteBackend, ...] = ()
    session_persistence: SessionPersistence | None = None


class GrpcRouteSpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 GRPCRouteSpec."""

    parent_refs: tuple[ParentReference, ...] = ()
    use_default_gateways: str = ""
    hostnames: tuple[str, ...] = ()
    rules: tuple[GrpcRule, ...] = ()


class GrpcRoute(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 GRPCRoute."""

    kind: ClassVar[Kind] = Kind.GRPC_ROUTE
    spec: GrpcRouteSpec = GrpcRouteSpec()


class StreamRule(Wire, frozen=True):
    """The backends of the connections."""

    name: str = ""
    backend_refs: tuple[WeightedBackend, ...] = ()


class TlsRouteSpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 TLSRouteSpec."""

    parent_refs: tuple[ParentReference, ...] = ()
    use_default_gateways: str = ""
    hostnames: tuple[str, ...] = ()
    rules: tuple[StreamRule, ...] = ()


class TlsRoute(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 TLSRoute."""

    kind: ClassVar[Kind] = Kind.TLS_ROUTE
    spec: TlsRouteSpec = TlsRouteSpec()


class TcpRouteSpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 TCPRouteSpec."""

    parent_refs: tuple[ParentReference, ...] = ()
    use_default_gateways: str = ""
    rules: tuple[StreamRule, ...] = ()


class TcpRoute(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 TCPRoute."""

    kind: ClassVar[Kind] = Kind.TCP_ROUTE
    spec: TcpRouteSpec = TcpRouteSpec()


class UdpRouteSpec(Wire, frozen=True):
    """gateway.networking.k8s.io/v1 UDPRouteSpec."""

    parent_refs: tuple[ParentReference, ...] = ()
    use_default_gateways: str = ""
    rules: tuple[StreamRule, ...] = ()


class UdpRoute(Reported, frozen=True, kw_only=True):
    """gateway.networking.k8s.io/v1 UDPRoute. No listener takes one, which its status says."""

    kind: ClassVar[Kind] = Kind.UDP_ROUTE
    spec: UdpRouteSpec = UdpRouteSpec()


GatewayRoute = HttpRoute | GrpcRoute | TlsRoute | TcpRoute | UdpRoute
ROUTE_RECORDS: tuple[type[GatewayRoute], ...] = get_args(GatewayRoute)
"""The records of all kinds of routes."""
