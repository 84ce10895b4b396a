"""The routing model: the data plane's whole language, immutable and compared by value.

Responsible for the shape of what the control plane publishes. It must not know Kubernetes, sockets or time.
Collections are tuples sorted by their producer, so equal content means equal value; `generation` lives in
`Publication`, never in the model.
"""

from __future__ import annotations

from enum import Enum
from typing import NewType

import msgspec

Zone = NewType("Zone", str)
"""The name of an availability zone, never empty; an unknown zone is `None`."""

BackendKey = NewType("BackendKey", str)
"""`namespace/service:port`; neither part can hold `/` or `:`, so the key is unambiguous."""


class Endpoint(msgspec.Struct, frozen=True, order=True, gc=False):
    """One address and port that answers for a backend, with the facts that zone policies judge.

    `ready` already has the API's default applied (nil means true); `serving_terminating` is true for an endpoint that
    still serves while it terminates (KEP-1672), which is used only when nothing is ready. `hint_zones` and
    `hint_nodes` are the slice's hints (KEP-2433, KEP-3015). `labels` are those labels of its node that a policy names.
    """

    address: str
    port: int
    zone: Zone | None = None
    node: str | None = None
    ready: bool = True
    serving_terminating: bool = False
    hint_zones: tuple[Zone, ...] = ()
    hint_nodes: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


class ZonePolicyName(Enum):
    """The zone policies that this version carries out."""

    OFF = "off"
    PREFER_ZONE = "prefer-zone"
    HINTS = "hints"
    ALLOCATE = "allocate"
    PROPORTIONAL = "proportional"
    ADAPTIVE = "adaptive"
    ORDERED = "ordered"


class ZonePolicy(msgspec.Struct, frozen=True):
    """How the zone of an endpoint counts: the policy and its thresholds.

    `keys` are node labels for `ordered`, best first; `*` at the end means any endpoint. `min_cluster_size` is for
    `proportional`; `toll_ratio`, `toll_seconds` and `spill_budget_percent` are for `adaptive`. With `dry_run` the
    policy decides and is counted, and requests go as under `off`. `rollout_percent` of the requests get the policy.
    """

    name: ZonePolicyName = ZonePolicyName.OFF
    min_endpoints: int = 1
    min_percent: int = 0
    keys: tuple[str, ...] = ()
    min_cluster_size: int = 6
    toll_ratio: float = 0.05
    toll_seconds: float = 0.0005
    spill_budget_percent: int = 100
    dry_run: bool = False
    rollout_percent: int = 100


ZONES_OFF = ZonePolicy()
"""The policy of every backend while the flag is off."""


class LoadBalancing(Enum):
    """How one of several endpoints of a pool is chosen."""

    ROUND_ROBIN = "round_robin"
    LEAST_REQUEST = "least_request"
    EWMA = "ewma"


class Ejection(msgspec.Struct, frozen=True):
    """When an endpoint is left out for failing in a row, for how long (times the number of ejections), and how many.

    `consecutive_errors` 0: never. `max_percent` counts the whole backend.
    """

    consecutive_errors: int = 5
    on_5xx: bool = False
    seconds: float = 10.0
    max_percent: int = 50


class HealthCheck(msgspec.Struct, frozen=True):
    """An active check of every endpoint. `path` is a request path, or `tcp` to check the connection only."""

    path: str
    interval_seconds: float = 5.0
    timeout_seconds: float = 2.0
    threshold: int = 3


class Backend(msgspec.Struct, frozen=True):
    """A Service port and its endpoints (sorted, unique by address and port).

    `panic_percent`: with a smaller share of healthy endpoints, health is ignored. Concurrency 0 is unlimited.
    """

    key: BackendKey
    namespace: str
    service: str
    port: str
    endpoints: tuple[Endpoint, ...] = ()
    zone_policy: ZonePolicy = ZONES_OFF
    load_balancing: LoadBalancing = LoadBalancing.ROUND_ROBIN
    ejection: Ejection = Ejection()
    health_check: HealthCheck | None = None
    max_concurrency: int = 0
    max_concurrency_per_endpoint: int = 0
    panic_percent: int = 50


class PathKind(Enum):
    """How a route's path is compared (networking.k8s.io/v1 PathType; ImplementationSpecific is PREFIX)."""

    EXACT = "Exact"
    PREFIX = "Prefix"


class EndpointTls(msgspec.Struct, frozen=True):
    """TLS towards endpoints. Without `verify` any certificate is taken, as ingress-nginx does by default.

    `server_name` is sent as SNI and verified; `ca_pem` holds the trusted roots (None: the system's).
    """

    verify: bool = False
    server_name: str | None = None
    ca_pem: bytes | None = None


class RoutePolicy(msgspec.Struct, frozen=True):
    """What an Ingress may say about its own paths. Durations in seconds, sizes in bytes, 0 size or tries: no limit.

    `retry_on` holds words of proxy-next-upstream; `retry_seconds` bounds all tries together, 0 = unbounded. `host` is
    sent to endpoints in place of the client's Host. `endpoint_tls` None: plain HTTP. `upgrade_protocols` (lower case)
    may become tunnels.
    """

    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 60.0
    send_timeout_seconds: float = 60.0
    max_body_bytes: int = 1024 * 1024
    tries: int = 3
    redirect_to_https: bool = False
    retry_on: tuple[str, ...] = ("error", "timeout")
    retry_seconds: float = 0.0
    host: str | None = None
    endpoint_tls: EndpointTls | None = None
    upgrade_protocols: tuple[str, ...] = ("websocket",)


