"""The cheap path: when only slices have changed, only the endpoints of their Services are made anew.

Responsible for giving exactly what a whole translation would give; our own replicas are endpoints too. It must not know
hosts, routes or certificates: those are taken over as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping

import msgspec

from balancer.model import Backend, BackendKey, Endpoint, RoutingModel
from ingress.findings import Finding, Findings
from ingress.inventory import Inventory
from ingress.objects import ServicePort
from ingress.translation.endpoints import endpoints_of, labelled
from ingress.translation.zone_facts import replicas_by_zone


class SlicedService(msgspec.Struct, frozen=True):
    """A Service whose endpoints come from slices: its backends with their ports, and what is wrong with its slices."""

    ports: Mapping[BackendKey, ServicePort]
    findings: tuple[Finding, ...]


class EndpointPlan(msgspec.Struct, frozen=True):
    """What it takes to make endpoints anew: Services by namespace and name, and whether local addresses may be used.

    `label_keys` are the node labels that the policies of a backend name. `replicas_of` is our own Service where a
    policy wants to know our replicas.
    """

    allow_local: bool = False
    services: Mapping[tuple[str, str], SlicedService] = {}
    label_keys: Mapping[BackendKey, frozenset[str]] = {}
    replicas_of: tuple[str, str] | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the slices of all these Services."""
        return tuple(finding for service in self.services.values() for finding in service.findings)

    def findings_of(self, services: Collection[tuple[str, str]]) -> frozenset[Finding]:
        """What is wrong with the slices of these Services."""
        known = (self.services[key] for key in services if key in self.services)
        return frozenset(finding for service in known for finding in service.findings)


def remake_endpoints(
    model: RoutingModel, plan: EndpointPlan, *, services: Collection[tuple[str, str]], inventory: Inventory
) -> tuple[RoutingModel, EndpointPlan]:
    """`model` with the present endpoints of `services`, and the plan that belongs to it.

    `model` and `plan` have to come from one translation of what `inventory` held before nothing but slices changed.
    """
    made: dict[BackendKey, tuple[Endpoint, ...]] = {}
    sliced = dict(plan.services)
    for key in services:
        service, before = inventory.service(*key), plan.services.get(key)
        if service is None or before is None:
            continue
        findings = Findings()
        for backend, port in before.ports.items():
            found = endpoints_of(service, port, inventory=inventory, allow_local=plan.allow_local, findings=findings)
            made[backend] = labelled(found, plan.label_keys.get(backend, ()), inventory)
        sliced[key] = SlicedService(before.ports, findings.frozen())
    backends = list(model.backends)
    for backend, endpoints in made.items():
        place = bisect_left(backends, backend, key=_key_of)
        if backends[place].endpoints != endpoints:
            backends[place] = msgspec.structs.replace(backends[place], endpoints=endpoints)
    zones = model.zones
    if plan.replicas_of in services:
        zones = msgspec.structs.replace(zones, replicas=replicas_by_zone(inventory, plan.replicas_of))
    model = msgspec.structs.replace(model, backends=tuple(backends), zones=zones)
    return model, msgspec.structs.replace(plan, services=sliced)


def _key_of(backend: Backend) -> BackendKey:
    return backend.key
