"""What of Gateways becomes the model: entry points, route configurations, listeners, claims of hosts and of relays.

Each port is an entry point with a route configuration of its own, and each listener a part of that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter

import msgspec

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.endpoints import EndpointTls
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.gates import GateRule, in_phases
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import PathKind, TrailingSlash
from ingress.objects.metadata import Kind
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.source_ranges import SourceSettings
from ingress.sources.events import BoundPort
from ingress.translation.claims import Claim, HostClaim
from ingress.translation.desired import EntryParts
from ingress.translation.gateway.annotations import NO_SETTINGS, RouteSettings
from ingress.translation.gateway.conditions import service_expression
from ingress.translation.gateway.hostnames import nearness, normal
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.memory import GatewayMemory
from ingress.translation.gateway.own_ports import left_over_configuration
from ingress.translation.gateway.reading import ReadGateways
from ingress.translation.gateway.relaying import relay_claims
from ingress.translation.gateway.remembered_hosts import RoutesOfHosts, names_of
from ingress.translation.gateway.route_claims import Ranked, RouteClaims
from ingress.translation.gateway.route_facts import Name
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.gateway.ways import CHAIN_MOST, ways_of
from ingress.translation.secrets.authority_keys import config_maps_key

_CALLS = Kind.GRPC_ROUTE.value
_PROTOCOLS = {"HTTP": Protocol.HTTP, "HTTPS": Protocol.HTTPS, "TLS": Protocol.TLS, "TCP": Protocol.TCP}


def gateway_parts(
    gateways: ReadGateways,
    settings: ClusterSettings,
    *,
    sockets: Mapping[int, str],
    overrides: Mapping[tuple[str, str, str], RouteSettings],
    memory: GatewayMemory | None = None,
) -> EntryParts:
    """The parts of `gateways`. `sockets` are the names of bound sockets by the port of a Gateway, where Gateways share
    them.

    `overrides` are what annotations of routes set, by kind, namespace and name. `memory` is that of reading them; None:
    nothing is remembered.
    """
    memory = memory or GatewayMemory()
    placed = (_placed(each, sockets) for each in gateways.listeners if is_bound(each))
    bound = [each for each in placed if each.socket]
    places = {each.configuration: each for each in bound}
    blocking = (*settings.access.gates(), *SourceSettings().gates(SourceSettings(), settings.access.blocked_networks))
    left_over = {left_over_configuration(each): each for each in gateways.left_over}
    configurations = [_configuration(key, in_phases(blocking)) for key in (*places, *left_over)]
    entry_points = [*_entry_points(places, _protocols(bound)), *_left_over(left_over)]
    listeners = [_listener(each) for each in bound]
    ways = {key: ways_of(gateways, key) for key in gateways.gateways}
    making = _Making(settings, gateways, ways, overrides, memory)
    by_key = {each.key: each for each in bound}
    return EntryParts(
        tuple(sorted(entry_points, key=lambda each: each.key)),
        tuple(sorted(configurations, key=lambda each: each.key)),
        tuple(sorted(listeners, key=lambda each: each.key)),
        making.hosts({key: each for key, each in by_key.items() if not each.relays}),
        relay_claims(
            [each for each in gateways.routes if each.oversized is None],
            {key: each for key, each in by_key.items() if each.relays},
            settings,
            ways=ways,
            overrides=overrides,
            zones=gateways.zones,
        ),
    )


def _entry_points(places: Mapping[str, ReadListener], protocols: Mapping[str, Protocol]) -> Iterator[EntryPoint]:
    """The entry points of the ports with listeners. Both arguments are by route configuration."""
    for key, each in places.items():
        yield EntryPoint(
            _entry_point_key(key, protocols[key]),
            protocols[key],
            each.spec.port,
            each.socket,
            configuration=key,
            http2_cleartext=protocols[key] is Protocol.HTTP,  # calls of a GRPCRoute come in HTTP/2
        )


def _left_over(ports: Mapping[str, BoundPort]) -> Iterator[EntryPoint]:
    """The entry points of ports that clients may still come to, by route configuration."""
    for key, each in ports.items():
        protocol = _PROTOCOLS.get(each.protocol.upper())
        if protocol is not None:
            yield EntryPoint(_entry_point_key(key, protocol), protocol, each.port, str(each.target), key)


def _configuration(key: str, unmatched: tuple[GateRule, ...]) -> RouteConfiguration:
    """What stands behind a port. A handshake for which no listener has a certificate is refused."""
    return RouteConfiguration(
        key, unmatched_gates=unmatched, has_fallback=False, wildcards=Wildcards.MANY_LABELS, falls_through=True
    )


def configuration_key(port: int) -> str:
    """The key of the entry point of a port that Gateways share, and of its route configuration."""
    return f"gateway:{port}"


def _placed(item: ReadListener, sockets: Mapping[int, str]) -> ReadListener:
    """The listener with its socket, an empty one if there is none, and its route configuration."""
    if item.configuration:
        return item
    port = item.spec.port
    return msgspec.structs.replace(item, socket=sockets.get(port, ""), configuration=configuration_key(port))


def _protocols(bound: Iterable[ReadListener]) -> dict[str, Protocol]:
    """What is spoken at each place, by route configuration. Where HTTPS and TLS stand beside each other, the
    ClientHello says which.
    """
    found: dict[str, Protocol] = {}
    for each in bound:
        said = _PROTOCOLS[each.spec.protocol]
        if said is not Protocol.TLS or each.configuration not in found:
            found[each.configuration] = said
    return found


def _entry_point_key(configuration: str, protocol: Protocol) -> str:
    """The key of an entry point. Of another protocol it is another one, but HTTPS and TLS share theirs."""
    return f"{configuration}/tcp" if protocol is Protocol.TCP else configuration


def _listener(read: ReadListener) -> Listener:
    hostname = "" if read.spec.protocol == "TCP" else normal(read.spec.hostname)
    return Listener(
        read.key,
        read.configuration,
        hostname,
        read.certificates,
        _demand(read),
        only_relays=read.relays,
        oldest_tls=read.oldest_tls,
    )


def is_bound(listener: ReadListener) -> bool:
    """Whether a listener has a part in the model. One that cannot show a certificate has, so that no other takes its
    requests; it has no hosts.
    """
    return listener.is_open and listener.spec.protocol in _PROTOCOLS


class _Making:
    """Makes claims of routes, and of hosts from them. What was made of the same before is the same object."""

    def __init__(
        self,
        settings: ClusterSettings,
        gateways: ReadGateways,
        ways: Mapping[tuple[str, str], Mapping[NamedPort, EndpointTls | None]],
        overrides: Mapping[tuple[str, str, str], RouteSettings],
        memory: GatewayMemory,
    ) -> None:
        self._gateways = gateways
        self._overrides = overrides
        self._memory = memory
        self._claims = {key: RouteClaims(settings, each) for key, each in ways.items()}
        self._common = {key: memory.one(f"claims of {key}", (settings, each)) for key, each in ways.items()}
        self._zones = memory.one("zones", gateways.zones)

    def hosts(self, bound: Mapping[str, ReadListener]) -> tuple[HostClaim, ...]:
        """The claims of all hosts of the listeners `bound`, by key."""
        serving = {key: each for key, each in bound.items() if each.serves}
        shared = {key: self._shared(each) for key, each in serving.items()}
        memory, routes, around = self._memory, self._gateways.routes, (shared, self._overrides)
        concerned = memory.names.concerned(routes, around)
        by_name = concerned if concerned is not None else _by_name(routes, serving)

        def make(place: Name) -> HostClaim:
            return self._host(serving[place[0]], place, by_name[place], shared[place[0]])

        if concerned is None:
            return memory.names.take(routes, around, by_name, make)
        memory.claims.keep_all()
        memory.hosts.keep_all()
        return memory.names.take_some(routes, concerned, make)

    def _shared(self, listener: ReadListener) -> tuple[object, ...]:
        """What the hosts of a listener have in common: the same object as last time if it is equal."""
        alone = self._alone(listener)
        common = self._common[listener.gateway]
        given = (common, self._zones, alone, _demand(listener), listener.configuration)
        return self._memory.one(f"hosts of {listener.key}", given)

    def _alone(self, listener: ReadListener) -> ReadListener | None:
        """The listener if a policy is for its requests only. All others of a Gateway share claims."""
        return listener if self._zones.names_listener(listener) else None

    def _said(self, read: ReadRoute) -> RouteSettings:
        metadata = read.route.metadata
        return self._overrides.get((read.route.kind.value, metadata.namespace, metadata.name), NO_SETTINGS)

    def _of(self, read: ReadRoute, listener: ReadListener) -> list[Ranked]:
        """The claims of a route to a listener."""
        alone, said = self._alone(listener), self._said(read)
        key = (read.facts.seniority, listener.gateway, alone.key if alone is not None else "")
        given = (read, said, self._common[listener.gateway], self._zones, alone)

        def make() -> list[Ranked]:
            return self._claims[listener.gateway].of(read, said, partial(self._zones.for_branch, listener, read))

        return self._memory.claims.of(key, given, make)

    def _host(
        self, listener: ReadListener, place: Name, reads: list[ReadRoute], shared: tuple[object, ...]
    ) -> HostClaim:
        """The host at a place. `reads` are its routes by age. Whose hostname says more of the name counts before."""
        said = list(map(self._said, reads)) if self._overrides else None

        def make() -> HostClaim:
            by_hostname = sorted(reads, key=lambda each: -nearness(each.facts.hostnames, place[1]))
            return _host(listener, place[1], _in_order([self._of(each, listener) for each in by_hostname]))

        return self._memory.hosts.of(place, (reads, said, shared), make)


def _by_name(routes: Iterable[ReadRoute], serving: Collection[str]) -> RoutesOfHosts:
    """The routes of each host of the listeners `serving`."""
    found: dict[Name, list[ReadRoute]] = {}
    for read in routes:
        for name in names_of(read):
            if name[0] in serving:
                found.setdefault(name, []).append(read)
    return found


def _in_order(ranked: Sequence[Sequence[Ranked]]) -> tuple[Claim, ...]:
    """The claims of a host in the order in which they count: by rank, then by the age of their route."""
    every = [((*each.rank, age, each.number), each.claim) for age, own in enumerate(ranked) for each in own]
    claims = tuple(claim for _, claim in sorted(every, key=itemgetter(0)))
    if any(each.kind is PathKind.REGEX and each.owner.kind == _CALLS for each in claims):
        return tuple(map(_service_first, claims))
    return claims


def _service_first(claim: Claim) -> Claim:
    """The claim of a whole service as an expression: expressions outrank prefixes, and a service outranks a method."""
    if claim.owner.kind != _CALLS or claim.kind is not PathKind.PREFIX or claim.path == "/":
        return claim
    return msgspec.structs.replace(claim, kind=PathKind.REGEX, expression=service_expression(claim.path))


def _host(listener: ReadListener, name: str, in_order: tuple[Claim, ...]) -> HostClaim:
    return HostClaim(
        name,
        tuple(msgspec.structs.replace(each, host=name) for each in in_order),
        client_certificates=ClientCertificates(demand) if (demand := _demand(listener)) is not None else None,
        listener=listener.key,
        configuration=listener.configuration,
        trailing_slash=TrailingSlash.SAME,
    )


def _demand(listener: ReadListener) -> ClientDemand | None:
    """What the handshakes of a listener ask clients for; None: nothing."""
    if not listener.authorities:
        return None
    verification = ClientVerification.ANY if listener.lets_others_in else ClientVerification.ON
    key = config_maps_key(listener.authorities)
    return ClientDemand("", key, listener.authorities_digest, verification, CHAIN_MOST, in_handshake=True)