class Affinity(msgspec.Struct, frozen=True):
    """A client stays with its endpoint by a cookie (the annotations session-cookie-* of ingress-nginx).

    `persistent`: the cookie names the endpoint itself, else a key that a consistent hash leads to one. Seconds are
    relative to the answer, None leaves the attribute out. `path` and the other texts are as they go on the wire.
    `secure` says so on plain HTTP too. `same_site_conditional` spares old browsers a SameSite=None.
    """

    cookie: str = "INGRESSCOOKIE"
    persistent: bool = False
    change_on_failure: bool = False
    path: str = "/"
    domain: str = ""
    expires_seconds: int | None = None
    max_age_seconds: int | None = None
    same_site: str = ""
    same_site_conditional: bool = False
    secure: bool = False


class Canary(msgspec.Struct, frozen=True):
    """Another backend for some requests of a route, with the rules that choose it; empty texts are no rule.

    `header_pattern` counts without a `header_value`. Of `weight_total` requests that no rule decides, `weight` come
    here. `follows_affinity`: whoever was served here stays, with the route's own affinity; otherwise the rules decide
    each time, and `affinity` is the canary's.
    """

    backend: BackendKey
    namespace: str
    ingress: str
    service: str
    header: str = ""
    header_value: str = ""
    header_pattern: str = ""
    cookie: str = ""
    weight: int = 0
    weight_total: int = 100
    follows_affinity: bool = True
    affinity: Affinity | None = None
    hash_by: str = ""
    zone_policy: ZonePolicy | None = None


class Route(msgspec.Struct, frozen=True):
    """One path of a host and where it leads. `backend` None: the reference is broken, the path answers 503.

    `namespace` and `ingress` name the object the route came from; `service` is kept for metrics and logs even where
    the backend is missing. `zone_policy` None: the backend's own policy holds. `canaries` come in the order in which
    they are asked. `hash_by` is text with variables, whose value chooses the endpoint where there is no `affinity`.
    """

    path: str
    kind: PathKind
    backend: BackendKey | None
    namespace: str
    ingress: str
    service: str
    policy: RoutePolicy = RoutePolicy()
    zone_policy: ZonePolicy | None = None
    canaries: tuple[Canary, ...] = ()
    affinity: Affinity | None = None
    hash_by: str = ""


class Host(msgspec.Struct, frozen=True):
    """A host name with its routes. `name`: exact name, `*.` and a suffix for one leading label, or empty for all hosts.

    `default` answers the paths that no route matches. `certificate` is the key of a `Certificate` in the model.
    """

    name: str
    routes: tuple[Route, ...] = ()
    default: Route | None = None
    certificate: str | None = None


class Certificate(msgspec.Struct, frozen=True):
    """A certificate chain and its private key, PEM. `key` is `namespace/name` of the Secret."""

    key: str
    chain_pem: bytes
    private_key_pem: bytes
    expires_at_epoch_seconds: float

    def __repr__(self) -> str:
        return f"Certificate(key={self.key!r}, expires_at_epoch_seconds={self.expires_at_epoch_seconds!r})"


class OwnZone(msgspec.Struct, frozen=True):
    """Where this replica runs and how it knows. `source`: flag, node, pod or none (then `zone` is None).

    `labels` are those labels of the own node that a policy names.
    """

    zone: Zone | None = None
    source: str = "none"
    node: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


class ZonePrices(msgspec.Struct, frozen=True):
    """Dollars for a gigabyte (10^9 bytes) between two different known zones; inside a zone it is free.

    `pairs` are (from, to, price), sorted; what is not among them costs `default`.
    """

    default: float = 0.02
    pairs: tuple[tuple[Zone, Zone, float], ...] = ()


class ZoneFacts(msgspec.Struct, frozen=True):
    """What is known about the zones of the cluster, beyond endpoints.

    `cpu_milli` is the allocatable CPU of the ready nodes by zone, sorted, None where a node lacks a zone or its CPU
    (then `allocate` cannot decide). `replicas` counts the ready pods of this ingress by zone, sorted, None where that
    is not known. `drained` are zones that the operator wants empty, over `drain_ramp_seconds`.
    """

    cpu_milli: tuple[tuple[Zone, int], ...] | None = None
    replicas: tuple[tuple[Zone, int], ...] | None = None
    drained: tuple[Zone, ...] = ()
    drain_ramp_seconds: float = 30.0
    prices: ZonePrices = ZonePrices()


class ProxySettings(msgspec.Struct, frozen=True):
    """Settings that hold for the whole data plane and may change while it runs. Durations in seconds."""

    client_header_timeout_seconds: float = 60.0
    client_body_timeout_seconds: float = 60.0
    keep_alive_seconds: float = 75.0
    keep_alive_requests: int = 1000
    head_line_bytes: int = 8 * 1024
    head_lines_max: int = 100
    head_bytes: int = 32 * 1024
    endpoint_idle_connections: int = 320
    endpoint_idle_seconds: float = 60.0
    endpoint_requests: int = 10_000
    hsts: str | None = "max-age=31536000; includeSubDomains"
    underscores_in_headers: bool = False
    generate_request_id: bool = True
    proxy_protocol: bool = False
    proxy_protocol_timeout_seconds: float = 5.0
    client_connections: int = 16_384


class RoutingModel(msgspec.Struct, frozen=True):
    """Everything the data plane serves, whole. Hosts sorted by name, backends and certificates by key."""

    hosts: tuple[Host, ...] = ()
    backends: tuple[Backend, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    own_zone: OwnZone = OwnZone()
    zones: ZoneFacts = ZoneFacts()
    default_route: Route | None = None
    default_certificate: str | None = None
    proxy: ProxySettings = ProxySettings()


class Publication(msgspec.Struct, frozen=True):
    """A model with the number that says how new it is; numbers grow by one."""

    generation: int
    model: RoutingModel
