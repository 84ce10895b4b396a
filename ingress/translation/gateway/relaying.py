"""From TLSRoutes and TCPRoutes to relay claims: which connections of which listener go to which Services.

Of routes that have one name of a listener, that whose hostname says most of it has it, and of equals the oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from balancer.errors import ErrorKind
from balancer.model.endpoints import EndpointTls
from balancer.model.routes import Branch, Owner, ServiceName
from ingress.objects.gateway_references import WeightedBackend
from ingress.objects.gateway_routes import TcpRoute, TlsRoute
from ingress.objects.kinds import ServicePortReference
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.claims import BranchClaim, RelayClaim
from ingress.translation.gateway.annotations import NO_SETTINGS, RouteSettings
from ingress.translation.gateway.hostnames import nearness
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.service_references import NamedPort, plain
from ingress.translation.gateway.zone_policies import BranchZones, ZonePolicies

Ways = Mapping[NamedPort, EndpointTls | None]
"""How the ports that policies protect are spoken to; None: not at all."""


def relay_claims(
    routes: Iterable[ReadRoute],
    relaying: Mapping[str, ReadListener],
    settings: ClusterSettings,
    *,
    ways: Mapping[tuple[str, str], Ways],
    overrides: Mapping[tuple[str, str, str], RouteSettings],
    zones: ZonePolicies,
) -> tuple[RelayClaim, ...]:
    """The claims of `routes`, which come by age, sorted by listener and name.

    `relaying` are the listeners for streams, by key. `ways` are by Gateway, `overrides` what annotations of routes set,
    `zones` the policies of zones.
    """
    found: dict[tuple[str, str], tuple[int, RelayClaim]] = {}
    for read in routes:
        if not isinstance(read.route, (TlsRoute, TcpRoute)):
            continue
        for attachment in (each for parent in read.parents for each in parent.attached):
            listener = relaying.get(attachment.listener.key)
            if listener is None or not listener.serves:
                continue
            claim = None
            for name in attachment.hostnames if listener.spec.protocol == "TLS" else ("",):
                near = nearness(read.facts.hostnames, name)
                if (listener.key, name) not in found or found[listener.key, name][0] < near:
                    claim = claim or _claim(
                        read, settings, ways[listener.gateway], overrides, listener=listener, zones=zones
                    )
                    named = msgspec.structs.replace(claim, name=name, configuration=listener.configuration)
                    found[listener.key, name] = near, named
    return tuple(found[key][1] for key in sorted(found))


def _claim(
    read: ReadRoute,
    settings: ClusterSettings,
    ways: Ways,
    overrides: Mapping[tuple[str, str, str], RouteSettings],
    *,
    listener: ReadListener,
    zones: ZonePolicies,
) -> RelayClaim:
    """The claim of a route to a listener, without a name."""
    metadata = read.route.metadata
    owner = Owner(read.route.kind.value, metadata.namespace, metadata.name)
    said = overrides.get((owner.kind, owner.namespace, owner.name), NO_SETTINGS).overrides
    rules = read.route.spec.rules
    backends = rules[0].backend_refs if rules else ()
    zones_of = partial(zones.for_branch, listener, read, rules[0].name if rules else "", said=said)
    # Bytes that pass are TLS of the client already, so whatever a policy says of TLS is up to the client.
    used = {} if listener.passes_tls else ways
    branches = tuple(_branch(read, each, used, owner=owner, zones=zones_of) for each in backends if each.weight > 0)
    return RelayClaim(
        "",
        owner,
        branches or (_nowhere(owner),),
        ends_tls=listener.ends_tls,
        connect_seconds=settings.route_policy.connect_timeout_seconds,
        tries=settings.route_policy.tries,
        listener=listener.key,
        closed=settings.closed,
    )


def _branch(
    read: ReadRoute,
    backend: WeightedBackend,
    ways: Ways,
    *,
    owner: Owner,
    zones: Callable[[NamedPort], BranchZones],
) -> BranchClaim:
    port = read.resolved[plain(backend)]
    service = ServiceName(backend.namespace or owner.namespace, backend.name)
    branch = Branch(None, owner, service, weight=backend.weight, error=ErrorKind.BACKEND_INVALID)
    if not isinstance(port, NamedPort) or (port in ways and ways[port] is None):
        return BranchClaim(branch, None)
    reference = ServicePortReference(number=port.port)
    said = zones(port)
    return BranchClaim(branch, reference, tls=ways.get(port), http2=False, overrides=said.strong, defaults=said.weak)


def _nowhere(owner: Owner) -> BranchClaim:
    """The branch of connections that no backend may get."""
    return BranchClaim(Branch(None, owner, ServiceName(owner.namespace, ""), error=ErrorKind.BACKEND_INVALID), None)
