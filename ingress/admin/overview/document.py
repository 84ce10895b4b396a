"""Defines the document of `/debug/overview`: what one replica knows about its traffic, for people and programs.

Counters only grow while a replica lives, so a reader computes rates from two documents, and adds up replicas by adding
their counters. A field with its default is left out of the JSON. `docs/overview.md` describes the fields. Values only.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from ingress.findings import Finding

FORMAT = 1
"""Grows when a field changes its meaning. New fields may come at any time."""

PARTS = ("flows", "zones", "services", "routes", "endpoints", "certificates", "findings", "settings", "fleet")
"""The parts that may be asked for. `replica` and `bounds_seconds` are always there."""


class Mode(Enum):
    """Where the requests of a Service go now.

    ZONAL: by the zone policy. GENERAL: to every endpoint, for the reason given. REFUSING: the policy wants none of the
    endpoints, requests get 503. EMPTY: there is no endpoint, requests get 503.
    """

    ZONAL = "zonal"
    GENERAL = "general"
    REFUSING = "refusing"
    EMPTY = "empty"


class LocalityCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Requests by where their endpoint was. `unknown`: a zone is unknown, or no endpoint was picked."""

    local: int = 0
    remote: int = 0
    unknown: int = 0


class DurationCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Requests by duration and locality. Item N counts durations up to `bounds_seconds[N]`, the last item longer ones.

    Not cumulative. Empty: no request.
    """

    local: tuple[int, ...] = ()
    remote: tuple[int, ...] = ()


class Flow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counters of the traffic from the zone of this replica to a zone; `to_zone` is `unknown` also without an endpoint.

    `errors` are answers with 5xx. Bytes are those of bodies, `sent` to endpoints and `received` from them, with their
    prices in dollars for 10^9 bytes.
    """

    from_zone: str
    to_zone: str
    requests: int = 0
    errors: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    sent_price: float = 0.0
    received_price: float = 0.0


class ZoneRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A zone that has an endpoint, a replica or traffic. An endpoint counts once for each Service port."""

    name: str
    own: bool = False
    drained: bool = False
    ready: int = 0
    draining: int = 0
    ejected: int = 0
    replicas: int = 0


class ServiceZone(msgspec.Struct, frozen=True, omit_defaults=True):
    """The endpoints of a Service in one zone, by state."""

    zone: str
    ready: int = 0
    draining: int = 0
    ejected: int = 0


class SickZone(msgspec.Struct, frozen=True, omit_defaults=True):
    """A zone of a Service whose answers fail. `state` is probing, leaving, held or returning.

    `share` of the requests avoids it, for `reason`; `is_left`: more than a few that compare. In a `dry_run` none really
    does, and those of whom `staying` names never do. Lately `answers` came from the zone, of which `failed` did, and
    the `other_` ones from the other zones. `seconds` is how long requests have left the zone, or how long the state has
    lasted.
    """

    zone: str
    state: str
    share: float = 0.0
    is_left: bool = False
    answers: int = 0
    failed: int = 0
    other_answers: int = 0
    other_failed: int = 0
    seconds: float = 0.0
    reason: str = ""
    dry_run: bool = False
    staying: str = ""


class ModeEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """The mode of a Service since `at_epoch_seconds`."""

    at_epoch_seconds: float
    mode: Mode
    reason: str


class TriedPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a dry run would have changed since it began, as far as this replica knows.

    Of `requests`, `kept` had stayed in the own zone, and their bytes had cost `saved_dollars` less than they did.
    """

    since_epoch_seconds: float
    requests: int = 0
    kept: int = 0
    saved_dollars: float = 0.0


class ServiceRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Service that a route leads to: facts first, then counters.

    `policy` is the name of the zone policy. Under `dry_run` the mode is what the policy would decide, `tried` says what
    that would change, and `tried_text` says so in a sentence. `reason` is a reason code, `reason_text` its meaning.
    `spill_ratio` is None unless the policy is adaptive. `expected_load` is that
    of an endpoint in the own zone, as a multiple of the average (None: it has none). `sick_zones` are zones whose
    answers fail, by name. `changes` are the last modes, the newest last. `errors` are answers with 5xx. `reasons` count
    picks by reason code. `dollars` is the cost of the bytes between zones, `blind_dollars` their cost for a proxy that
    does not know zones.
    """

    namespace: str
    name: str
    policy: str = "off"
    dry_run: bool = False
    tried: TriedPolicy | None = None
    tried_text: str = ""
    rollout_percent: int = 100
    mode: Mode = Mode.EMPTY
    reason: str = ""
    reason_text: str = ""
    spill_ratio: float | None = None
    overload_factor: float | None = None
    expected_load: float | None = None
    sick_zones: tuple[SickZone, ...] = ()
    zones: tuple[ServiceZone, ...] = ()
    changes: tuple[ModeEvent, ...] = ()
    requests: LocalityCounts = LocalityCounts()
    errors: int = 0
    reasons: dict[str, int] = {}
    durations: DurationCounts = DurationCounts()
    sent_bytes: int = 0
    received_bytes: int = 0
    dollars: float = 0.0
    blind_dollars: float = 0.0
    retries: int = 0
    ejections: int = 0


class RouteRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One path of a host. An empty `host` is every host, an empty `ingress` the operator's default backend.

    `features` are short words such as `affinity` or `canary`. `certificate` is `namespace/name` of a Secret. `closed`:
    every request gets 503, because the Ingress asks for something that zonal does not support. `requests` were answered
    since the start of the replica, `errors` of them with a status from 500 on. Rows that have all other names in common
    are counted together: routes of one object and Service that differ by conditions alone.
    """

    host: str
    path: str
    kind: str
    namespace: str = ""
    ingress: str = ""
    service: str = ""
    backend: str = ""
    closed: bool = False
    features: tuple[str, ...] = ()
    certificate: str = ""
    requests: int = 0
    errors: int = 0


class EndpointRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """An endpoint of a Service port. `state` is ready, draining, ejected or fails_checks; the last two are judged by
    `workers` workers. An empty zone, node or pod is unknown.

    Only in a document about one Service: `in_flight` are requests under way in all workers, `ejected_seconds` is how
    long the endpoint is still ejected, and `latency_seconds` the moving average where the balancer measures one.
    """

    namespace: str
    service: str
    port: str
    address: str
    zone: str = ""
    node: str = ""
    pod: str = ""
    state: str = "ready"
    workers: int = 0
    in_flight: int = 0
    latency_seconds: float | None = None
    ejected_seconds: float | None = None


class CertificateRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A certificate in use by `hosts` host names (the first few are listed)."""

    namespace: str
    secret: str
    expires_at_epoch_seconds: float
    hosts: tuple[str, ...] = ()
    host_count: int = 0


class SettingRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A setting in force. `source` is default, ConfigMap or command line."""

    name: str
    value: str
    source: str = "default"


class WorkerRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A worker process. CPU time is a counter."""

    number: int
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    started_at_epoch_seconds: float = 0.0


class PeerRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another replica, as the endpoints of the publish Service tell. `url` is where its page would be."""

    address: str
    zone: str = ""
    node: str = ""
    pod: str = ""
    ready: bool = True
    url: str = ""


class ReplicaFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The replica that answers. `own_zone` is empty if unknown; `zone_source` says how it is known: node, pod, flag,
    none.

    `problem` is why it is not ready, else empty. `leading` None: it takes part in no election. `watch_ages_seconds`
    says for each kind when the API server last sent something; empty for a folder. `api_problem` is why the API server
    cannot be reached, else empty.
    """

    version: str
    build: str = ""
    pod: str = ""
    own_zone: str = ""
    zone_source: str = "none"
    node: str = ""
    source: str = ""
    started_at_epoch_seconds: float = 0.0
    generation: int = 0
    published_at_epoch_seconds: float = 0.0
    translation_seconds: float = 0.0
    problem: str = ""
    leading: bool | None = None
    api_problem: str = ""
    watch_ages_seconds: dict[str, float] = {}
    connections: dict[str, int] = {}
    loop_lag_seconds: float = 0.0
    worker_restarts: int = 0
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    workers: tuple[WorkerRow, ...] = ()
    peers: tuple[PeerRow, ...] = ()


class FleetReplica(msgspec.Struct, frozen=True, omit_defaults=True):
    """A replica as the one that answers knows it. `own`: it is that one. `state`: up, silent or distrusted.

    `away`: it says that it is not ready, because its links are sick. `requests` are those since it started.
    """

    name: str
    zone: str = ""
    state: str = "up"
    own: bool = False
    away: bool = False
    age_seconds: float = 0.0
    requests: int = 0


class FleetSickZone(msgspec.Struct, frozen=True):
    """A zone that is sick for the fleet: requests leave it at `sick` of its `backends`."""

    zone: str
    sick: int
    backends: int


class FleetPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """All replicas that tell each other, and the sums of their flows. `unheard` others were not heard for a minute.

    `sick_links`: this replica fails where others get answers. Without a peers' port there is this replica alone.
    """

    replicas: tuple[FleetReplica, ...] = ()
    flows: tuple[Flow, ...] = ()
    sick_zones: tuple[FleetSickZone, ...] = ()
    unheard: int = 0
    sick_links: bool = False


class Overview(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The document. A part that was not asked for is UNSET. Counters were read at `at_epoch_seconds`.

    `services` are sorted by namespace and name, `flows` by zones, `findings` by harm, the most harmful first.
    """

    format: int
    at_epoch_seconds: float
    bounds_seconds: tuple[float, ...]
    replica: ReplicaFacts
    flows: tuple[Flow, ...] | msgspec.UnsetType = msgspec.UNSET
    zones: tuple[ZoneRow, ...] | msgspec.UnsetType = msgspec.UNSET
    services: tuple[ServiceRow, ...] | msgspec.UnsetType = msgspec.UNSET
    routes: tuple[RouteRow, ...] | msgspec.UnsetType = msgspec.UNSET
    endpoints: tuple[EndpointRow, ...] | msgspec.UnsetType = msgspec.UNSET
    certificates: tuple[CertificateRow, ...] | msgspec.UnsetType = msgspec.UNSET
    findings: tuple[Finding, ...] | msgspec.UnsetType = msgspec.UNSET
    settings: tuple[SettingRow, ...] | msgspec.UnsetType = msgspec.UNSET
    fleet: FleetPart | msgspec.UnsetType = msgspec.UNSET
