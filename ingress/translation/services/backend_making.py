"""Makes one backend of a Service port: its endpoints, its settings, and what is remembered of both.

The endpoints come from slices, from the DNS name of an ExternalName Service, or are the Service itself. Does not know
who asks for the backend.
"""

from __future__ import annotations

import msgspec

from balancer.model.addresses import is_numeric_name
from balancer.model.endpoints import Backend, Endpoint
from ingress.findings import Findings, Report, Severity, quote
from ingress.objects.kinds import Service, ServicePort, subject_of
from ingress.objects.names import HOST
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.option import Overrides
from ingress.sources.inventory import Inventory
from ingress.translation.memory import FindingNotes
from ingress.translation.services.backend_memories import MadeBackend
from ingress.translation.services.backend_zones import BackendZones
from ingress.translation.services.endpoints import endpoints_of, external_endpoints, service_endpoint
from ingress.translation.services.service_annotations import read_service_annotations
from ingress.translation.services.topology_keys import note_topology_keys

EFFECT = "The paths that lead there answer 503."


class BackendMaker:
    """Makes the backends of one translation. `allow_local`: endpoints may be at local addresses."""

    __slots__ = ("_allow_local", "_settings", "_zones")

    def __init__(self, settings: BackendSettings, zones: BackendZones, *, allow_local: bool) -> None:
        """`settings` hold for backends whose Service and Ingresses say nothing else."""
        self._settings = settings
        self._zones = zones
        self._allow_local = allow_local

    def make(
        self,
        inventory: Inventory,
        findings: Findings,
        *,
        backend: Backend,
        service: Service,
        port: ServicePort,
        overrides: Overrides,
    ) -> MadeBackend:
        """`backend` has neither endpoints nor settings yet."""
        report = findings.about(subject_of(service))
        said = read_service_annotations(service, report)
        settings = self._settings.overridden(said).overridden(overrides)
        policy = self._zones.backend_policy(service, said)
        note_topology_keys(service, policy, report)
        name, slices = "", None
        if service.spec.type == "ExternalName":
            name = _name_of(service)
            endpoints = self._external_endpoints(service, name, port, inventory, report)
        elif (upstream := self._upstream(service, port, settings, report)) is not None:
            endpoints = (upstream,)
        else:
            slices, local = FindingNotes(), self._allow_local
            endpoints = endpoints_of(service, port, inventory=inventory, allow_local=local, findings=slices)
        backend = msgspec.structs.replace(backend, endpoints=endpoints, zone_policy=policy)
        return MadeBackend(settings.applied(backend), said, name, None if slices is None else slices.notes)

    def _upstream(
        self, service: Service, port: ServicePort, settings: BackendSettings, report: Report
    ) -> Endpoint | None:
        """The Service itself as the only endpoint, if that is wanted and possible."""
        if not settings.service_upstream:
            return None
        return service_endpoint(service, port, allow_local=self._allow_local, report=report)

    def _external_endpoints(
        self, service: Service, name: str, port: ServicePort, inventory: Inventory, report: Report
    ) -> tuple[Endpoint, ...]:
        if not name:
            message = f"externalName {quote(service.spec.external_name)} is not the name of a host: correct it."
            report.add(reason="InvalidExternalName", message=message, severity=Severity.CLOSED, effect=EFFECT)
            return ()
        addresses = inventory.addresses(service.metadata.namespace, name)
        return external_endpoints(addresses, port, allow_local=self._allow_local, report=report)


def _name_of(service: Service) -> str:
    """The DNS name of an ExternalName Service; empty if it is not a valid DNS name, or if it ends in a number."""
    name = service.spec.external_name.lower().removesuffix(".")
    return name if HOST.fullmatch(name) and not is_numeric_name(name) else ""
