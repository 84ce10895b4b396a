"""Resolves references to Service ports and makes backends from them.

Resolves within a namespace. A reference that leads nowhere is a finding and not a backend, and never leads to another
backend. Does not know hosts or paths.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from balancer.model.addresses import is_numeric_name
from balancer.model.endpoints import Backend, BackendKey, Endpoint, EndpointTls, way_of
from balancer.model.zones import ZonePolicy, ZonePolicyName
from ingress.findings import Findings, Report, Severity, quote
from ingress.objects.kinds import Service, ServicePort, ServicePortReference, ServiceReference, key_of, subject_of
from ingress.objects.names import HOST
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.zone_findings import GivenZone
from ingress.translation.services.backend_zones import BackendZones
from ingress.translation.services.endpoint_changes import EndpointPlan, SlicedService, sliced
from ingress.translation.services.endpoint_findings import PortEndpoints
from ingress.translation.services.endpoints import endpoints_of, external_endpoints, placed_on_nodes, service_endpoint
from ingress.translation.services.service_annotations import read_service_annotations
from ingress.translation.services.topology_keys import note_topology_keys

# Endpoints expect HTTP/2 without TLS (KEP-3726), or gRPC.
_HTTP2_PROTOCOLS = frozenset({"kubernetes.io/h2c", "grpc"})
# A Service has a few ports. Kubernetes allows hundreds.
_PORTS_SHOWN = 8

_EFFECT = "The paths that lead there answer 503."


class UsedBackends(msgspec.Struct, frozen=True):
    """The backends that routes lead to, sorted by key, and what they need. Nothing can be resolved any more.

    `names` are the DNS names outside of the cluster whose addresses are endpoints, by namespace. `services` are the
    Services that were looked for, by namespace and name, whether they exist or not. `policy_names` are the zone
    policies in force.
    `label_keys` are the node labels that the policies of a backend name. `zoned` are the backends with a policy other
    than `off`, `policies` those of each backend and its routes. `sliced` are the Services whose
    endpoints come from slices, by namespace and name.
    """

    backends: tuple[Backend, ...] = ()
    names: frozenset[tuple[str, str]] = frozenset()
    services: frozenset[tuple[str, str]] = frozenset()
    policy_names: frozenset[ZonePolicyName] = frozenset()
    label_keys: Mapping[BackendKey, frozenset[str]] = {}
    zoned: frozenset[BackendKey] = frozenset()
    policies: Mapping[BackendKey, frozenset[ZonePolicy]] = {}
    sliced: Mapping[tuple[str, str], SlicedService] = {}

    @property
    def every_label_key(self) -> frozenset[str]:
        """The node labels that any policy in force names."""
        return frozenset().union(*self.label_keys.values())

    def plan(
        self, *, allow_local: bool, replicas_of: tuple[str, str] | None, given_zone: GivenZone | None
    ) -> EndpointPlan:
        """What is needed to make the endpoints of these backends again when only slices have changed.

        `given_zone` comes without endpoints. The endpoints of these backends are counted here.
        """
        if given_zone is not None:
            given_zone = given_zone.changed((), (service.zones for service in self.sliced.values()))
        return EndpointPlan(
            allow_local=allow_local,
            services=self.sliced,
            label_keys=self.label_keys,
            zoned=self.zoned,
            policies=self.policies,
            replicas_of=replicas_of,
            given_zone=given_zone,
        )


def backend_key(namespace: str, name: str, *, port: ServicePort) -> BackendKey:
    """The key of the backend of a Service port to which zonal speaks plain HTTP/1.1."""
    return BackendKey(f"{namespace}/{name}:{port.port}")


def port_of(service: Service, reference: ServicePortReference) -> ServicePort | None:
    """The TCP port that a reference names, by name or by number; None if the Service has no such port."""
    for port in service.spec.ports:
        wanted = port.name == reference.name if reference.name else port.port == reference.number
        if wanted and port.protocol == "TCP":
            return port
    return None


class Backends:
    """The backends that routes have asked for so far during one translation.

    `overrides` are what Ingresses set for backends, by `backend_key`.
    """

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
        "_zones",
    )

    def __init__(
        self,
        *,
        inventory: Inventory,
        settings: ClusterSettings,
        findings: Findings,
        overrides: Mapping[BackendKey, Overrides],
        allow_local: bool = False,
        allow_external: bool = False,
    ) -> None:
        self._inventory = inventory
        self._settings = settings
        self._allow_local = allow_local
        self._allow_external = allow_external
        self._names: set[tuple[str, str]] = set()
        self._looked_for: set[tuple[str, str]] = set()
        self._findings = findings
        self._made: dict[BackendKey, Backend] = {}
        self._overrides = overrides
        self._ports: dict[tuple[str, str], dict[BackendKey, ServicePort]] = {}
        self._slice_findings: dict[tuple[str, str], Findings] = {}
        self._zones = BackendZones(settings)

    def resolve(
        self,
        reference: ServiceReference,
        namespace: str,
        *,
        report: Report,
        tls: EndpointTls | None = None,
        http2: bool | None = None,
        effect: str = _EFFECT,
        severity: Severity = Severity.CLOSED,
    ) -> Backend | None:
        """The backend of a reference; None, with a finding in `report`, if Service or port do not exist.

        `tls` and `http2` are how its endpoints are spoken to, as in `Backend`; `http2` None: as the port says. `effect`
        is what serving does about a broken reference, `severity` what that means for requests.
        """
        service = self._service(namespace, reference.name)
        if service is None:
            message = f"There is no Service {namespace}/{reference.name}: create it."
            report.add(reason="ServiceMissing", message=message, severity=severity, effect=effect)
            return None
        is_external = service.spec.type == "ExternalName"
        if is_external and not self._allow_external:
            message = f"Service {namespace}/{reference.name} is an ExternalName, which is refused: name another."
            report.add(reason="ExternalName", message=message, severity=severity, effect=effect)
            return None
        port = port_of(service, reference.port)
        if port is None and is_external and reference.port.number:
            port = ServicePort(port=reference.port.number)  # such a Service need not list its ports
        if port is None:
            wanted = reference.port.name or str(reference.port.number)
            message = f"Service {namespace}/{reference.name} has no TCP port {wanted}: {_ports_of(service)}."
            report.add(reason="ServicePortMissing", message=message, severity=severity, effect=effect)
            return None
        return self._backend(
            service, port, tls, http2=port.app_protocol in _HTTP2_PROTOCOLS if http2 is None else http2
        )

    def first_port(self, namespace: str, name: str) -> ServicePortReference:
        """A reference to the first port of a Service. It resolves to nothing if there is none."""
        service = self._service(namespace, name)
        ports = service.spec.ports if service else ()
        return ServicePortReference(number=next((port.port for port in ports if port.protocol == "TCP"), 0))

    def route_policy(self, backend: Backend, overrides: Overrides) -> ZonePolicy | None:
        """The zone policy of a route instead of the policy of its `backend`; None if `overrides` change nothing.

        `backend` comes from `resolve`. `overrides` are what the Ingress of the route sets.
        """
        return self._zones.route_policy(backend, overrides)

    def used(self, *, counts_zones: bool = False) -> UsedBackends:
        """Every backend that was resolved. `counts_zones`: the zones of the endpoints of each Service are wanted."""
        zones = self._zones
        zoned = frozenset(key for key in self._made if zones.minds_zones(key))
        made = ((place, self._sliced(place, zoned, counts_zones=counts_zones)) for place in self._ports)
        return UsedBackends(
            backends=tuple(self._placed(self._made[key]) for key in sorted(self._made)),
            names=frozenset(self._names),
            services=frozenset(self._looked_for),
            policy_names=zones.policy_names,
            label_keys={key: keys for key in self._made if (keys := zones.label_keys(key))},
            zoned=zoned,
            policies={key: policies for key in self._made if (policies := zones.policies(key))},
            sliced={place: service for place, service in made if service is not None},
        )

    def _sliced(
        self, place: tuple[str, str], zoned: Collection[BackendKey], *, counts_zones: bool
    ) -> SlicedService | None:
        service, made = self._inventory.service(*place), self._made
        if service is None:
            return None
        ports = {
            key: PortEndpoints(
                port,
                made[key].endpoints,
                minds_zones=key in zoned,
                policies=self._zones.policies(key),
            )
            for key, port in self._ports[place].items()
            if key in made
        }
        findings = self._slice_findings[place]
        return sliced(service, ports, inventory=self._inventory, findings=findings, counts_zones=counts_zones)

    def _placed(self, backend: Backend) -> Backend:
        if not self._zones.minds_zones(backend.key):
            return backend
        keys = self._zones.label_keys(backend.key)
        return msgspec.structs.replace(backend, endpoints=placed_on_nodes(backend.endpoints, keys, self._inventory))

    def _service(self, namespace: str, name: str) -> Service | None:
        self._looked_for.add((namespace, name))
        return self._inventory.service(namespace, name)

    def _backend(self, service: Service, port: ServicePort, tls: EndpointTls | None, *, http2: bool) -> Backend:
        namespace, name = service.metadata.namespace, service.metadata.name
        place = backend_key(namespace, name, port=port)
        way = way_of(tls, http2=http2)
        key = BackendKey(f"{way}#{place}") if way else place
        if key not in self._made:
            said = read_service_annotations(service, self._findings.about(subject_of(service)))
            overrides = self._overrides.get(place, Overrides())
            settings = self._settings.backend.overridden(said).overridden(overrides)
            policy = self._zones.backend_policy(key, service, said)
            note_topology_keys(service, policy, self._findings.about(subject_of(service)))
            backend = Backend(
                key=key,
                namespace=namespace,
                service=name,
                port=str(port.port),
                endpoints=self._endpoints(service, port, key=key, settings=settings),
                tls=tls,
                http2=http2,
                zone_policy=policy,
            )
            self._made[key] = settings.applied(backend)
        return self._made[key]

    def _endpoints(
        self, service: Service, port: ServicePort, *, key: BackendKey, settings: BackendSettings
    ) -> tuple[Endpoint, ...]:
        if service.spec.type == "ExternalName":
            return self._external_endpoints(service, port)
        if settings.service_upstream:
            report = self._findings.about(subject_of(service))
            endpoint = service_endpoint(service, port, allow_local=self._allow_local, report=report)
            if endpoint is not None:
                return (endpoint,)
        place = key_of(service)
        self._ports.setdefault(place, {})[key] = port
        findings = self._slice_findings.setdefault(place, Findings())
        return endpoints_of(service, port, inventory=self._inventory, allow_local=self._allow_local, findings=findings)

    def _external_endpoints(self, service: Service, port: ServicePort) -> tuple[Endpoint, ...]:
        report, name = self._findings.about(subject_of(service)), _name_of(service)
        if not name:
            message = f"externalName {quote(service.spec.external_name)} is not the name of a host: correct it."
            report.add(reason="InvalidExternalName", message=message, severity=Severity.CLOSED, effect=_EFFECT)
            return ()
        namespace = service.metadata.namespace
        self._names.add((namespace, name))
        addresses = self._inventory.addresses(namespace, name)
        return external_endpoints(addresses, port, allow_local=self._allow_local, report=report)


def _ports_of(service: Service) -> str:
    """The ports of a Service to choose from, in words."""
    ports = [f"{port.port} ({port.name})" if port.name else str(port.port) for port in service.spec.ports]
    if not ports:
        return "it has no ports"
    more = f" and {len(ports) - _PORTS_SHOWN} more" if len(ports) > _PORTS_SHOWN else ""
    return f"its ports are {', '.join(ports[:_PORTS_SHOWN])}{more}"


def _name_of(service: Service) -> str:
    """The DNS name of an ExternalName Service; empty if it is not a valid DNS name, or if it ends in a number."""
    name = service.spec.external_name.lower().removesuffix(".")
    return name if HOST.fullmatch(name) and not is_numeric_name(name) else ""
