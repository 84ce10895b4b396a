"""Resolves references to Service ports and makes backends from them.

Resolves within a namespace. A reference that leads nowhere is a finding and not a backend, and never leads to another
backend. Does not know hosts or paths.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import msgspec

from balancer.model.endpoints import Backend, BackendKey, EndpointTls, way_of
from balancer.model.zones import ZonePolicy
from ingress.findings import Findings, Report, Severity
from ingress.objects.kinds import Service, ServicePort, ServicePortReference, ServiceReference, key_of
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.sources.inventory import Inventory
from ingress.translation.memory import repeat
from ingress.translation.services.backend_making import EFFECT, BackendMaker
from ingress.translation.services.backend_memories import AskedByHosts, BackendMemories, MadeBackend, UsedBackends
from ingress.translation.services.backend_zones import BackendZones
from ingress.translation.services.collected import Collected
from ingress.translation.services.endpoint_changes import SlicedService, sliced
from ingress.translation.services.endpoint_findings import PortEndpoints
from ingress.translation.services.endpoints import placed_on_nodes

# Endpoints expect HTTP/2 without TLS (KEP-3726), or gRPC.
_HTTP2_PROTOCOLS = frozenset({"kubernetes.io/h2c", "grpc"})
# A Service has a few ports. Kubernetes allows hundreds.
_PORTS_SHOWN = 8

_NOTHING = Overrides()


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


class AskedBackend(msgspec.Struct, frozen=True, gc=False):
    """What was asked of `Backends.resolve` or `first_port`, and what that led to.

    `service` None: there is none. `place` is the `backend_key` of `port`. `made` None: the reference led to no backend.
    """

    namespace: str
    name: str
    service: Service | None
    port: ServicePort | None = None
    place: BackendKey = BackendKey("")
    made: Backend | None = None


class Backends:
    """The backends that routes have asked for so far during one translation.

    `overrides` are what objects set for backends, by `backend_key`. `memories` have begun, and hold what was made under
    the same `allow_local`. `asked` is what was asked since somebody emptied the list.
    """

    __slots__ = (
        "_allow_external",
        "_collected",
        "_findings",
        "_inventory",
        "_maker",
        "_memories",
        "_others",
        "_overrides",
        "_settings",
        "_zones",
        "asked",
    )

    def __init__(
        self,
        *,
        inventory: Inventory,
        settings: ClusterSettings,
        findings: Findings,
        overrides: Mapping[BackendKey, Overrides],
        memories: BackendMemories,
        allow_local: bool = False,
        allow_external: bool = False,
    ) -> None:
        self._inventory = inventory
        self._settings = settings
        self._allow_external = allow_external
        self._collected = Collected()
        self._findings = findings
        self._overrides = overrides
        self._zones = BackendZones(settings)
        self._maker = BackendMaker(settings.backend, self._zones, allow_local=allow_local)
        self._memories = memories
        self._others = memories.others(settings, overrides)
        self.asked: list[AskedBackend] = []

    def resolve(
        self,
        reference: ServiceReference,
        namespace: str,
        *,
        report: Report,
        tls: EndpointTls | None = None,
        http2: bool | None = None,
        effect: str = EFFECT,
        severity: Severity = Severity.CLOSED,
    ) -> Backend | None:
        """The backend of a reference; None, with a finding in `report`, if Service or port do not exist.

        `tls` and `http2` are how its endpoints are spoken to, as in `Backend`; `http2` None: as the port says. `effect`
        is what serving does about a broken reference, `severity` what that means for requests.
        """
        service = self._service(namespace, reference.name)
        self.asked.append(AskedBackend(namespace, reference.name, service))
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
        http2 = port.app_protocol in _HTTP2_PROTOCOLS if http2 is None else http2
        place = backend_key(namespace, reference.name, port=port)
        way = way_of(tls, http2=http2)
        key = BackendKey(f"{way}#{place}") if way else place
        made = self._collected.made.get(key) or self._backend(key, place, service, port, tls, http2=http2)
        self.asked[-1] = AskedBackend(namespace, reference.name, service, port, place, made)
        return made

    def leads_there_again(self, asked: AskedBackend) -> bool:
        """Asks again what an earlier translation has asked. Returns whether it leads to the same."""
        if self._others is not None and asked.place not in self._others:
            return self._is_there_still(asked)
        service = self._service(asked.namespace, asked.name)
        if service is not asked.service and service != asked.service:
            return False
        if asked.made is None or asked.port is None or service is None:
            return True
        last = asked.made
        made = self._collected.made.get(last.key)
        if made is None:
            made = self._backend(last.key, asked.place, service, asked.port, last.tls, http2=last.http2)
        return made is last or made == last

    def _is_there_still(self, asked: AskedBackend) -> bool:
        """`leads_there_again` while no Service has changed, nor what is set for this backend."""
        self._collected.looked_for.add((asked.namespace, asked.name))
        last, service, port = asked.made, asked.service, asked.port
        if last is None or service is None or port is None:
            return True
        backend = self._collected.made.get(last.key)
        if backend is None:
            made = self._memories.made.again(last.key, self._findings)
            if made is None:
                backend = self._backend(last.key, asked.place, service, port, last.tls, http2=last.http2)
            else:
                backend = self._note(last.key, service, port, made)
        return backend is last or backend == last

    def port(self, backend: Backend) -> ServicePort | None:
        """The port of the Service of a backend that was resolved; None for an external name."""
        return self._collected.ports.get(backend.key)

    def note_policy(self, key: BackendKey, policy: ZonePolicy) -> None:
        """Notes that a route to a backend has this policy, as `route_policy` does."""
        self._zones.note(key, policy)

    def first_port(self, namespace: str, name: str) -> ServicePortReference:
        """A reference to the first port of a Service. It resolves to nothing if there is none."""
        service = self._service(namespace, name)
        self.asked.append(AskedBackend(namespace, name, service))
        ports = service.spec.ports if service else ()
        return ServicePortReference(number=next((port.port for port in ports if port.protocol == "TCP"), 0))

    def route_policy(self, backend: Backend, overrides: Overrides, defaults: Overrides = _NOTHING) -> ZonePolicy | None:
        """The zone policy of a route instead of the policy of its `backend`; None if `overrides` change nothing.

        `backend` comes from `resolve`. `overrides` are what the owner of the route sets, `defaults` what counts where
        the Service says nothing.
        """
        return self._zones.route_policy(backend, overrides, defaults)

    @property
    def are_as_before(self) -> bool:
        """Whether nothing has changed since the last translation of what its backends were made of."""
        memories = self._memories
        return self._others == frozenset() and memories.made.is_quiet and memories.last_hosts is not None

    def remember_hosts(self) -> None:
        """What was asked until now is what all hosts have asked, and what was asked before them."""
        self._memories.hosts = AskedByHosts(self._collected.copy(), self._zones.noted)

    def take_over_hosts(self) -> None:
        """Takes as asked what all hosts of the last translation have asked. `are_as_before` must hold."""
        last = self._memories.last_hosts
        assert last is not None
        self._memories.made.keep(last.collected.made, self._findings)
        self._collected.add(last.collected)
        self._zones.take_over(last.zones)

    def used(self, *, counts_zones: bool = False) -> UsedBackends:
        """Every backend that was resolved. `counts_zones`: the zones of the endpoints of each Service are wanted."""
        collected = self._collected
        given = (
            collected.made.copy(),
            frozenset(collected.names),
            frozenset(collected.looked_for),
            collected.ports,  # which changes with `made` only, as the next
            collected.slice_findings,
            self._zones.noted.policies,
            counts_zones,
        )
        return self._memories.used(given, partial(self._used, counts_zones=counts_zones))

    def _used(self, *, counts_zones: bool) -> UsedBackends:
        zones, collected = self._zones, self._collected
        keys = sorted(collected.made)
        zoned = frozenset(key for key in keys if zones.minds_zones(key))
        services = collected.by_service().items()
        made = ((place, self._sliced(place, own, zoned, counts_zones=counts_zones)) for place, own in services)
        return UsedBackends(
            backends=tuple(self._placed(collected.made[key]) for key in keys),
            names=frozenset(collected.names),
            services=frozenset(collected.looked_for),
            policy_names=zones.policy_names,
            label_keys={key: named for key in keys if (named := zones.label_keys(key))},
            zoned=zoned,
            policies={key: policies for key in keys if (policies := zones.policies(key))},
            sliced={place: service for place, service in made if service is not None},
        )

    def _sliced(
        self, place: tuple[str, str], keys: Sequence[BackendKey], zoned: Collection[BackendKey], *, counts_zones: bool
    ) -> SlicedService | None:
        """The Service at a place, whose backends have these `keys`."""
        service, collected = self._inventory.service(*place), self._collected
        if service is None:
            return None
        ports = {
            key: PortEndpoints(
                collected.ports[key],
                collected.made[key].endpoints,
                minds_zones=key in zoned,
                policies=self._zones.policies(key),
            )
            for key in keys
        }
        notes = tuple(collected.slice_findings[key] for key in keys)
        given = (service, tuple(ports.items()), counts_zones, notes)

        def make(inventory: Inventory, _: Findings) -> SlicedService:
            findings = Findings()
            for each in notes:
                repeat(each, findings)
            return sliced(service, ports, inventory=inventory, findings=findings, counts_zones=counts_zones)

        return self._memories.sliced.of(place, given, make, self._findings)

    def _placed(self, backend: Backend) -> Backend:
        if not self._zones.minds_zones(backend.key):
            return backend
        keys = self._zones.label_keys(backend.key)

        def make(inventory: Inventory, _: Findings) -> Backend:
            endpoints = placed_on_nodes(backend.endpoints, keys, inventory)
            return backend if endpoints == backend.endpoints else msgspec.structs.replace(backend, endpoints=endpoints)

        return self._memories.placed.of(backend.key, (backend, keys), make, self._findings)

    def _service(self, namespace: str, name: str) -> Service | None:
        self._collected.looked_for.add((namespace, name))
        return self._inventory.service(namespace, name)

    def _backend(
        self,
        key: BackendKey,
        place: BackendKey,
        service: Service,
        port: ServicePort,
        tls: EndpointTls | None,
        *,
        http2: bool,
    ) -> Backend:
        overrides = self._overrides.get(place, _NOTHING)
        given = (service, port, tls, http2, overrides, self._settings)

        def make(inventory: Inventory, findings: Findings) -> MadeBackend:
            backend = Backend(key, *key_of(service), str(port.port), tls=tls, http2=http2)
            return self._maker.make(
                inventory, findings, backend=backend, service=service, port=port, overrides=overrides
            )

        made = self._memories.made.of(key, given, make, self._findings)
        return self._note(key, service, port, made)

    def _note(self, key: BackendKey, service: Service, port: ServicePort, made: MadeBackend) -> Backend:
        """Notes that a backend is used, and what follows from it for its Service."""
        backend, collected = made.backend, self._collected
        collected.made[key] = backend
        self._zones.note_backend(key, service, made.said, backend.zone_policy)
        if made.external_name:
            collected.names.add((backend.namespace, made.external_name))
        elif made.slice_findings is not None:
            collected.ports[key] = port
            collected.slice_findings[key] = made.slice_findings
        return backend


def _ports_of(service: Service) -> str:
    """The ports of a Service to choose from, in words."""
    ports = [f"{port.port} ({port.name})" if port.name else str(port.port) for port in service.spec.ports]
    if not ports:
        return "it has no ports"
    more = f" and {len(ports) - _PORTS_SHOWN} more" if len(ports) > _PORTS_SHOWN else ""
    return f"its ports are {', '.join(ports[:_PORTS_SHOWN])}{more}"
