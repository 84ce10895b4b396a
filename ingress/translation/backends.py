"""Backends: which Service port a reference means, and the backend made of it.

Responsible for resolving references within a namespace. A reference that leads nowhere is a finding and no backend,
never another one. It must not know hosts or paths.
"""

from __future__ import annotations

import msgspec

from balancer.model import Backend, BackendKey, Endpoint
from ingress.findings import Findings, Report, quote
from ingress.inventory import Inventory
from ingress.names import SUBDOMAIN
from ingress.objects import Service, ServicePort, ServicePortReference, ServiceReference, key_of, subject_of
from ingress.settings import ClusterSettings
from ingress.translation.annotations import read_service_annotations
from ingress.translation.backend_zones import BackendZones
from ingress.translation.endpoint_changes import EndpointPlan, SlicedService
from ingress.translation.endpoints import endpoints_of, external_endpoints, labelled, service_endpoint
from ingress.values import Draft
from ingress.zone_settings import SECTION

_EFFECT = "The paths that lead there answer 503."


class Backends:
    """The backends that routes have asked for during one translation. `zones`: the policies in force for them."""

    __slots__ = (
        "_allow_external",
        "_allow_local",
        "_findings",
        "_inventory",
        "_looked_for",
        "_made",
        "_names",
        "_overrides",
        "_ports",
        "_settings",
        "_slice_findings",
        "zones",
    )

    def __init__(
        self,
        *,
        inventory: Inventory,
        settings: ClusterSettings,
        findings: Findings,
        allow_local: bool = False,
        allow_external: bool = False,
    ) -> None:
        self._inventory = inventory
        self._settings = settings
        self._allow_local = allow_local
        self._allow_external = allow_external
        self._names: set[str] = set()
        self._looked_for: set[tuple[str, str]] = set()
        self._findings = findings
        self._made: dict[BackendKey, Backend] = {}
        self._overrides: dict[BackendKey, Draft] = {}
        self._ports: dict[tuple[str, str], dict[BackendKey, ServicePort]] = {}
        self._slice_findings: dict[tuple[str, str], Findings] = {}
        self.zones = BackendZones(settings)

    def override(self, reference: ServiceReference, namespace: str, draft: Draft) -> None:
        """What an Ingress says about a backend it names; the first to name it wins, even if it says nothing.

        As ingress-nginx's annotations of an upstream. To be called before `resolve`, by seniority.
        """
        service = self._service(namespace, reference.name)
        port = _port(service, reference.port) if service is not None else None
        if port is not None:
            self._overrides.setdefault(_key(namespace, reference.name, port=port), draft)

    def resolve(
        self, reference: ServiceReference, namespace: str, *, report: Report, effect: str = _EFFECT
    ) -> Backend | None:
        """The backend of a reference; None, with a finding in `report`, if Service or port do not exist.

        `effect` is what serving does about that.
        """
        service = self._service(namespace, reference.name)
        if service is None:
            message = f"There is no Service {namespace}/{reference.name}: create it."
            report.add(reason="ServiceMissing", message=message, effect=effect)
            return None
        is_external = service.spec.type == "ExternalName"
        if is_external and not self._allow_external:
            message = f"Service {namespace}/{reference.name} is an ExternalName, which is refused: name another."
            report.add(reason="ExternalName", message=message, effect=effect)
            return None
        port = _port(service, reference.port)
        if port is None and is_external and reference.port.number:
            port = ServicePort(port=reference.port.number)  # such a Service need not list its ports
        if port is None:
            wanted = reference.port.name or str(reference.port.number)
            message = f"Service {namespace}/{reference.name} has no TCP port {wanted}: correct the port."
            report.add(reason="ServicePortMissing", message=message, effect=effect)
            return None
        return self._backend(service, port)

    def first_port(self, namespace: str, name: str) -> ServicePortReference:
        """A reference to the first port of a Service; one that resolves to nothing if there is none."""
        service = self._service(namespace, name)
        ports = service.spec.ports if service else ()
        return ServicePortReference(number=next((port.port for port in ports if port.protocol == "TCP"), 0))

    def used(self) -> tuple[Backend, ...]:
        """Every backend that was asked for, by key. After the last `zones.route_policy`: policies name labels."""
        return tuple(self._labelled(self._made[key]) for key in sorted(self._made))

    def names(self) -> frozenset[str]:
        """Names outside the cluster whose addresses are endpoints."""
        return frozenset(self._names)

    def services(self) -> frozenset[tuple[str, str]]:
        """Every Service that was looked for, whether it is there or not."""
        return frozenset(self._looked_for)

    def plan(self, *, replicas_of: tuple[str, str] | None = None) -> EndpointPlan:
        """How the endpoints of the used backends came about, as far as they come from slices; and of `replicas_of`."""
        services = {key: SlicedService(ports, self._slice_findings[key].frozen()) for key, ports in self._ports.items()}
        return EndpointPlan(
            allow_local=self._allow_local,
            services=services,
            label_keys={key: keys for key in self._made if (keys := self.zones.label_keys(key))},
            replicas_of=replicas_of,
        )

    def _labelled(self, backend: Backend) -> Backend:
        keys = self.zones.label_keys(backend.key)
        if not keys:
            return backend
        return msgspec.structs.replace(backend, endpoints=labelled(backend.endpoints, keys, self._inventory))

    def _service(self, namespace: str, name: str) -> Service | None:
        self._looked_for.add((namespace, name))
        return self._inventory.service(namespace, name)

    def _backend(self, service: Service, port: ServicePort) -> Backend:
        namespace, name = service.metadata.namespace, service.metadata.name
        key = _key(namespace, name, port=port)
        if key not in self._made:
            said = read_service_annotations(service, self._findings.about(subject_of(service)))
            overrides = self._overrides.get(key, {})
            settings = self._settings.backend.overridden(said).overridden(overrides)
            backend = Backend(
                key=key,
                namespace=namespace,
                service=name,
                port=str(port.port),
                endpoints=self._endpoints(service, port, overrides=overrides),
                zone_policy=self.zones.backend_policy(key, service, said.get(SECTION, {})),
            )
            self._made[key] = settings.applied(backend)
        return self._made[key]

    def _endpoints(self, service: Service, port: ServicePort, *, overrides: Draft) -> tuple[Endpoint, ...]:
        if service.spec.type == "ExternalName":
            return self._external_endpoints(service, port)
        if overrides.get("endpoints", {}).get("service_upstream", self._settings.service_upstream):
            report = self._findings.about(subject_of(service))
            endpoint = service_endpoint(service, port, allow_local=self._allow_local, report=report)
            if endpoint is not None:
                return (endpoint,)
        place = key_of(service)
        self._ports.setdefault(place, {})[_key(*place, port=port)] = port
        findings = self._slice_findings.setdefault(place, Findings())
        return endpoints_of(service, port, inventory=self._inventory, allow_local=self._allow_local, findings=findings)

    def _external_endpoints(self, service: Service, port: ServicePort) -> tuple[Endpoint, ...]:
        report, name = self._findings.about(subject_of(service)), _name_of(service)
        if not name:
            message = f"externalName {quote(service.spec.external_name)} is not the name of a host: correct it."
            report.add(reason="InvalidExternalName", message=message, effect=_EFFECT)
            return ()
        self._names.add(name)
        addresses = self._inventory.addresses(name)
        return external_endpoints(addresses, port, allow_local=self._allow_local, report=report)


def _name_of(service: Service) -> str:
    """The name that an ExternalName Service stands for; empty where it is none of DNS."""
    name = service.spec.external_name.lower().removesuffix(".")
    return name if SUBDOMAIN.fullmatch(name) else ""


def _key(namespace: str, name: str, *, port: ServicePort) -> BackendKey:
    return BackendKey(f"{namespace}/{name}:{port.port}")


def _port(service: Service, reference: ServicePortReference) -> ServicePort | None:
    for port in service.spec.ports:
        wanted = port.name == reference.name if reference.name else port.port == reference.number
        if wanted and port.protocol == "TCP":
            return port
    return None
