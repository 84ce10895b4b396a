"""Reads everything of Gateway API in a cluster: Gateways with their listeners, routes, and what their statuses say.

Pure: equal clusters give equal results, whatever the order in which objects came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter

import msgspec

from ingress.objects.gateway import Gateway, GatewayClass, ReferenceGrant
from ingress.objects.gateway_routes import ROUTE_RECORDS, GatewayRoute
from ingress.settings.gateway_ports import GatewayServices
from ingress.settings.hooks import RegisteredHook
from ingress.sources.events import BoundPort
from ingress.sources.inventory import Inventory
from ingress.translation.claims import Claims
from ingress.translation.gateway.affected import with_affected
from ingress.translation.gateway.backend_certificates import certificate_problem, shown_certificate
from ingress.translation.gateway.backend_policies import BackendPolicies, JudgedPolicy
from ingress.translation.gateway.classes import class_standing, our_classes
from ingress.translation.gateway.closed_backends import with_closed_backends
from ingress.translation.gateway.condition_bounds import bounded
from ingress.translation.gateway.expression_bounds import needs_room, without_room
from ingress.translation.gateway.features import Needed
from ingress.translation.gateway.grants import Grants
from ingress.translation.gateway.hostname_owners import HostnameOwners
from ingress.translation.gateway.listeners import ListenerOwner, ReadListener, by_owner
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.memory import GatewayMemory
from ingress.translation.gateway.named_objects import needs_of
from ingress.translation.gateway.namespaces import NamespaceLabels
from ingress.translation.gateway.own_ports import Exposure, asked_addresses, missing_address, written
from ingress.translation.gateway.owner_reading import read_owners
from ingress.translation.gateway.register import service_name
from ingress.translation.gateway.route_reading import ReadRoute, RouteSurroundings, read_route
from ingress.translation.gateway.route_sums import RouteSums
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.gateway.standings import Address, ObjectStanding, Problem
from ingress.translation.gateway.statuses import (
    gateway_standing,
    is_valid,
    listener_set_standing,
    listeners_problem,
    route_standing,
)
from ingress.translation.gateway.zone_policies import NO_ZONE_POLICIES, ZonePolicies
from ingress.translation.memory import InventoryView


class GatewayOptions(msgspec.Struct, frozen=True):
    """What a translation knows besides the cluster. `ports` are those that Gateways may open.

    With `services` each Gateway has a Service, and any port, of its own instead. `hooks` are those of the operator.
    `one_namespace_per_hostname`: the namespace of the oldest route owns a hostname of a listener.
    """

    controller: str
    ports: frozenset[int] = frozenset()
    services: GatewayServices | None = None
    allow_external: bool = False
    hooks: tuple[RegisteredHook, ...] = ()
    one_namespace_per_hostname: bool = False


class ReadGateways(msgspec.Struct, frozen=True):
    """Everything of Gateway API that is ours.

    `listeners` are those of every Gateway, in the order in which they count. `routes` come by age, then namespace and
    name. Where each Gateway has a Service, `exposures` say what these Services should be, and `left_over` are the ports
    that clients may still come to. `needs` are the Secrets and ConfigMaps, and `services` the Services, that objects
    name, whether they exist or not. `policies` are those of the ports that routes name. `shown` are the Secrets with
    the certificates that Gateways show to endpoints, `namespace/name`; None: it cannot be used. `zones` are the zone
    policies, `sums` what all routes together say.
    """

    gateways: Mapping[tuple[str, str], Gateway] = {}
    listeners: tuple[ReadListener, ...] = ()
    routes: tuple[ReadRoute, ...] = ()
    standings: tuple[ObjectStanding, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    left_over: tuple[BoundPort, ...] = ()
    needs: tuple[Claims, ...] = ()
    services: frozenset[tuple[str, str]] = frozenset()
    policies: Mapping[NamedPort, JudgedPolicy] = {}
    shown: Mapping[tuple[str, str], str | None] = {}
    zones: ZonePolicies = NO_ZONE_POLICIES
    sums: RouteSums = RouteSums()


NOTHING = ReadGateways()


def read_gateways(
    inventory: Inventory, options: GatewayOptions, material: GatewayMaterial, memory: GatewayMemory | None = None
) -> ReadGateways:
    """Reads the cluster. Without a GatewayClass of ours, or without ports for Gateways, there are only zone policies of
    Ingresses and Services.

    `memory` has begun. None: nothing is remembered.
    """
    classes = our_classes(inventory, options.controller) if options.ports or options.services is not None else {}
    if not classes:
        zones = ZonePolicies(inventory, {})
        if not zones.judged:
            return NOTHING
        return ReadGateways(standings=tuple(zones.standings((), (), options.controller)), zones=zones)
    if memory is None:
        memory = GatewayMemory()
        memory.begin(InventoryView(inventory))
    return _GatewayReading(inventory, options, material, classes, memory).result()


class _GatewayReading:
    """One reading, step by step."""

    def __init__(
        self,
        inventory: Inventory,
        options: GatewayOptions,
        material: GatewayMaterial,
        classes: Mapping[str, GatewayClass],
        memory: GatewayMemory,
    ) -> None:
        self._memory = memory
        self._inventory = inventory
        self._options = options
        self._material = material
        self._classes = classes
        known = tuple(inventory.of(ReferenceGrant))
        self._grants = memory.kept("grants", (known,), partial(Grants, inventory))
        self._labels = NamespaceLabels(inventory)
        owners = memory.owners(
            (options.ports, options.services, tuple(classes), inventory.provisioned, material.bounds),
            lambda seen: read_owners(
                seen,
                material.seen_in(seen),
                classes,
                ports=options.ports,
                services=options.services,
                provisioned=inventory.provisioned,
            ),
        )
        self._owners = owners
        self._gateways = owners.gateways
        self._refused = owners.refused
        self._own = owners.own

    def result(self) -> ReadGateways:
        """Everything that was read."""
        listeners = self._owners.listeners
        grouped: dict[ListenerOwner, tuple[ReadListener, ...]] = {
            **{ListenerOwner("Gateway", *key): () for key in self._gateways},
            **{ListenerOwner("ListenerSet", *key): () for key in self._owners.sets},  # also those that are not taken
            **by_owner(listeners),
        }
        around, present = self._surroundings(grouped), frozenset(self._present())
        crowd = self._memory.crowd([each for kind in ROUTE_RECORDS for each in self._inventory.of(kind)], around)
        read = [each for kind in ROUTE_RECORDS for each in self._reads(kind, around, crowd)]
        read.sort(key=attrgetter("facts.seniority"))
        if self._options.one_namespace_per_hostname:
            owners = HostnameOwners()
            routes = self._with_room(bounded(owners.owned(read)))
            listeners = owners.given_way(listeners)
            grouped |= by_owner(listeners)
        else:
            routes = self._with_room(bounded(read))
        sums = self._memory.sums.of(routes)
        policies = BackendPolicies(self._inventory, self._material.authority_problem)
        held = _held(routes, policies)
        zones = ZonePolicies(self._inventory, self._gateways)
        of_routes = self._memory.of_routes.of_each((each for each in routes if each.parents), self._standing)
        standings = (
            *(class_standing(each, self._inventory, present) for each in self._classes.values()),
            *self._owner_standings(grouped, sums.attached),
            *with_closed_backends(of_routes, routes, held),
            *(policies.standings(_used(routes), self._options.controller) if policies.judged else ()),
            *zones.standings(routes, listeners, self._options.controller),
        )
        return ReadGateways(
            self._gateways,
            listeners,
            routes,
            standings=tuple(sorted(with_affected(standings, zones), key=attrgetter("kind", "namespace", "name"))),
            exposures=tuple(self._exposures(listeners)),
            left_over=self._own.left_over(each for each in listeners if each.is_open) if self._own is not None else (),
            needs=tuple(needs_of(self._gateways, self._classes, listeners, policies, self._grants)),
            services=sums.looked_for | self._own_services(),
            sums=sums,
            policies=held,
            shown=dict(self._shown()),
            zones=zones,
        )

    def _with_room(self, routes: tuple[ReadRoute, ...]) -> tuple[ReadRoute, ...]:
        """The routes, which come by age; those are refused whose expressions and conditions would cost too much."""
        costly = tuple(filter(needs_room, routes))
        refused = self._memory.kept("costs", (costly,), partial(without_room, costly))
        if not refused:
            return routes
        return tuple(
            msgspec.structs.replace(each, oversized=problem) if (problem := refused.get(each.facts.seniority)) else each
            for each in routes
        )

    def _surroundings(self, listeners: Mapping[ListenerOwner, tuple[ReadListener, ...]]) -> RouteSurroundings:
        defaults = tuple(key for key, each in self._gateways.items() if each.spec.default_scope == "All")
        options = self._options
        around = RouteSurroundings(
            listeners, self._labels, self._grants, defaults, options.hooks, options.allow_external
        )
        return self._memory.one("surroundings", around)

    def _standing(self, read: ReadRoute) -> ObjectStanding:
        return route_standing(read, self._options.controller)

    def _present(self) -> Iterator[Needed]:
        """What features may need."""
        services = self._options.services
        if self._inventory.provisioned.channel == "experimental":
            yield Needed.EXPERIMENTAL
        if services is not None and services.external_networks:
            yield Needed.EXTERNAL_IPS
        if services is not None and services.cluster_domain:
            yield Needed.ALIASES

    def _reads(
        self, kind: type[GatewayRoute], around: RouteSurroundings, crowd: Mapping[int, Problem]
    ) -> list[ReadRoute]:
        near = self._memory.one("surroundings of the own namespace", around.near)
        return self._memory.reads(kind, self._inventory.of(kind), around, near, read_route, crowd=crowd)

    def _owner_standings(
        self, listeners: Mapping[ListenerOwner, Sequence[ReadListener]], attached: Counter[str]
    ) -> Iterator[ObjectStanding]:
        accepted: Counter[tuple[str, str]] = Counter()
        for key, (item, parent, refusal) in self._owners.sets.items():
            own = listeners.get(ListenerOwner("ListenerSet", *key), ())
            accepted[parent] += refusal is None and (listeners_problem(own) is None or any(map(is_valid, own)))
            given = (item, own, refusal, tuple(attached[each.key] for each in own))
            yield self._memory.standings.of(
                ("ListenerSet", *key), given, partial(listener_set_standing, item, own, attached, refusal=refusal)
            )
        for key, gateway in self._gateways.items():
            addresses, unaddressed = self._addresses(gateway)
            yield gateway_standing(
                gateway,
                listeners[ListenerOwner("Gateway", *key)],
                attached,
                refused=self._refused.get(key),
                unresolved=certificate_problem(gateway, self._grants, self._material.certificate_problem),
                sets=accepted[key],
                addresses=addresses,
                unaddressed=unaddressed,
            )

    def _addresses(self, gateway: Gateway) -> tuple[tuple[Address, ...], Problem | None]:
        """Where clients reach a Gateway, and why they do not. From a folder nobody knows that."""
        if self._own is not None:
            return self._own.addresses(gateway)
        shared = self._inventory.provisioned.addresses
        if shared is None:
            return (), None
        found = written(shared)
        if not found:
            return (), Problem("AddressNotAssigned", "The addresses of this installation are not known yet.")
        return asked_addresses(gateway, found), missing_address(gateway, found, "this installation has", "it gets it")

    def _exposures(self, listeners: Iterable[ReadListener]) -> Iterator[Exposure]:
        """What the Services of Gateways should be, the oldest Gateway first."""
        if self._own is None:
            return
        served: dict[tuple[str, str], list[ReadListener]] = {}
        for each in listeners:
            if each.is_open:
                served.setdefault(each.gateway, []).append(each)
        for key, gateway in self._gateways.items():
            yield self._own.exposure(gateway, served.get(key, ()))

    def _own_services(self) -> frozenset[tuple[str, str]]:
        """The Services of our Gateways, whether they exist or not."""
        services = self._options.services
        return frozenset((services.namespace, service_name(key)) for key in self._gateways) if services else frozenset()

    def _shown(self) -> Iterator[tuple[tuple[str, str], str | None]]:
        for key, each in self._gateways.items():
            found = shown_certificate(each, self._grants)
            if isinstance(found, Problem):
                yield key, None
            elif found is not None:
                name = "/".join(found)
                yield key, None if self._material.certificate_problem(name) else name


def _held(routes: Iterable[ReadRoute], policies: BackendPolicies) -> dict[NamedPort, JudgedPolicy]:
    """The policies of the ports of Services that routes name."""
    if not policies.judged:
        return {}
    ports: frozenset[NamedPort] = frozenset().union(*(each.ports for each in routes))
    return {port: found for port in ports if (found := policies.of(port)) is not None}


def _used(routes: Iterable[ReadRoute]) -> dict[NamedPort, set[tuple[str, str]]]:
    """The Gateways, by namespace and name, whose routes name each port."""
    found: dict[NamedPort, set[tuple[str, str]]] = {}
    for each in routes:
        for port in each.ports if each.facts.gateways else ():
            found.setdefault(port, set()).update(each.facts.gateways)
    return found
