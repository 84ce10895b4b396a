"""Makes new endpoints when only slices have changed: only the endpoints of their Services are made again.

Gives exactly what a whole translation would give. Our own replicas are endpoints, too. Does not know hosts, routes or
certificates, which it takes over unchanged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Generator, Iterable, Mapping
from functools import lru_cache
from operator import attrgetter

import msgspec

from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.publication import RoutingModel
from balancer.model.zones import Zone, ZonePolicy
from ingress.findings import Finding, Findings
from ingress.objects.kinds import Service, ServicePort, key_of
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.replica_zones import ReplicaZones
from ingress.translation.cluster.zone_findings import GivenZone
from ingress.translation.services.endpoint_findings import PortEndpoints, note_endpoints
from ingress.translation.services.endpoints import endpoints_of, placed_on_nodes
from ingress.translation.services.zone_facts import replicas_by_zone

_PLACED_A_STEP = 16

_key_of = attrgetter("key")


class SlicedService(msgspec.Struct, frozen=True, gc=False):
    """A Service whose endpoints come from slices: its backends with their ports, and the findings about its slices.

    `zones` are the zones of its endpoints while the plan counts them, else empty.
    """

    ports: Mapping[BackendKey, ServicePort]
    findings: tuple[Finding, ...]
    zones: frozenset[Zone] = frozenset()


class EndpointPlan(msgspec.Struct, frozen=True, gc=False):
    """What is needed to make endpoints again: Services by namespace and name, and whether local addresses may be used.

    `label_keys` are the node labels that the policies of a backend name. `zoned` are the backends with a policy other
    than `off`. `policies` are those of each backend and its routes. `replicas_of` is our own Service
    if a policy needs our replicas. `given_zone` is the zone of `--zone` while no Node is known to be in it.
    `own_service` is our own Service, and `replica_zones` where its endpoints are, while they are compared with others.
    """

    allow_local: bool = False
    services: Mapping[tuple[str, str], SlicedService] = {}
    label_keys: Mapping[BackendKey, frozenset[str]] = {}
    zoned: frozenset[BackendKey] = frozenset()
    policies: Mapping[BackendKey, frozenset[ZonePolicy]] = {}
    replicas_of: tuple[str, str] | None = None
    given_zone: GivenZone | None = None
    own_service: tuple[str, str] | None = None
    replica_zones: ReplicaZones | None = None

    @property
    def counts_zones(self) -> bool:
        """Whether something depends on the zones of each Service."""
        return self.given_zone is not None or self.replica_zones is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about the slices and endpoints of all these Services, and about zones."""
        return self._findings_of(self.services.values())

    def findings_of(self, services: Collection[tuple[str, str]]) -> frozenset[Finding]:
        """Findings about the slices and endpoints of these Services, and about zones."""
        return frozenset(self._findings_of(self.services[key] for key in services if key in self.services))

    def _findings_of(self, services: Iterable[SlicedService]) -> tuple[Finding, ...]:
        of_zone = self.given_zone.findings() if self.given_zone is not None else ()
        of_zones = self.replica_zones.findings() if self.replica_zones is not None else ()
        return (*of_zone, *of_zones, *(finding for service in services for finding in service.findings))


def sliced(
    service: Service,
    ports: Mapping[BackendKey, PortEndpoints],
    *,
    inventory: Inventory,
    findings: Findings,
    counts_zones: bool,
) -> SlicedService:
    """A Service with the endpoints made of its slices. `findings` gets the findings about the slices."""
    note_endpoints(service, ports.values(), slices=inventory.slices(*key_of(service)), findings=findings)
    every = (endpoint for each in ports.values() for endpoint in each.endpoints) if counts_zones else ()
    zones = _same(frozenset(endpoint.zone for endpoint in every if endpoint.zone is not None))
    return SlicedService({key: each.port for key, each in ports.items()}, findings.frozen(), zones)


@lru_cache(maxsize=256)
def _same(zones: frozenset[Zone]) -> frozenset[Zone]:
    """`zones` as one object for all Services that have them."""
    return zones


def remaking_endpoints(
    model: RoutingModel, plan: EndpointPlan, *, services: Collection[tuple[str, str]], inventory: Inventory
) -> Generator[None, None, tuple[RoutingModel, EndpointPlan]]:
    """`model` with the present endpoints of `services`, and the new plan. In steps, one for each Service.

    `model` and `plan` must come from one translation of the inventory before nothing but slices changed. The inventory
    must not change meanwhile.
    """
    made: dict[BackendKey, tuple[Endpoint, ...]] = {}
    remade: dict[tuple[str, str], SlicedService] = {}
    for key in services:
        service, before = inventory.service(*key), plan.services.get(key)
        if service is not None and before is not None:
            endpoints, remade[key] = _remade(service, before, plan, inventory)
            made.update(endpoints)
            yield
    backends = yield from _with_endpoints(model.backends, made)
    yield
    zones = model.zones
    if plan.own_service in services and plan.replica_zones is not None:
        own = plan.replica_zones.with_own(replicas_by_zone(inventory, plan.own_service))
        plan = msgspec.structs.replace(plan, replica_zones=own)
    if plan.replicas_of in services:
        zones = msgspec.structs.replace(zones, replicas=replicas_by_zone(inventory, plan.replicas_of))
    return msgspec.structs.replace(model, backends=backends, zones=zones), _replanned(plan, remade)


def _remade(
    service: Service, before: SlicedService, plan: EndpointPlan, inventory: Inventory
) -> tuple[dict[BackendKey, tuple[Endpoint, ...]], SlicedService]:
    """The present endpoints of a Service for each of its backends, and its new part of the plan."""
    findings = Findings()
    made: dict[BackendKey, tuple[Endpoint, ...]] = {}
    ports: dict[BackendKey, PortEndpoints] = {}
    for backend, port in before.ports.items():
        found = endpoints_of(service, port, inventory=inventory, allow_local=plan.allow_local, findings=findings)
        made[backend] = found
        if backend in plan.zoned:
            made[backend] = placed_on_nodes(found, plan.label_keys.get(backend, ()), inventory)
        ports[backend] = PortEndpoints(
            port, found, minds_zones=backend in plan.zoned, policies=plan.policies.get(backend, frozenset())
        )
    return made, sliced(service, ports, inventory=inventory, findings=findings, counts_zones=plan.counts_zones)


def _with_endpoints(
    before: tuple[Backend, ...], made: Mapping[BackendKey, tuple[Endpoint, ...]]
) -> Generator[None, None, tuple[Backend, ...]]:
    backends = list(before)
    for count, (key, endpoints) in enumerate(made.items(), 1):
        place = bisect_left(backends, key, key=_key_of)
        if backends[place].endpoints != endpoints:
            backends[place] = msgspec.structs.replace(backends[place], endpoints=endpoints)
        if count % _PLACED_A_STEP == 0:
            yield
    return tuple(backends)


def _replanned(plan: EndpointPlan, remade: Mapping[tuple[str, str], SlicedService]) -> EndpointPlan:
    given, placed = plan.given_zone, plan.replica_zones
    before, after = [plan.services[key].zones for key in remade], [service.zones for service in remade.values()]
    if given is not None:
        given = given.changed(before, after)
    if placed is not None:
        placed = placed.changed(before, after)
    services = {**plan.services, **remade}
    return msgspec.structs.replace(plan, services=services, given_zone=given, replica_zones=placed)
