"""Options that limit clients: how often requests come, how many are in flight, how fast a body is sent.

Source: ingress-nginx v1.15.1, annotations limit-*, and their defaults in the ConfigMap. It must not know how requests
are counted.
"""

from __future__ import annotations

import msgspec

from balancer.matching.variables import UnknownVariable, compile_text
from balancer.model.gates import GateRule
from balancer.model.limits import FlightLimit, LimitScope, Rate, RateLimit
from balancer.model.policies import RoutePolicy
from ingress.findings import Severity
from ingress.settings.table.option import OWN_PREFIX, cluster_option, ingress_option, route_option
from ingress.settings.table.source_ranges import networks
from ingress.settings.unsupported import closing
from ingress.settings.values import InvalidValue, Word, integer

_UNLIMITED = closing(Severity.UNPROTECTED, "clients may send as much as they like")
_APART = closing(Severity.UNPROTECTED, "each replica lets the whole rate pass")
_OTHER_CLIENTS = closing(Severity.UNPROTECTED, "limits count something else than meant")
_TOO_FAST = closing(Severity.UNPROTECTED, "clients may receive as fast as they like")

_KILOBYTE = 1024
_BURST_MULTIPLIER = 5
_REFUSAL_LEAST, _REFUSAL_MOST = 400, 599
_ADDRESSES = frozenset({"$binary_remote_addr", "$remote_addr"})
_SECOND, _MINUTE = 1, 60
_SCOPES = {scope.value: scope for scope in LimitScope}


class LimitSettings(msgspec.Struct, frozen=True):
    """What an Ingress says about limits; 0 is no limit. `whitelisted` is the old name of `exempt`."""

    in_flight: int = 0
    a_second: int = 0
    a_minute: int = 0
    burst_multiplier: int = _BURST_MULTIPLIER
    exempt: tuple[str, ...] = ()
    whitelisted: tuple[str, ...] = ()
    scope: LimitScope = LimitScope.REPLICA

    def gates(self, zone: str, cluster: ClusterLimits) -> tuple[GateRule, ...]:
        """The gates of an Ingress with these settings. All its paths count in one `zone`."""
        exempt = self.exempt or self.whitelisted
        rates = tuple(
            Rate(requests, seconds, requests * self.burst_multiplier)
            for requests, seconds in ((self.a_minute, _MINUTE), (self.a_second, _SECOND))
            if requests
        )
        found: list[GateRule] = []
        if self.in_flight:
            found.append(FlightLimit(zone, self.in_flight, exempt, cluster.key, cluster.flight_status))
        if rates:
            found.append(RateLimit(zone, rates, exempt, cluster.key, cluster.rate_status, self.scope))
        return tuple(found)


class ClusterLimits(msgspec.Struct, frozen=True):
    """What the ConfigMap says about all limits. An empty `key`: the address of a client is its key."""

    rate_status: int = 503
    flight_status: int = 503
    key: str = ""


def _count(text: str) -> int:
    return integer(0)(text) if text.strip() else 0


def _kilobytes(text: str) -> int:
    """Kilobytes, in bytes."""
    return _count(text) * _KILOBYTE


def _refusal_status(text: str) -> int:
    status = integer(0)(text)
    if not _REFUSAL_LEAST <= status <= _REFUSAL_MOST:
        raise InvalidValue(f"use a status from {_REFUSAL_LEAST} to {_REFUSAL_MOST}")
    return status


def _client_key(text: str) -> str:
    text = text.strip()
    if not text or text in _ADDRESSES:
        return ""
    try:
        compile_text(text)
    except UnknownVariable as problem:
        raise InvalidValue(str(problem)) from None
    return text


LIMIT_OPTIONS = (
    ingress_option(
        name="limit-rps",
        fills=(LimitSettings, "a_second"),
        grammar=_count,
        doc="requests of a client in a second, on all paths of the Ingress together; more get 503. So many times"
        " `limit-burst-multiplier` may come at once beside the first. Who counts together: `limit-scope`. IPv6 clients"
        " count by their network of 64 bits. 0 is no limit",
        if_invalid=_UNLIMITED,
    ),
    ingress_option(
        name="limit-rpm",
        fills=(LimitSettings, "a_minute"),
        grammar=_count,
        doc="the same for a minute; with both, a request must pass both",
        if_invalid=_UNLIMITED,
    ),
    ingress_option(
        name="limit-connections",
        fills=(LimitSettings, "in_flight"),
        grammar=_count,
        doc="requests of a client in flight at the same time, counted likewise; more get 503",
        if_invalid=_UNLIMITED,
    ),
    ingress_option(
        name="limit-burst-multiplier",
        fills=(LimitSettings, "burst_multiplier"),
        grammar=integer(0),
        default=str(_BURST_MULTIPLIER),
        doc="how many times a rate may come at once",
    ),
    route_option(
        name="limit-scope",
        prefix=OWN_PREFIX,
        fills=(LimitSettings, "scope"),
        grammar=Word(_SCOPES),
        default="replica",
        doc="who counts requests of `limit-rps` and `limit-rpm` together: `replica`, its workers; `fleet`, all replicas"
        " that tell each other, or exactly with `--limit-store` ([fleet.md](fleet.md)); without other replicas as"
        " `replica`",
        if_invalid=_APART,
    ),
    ingress_option(
        name="limit-allowlist",
        fills=(LimitSettings, "exempt"),
        grammar=networks,
        doc="comma list of addresses and networks without these limits",
        if_invalid=_OTHER_CLIENTS,
    ),
    ingress_option(
        name="limit-whitelist",
        fills=(LimitSettings, "whitelisted"),
        grammar=networks,
        doc="the old name of `limit-allowlist`; counts if that is empty",
        if_invalid=_OTHER_CLIENTS,
    ),
    route_option(
        name="limit-rate",
        fills=(RoutePolicy, "body_rate"),
        grammar=_kilobytes,
        default="0",
        doc="kilobytes of a response body in a second, each response for itself, after those of one second at once;"
        " 0 is no limit. It holds with `proxy-buffering` off, too",
        if_invalid=_TOO_FAST,
    ),
    route_option(
        name="limit-rate-after",
        fills=(RoutePolicy, "body_rate_after"),
        grammar=_kilobytes,
        default="0",
        doc="kilobytes of a response body before `limit-rate` begins",
        if_invalid=_TOO_FAST,
    ),
    cluster_option(
        name="limit-req-status-code",
        fills=(ClusterLimits, "rate_status"),
        grammar=_refusal_status,
        default="503",
        doc="status for requests over `limit-rps` and `limit-rpm`, from 400 to 599",
    ),
    cluster_option(
        name="limit-conn-status-code",
        fills=(ClusterLimits, "flight_status"),
        grammar=_refusal_status,
        default="503",
        doc="status for requests over `limit-connections`, from 400 to 599",
    ),
    cluster_option(
        name="limit-conn-zone-variable",
        fills=(ClusterLimits, "key"),
        grammar=_client_key,
        default="$binary_remote_addr",
        doc="what tells clients apart for all limits: an address, or text with the variables of `upstream-hash-by`."
        " Requests without a value are not limited. A text that cannot be read closes every path",
        if_invalid=_OTHER_CLIENTS,
    ),
)
