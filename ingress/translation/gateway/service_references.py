"""Whether a Service that a route names can be asked: its kind, a grant, that it exists, its port and its protocol.

Without a grant the answer is the same whether or not the Service exists, so that nobody learns about other namespaces.
"""

from __future__ import annotations

import msgspec

from ingress.objects.gateway_references import ServiceBackend
from ingress.objects.kinds import Kind, Service
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.references import followed
from ingress.translation.gateway.standings import Problem


class NamedPort(msgspec.Struct, frozen=True, order=True):
    """A port of a Service that a route names, and the Service's name for the port."""

    namespace: str
    service: str
    port: int
    port_name: str = ""


def plain(reference: ServiceBackend) -> ServiceBackend:
    """The reference alone, without weight and filters, so that equal ones are equal."""
    return ServiceBackend(reference.name, reference.group, reference.kind, reference.namespace, reference.port)


class ServiceFinder:
    """Finds the Services that routes name."""

    __slots__ = ("_allow_external", "_grants", "_inventory", "looked_for")

    def __init__(self, inventory: Inventory, grants: Grants, *, allow_external: bool) -> None:
        """`allow_external`: the operator allows Services that stand for names outside of the cluster."""
        self._inventory = inventory
        self._grants = grants
        self._allow_external = allow_external
        self.looked_for: set[tuple[str, str]] = set()
        """The Services that were looked for, by namespace and name, whether they exist or not."""

    def find(self, reference: ServiceBackend, referrer: Referrer) -> NamedPort | Problem:
        """The port that `reference` names, or why its requests cannot be served."""
        key = followed(reference, referrer, self._grants, field="backendRefs", kind="Service", odd_kind="InvalidKind")
        if isinstance(key, Problem):
            return key
        self.looked_for.add(key)
        service = self._inventory.service(*key)
        if service is None:
            return Problem("BackendNotFound", f"The Service {'/'.join(key)} does not exist: create it.")
        return self._port(service, reference.port, "UDP" if referrer.kind == Kind.UDP_ROUTE.value else "TCP")

    def _port(self, service: Service, number: int, protocol: str) -> NamedPort | Problem:
        namespace, name = service.metadata.namespace, service.metadata.name
        if service.spec.type == "ExternalName" and not self._allow_external:
            said = f"The Service {namespace}/{name} stands for a name outside of the cluster, which is not allowed."
            return Problem("BackendNotFound", said)
        ports = [each for each in service.spec.ports if each.port == number]
        if not ports:
            return Problem("BackendNotFound", f"The Service {namespace}/{name} has no port {number}: name another one.")
        found = next((each for each in ports if each.protocol == protocol), None)
        if found is None:
            known = ports[0].protocol
            said = f"Port {number} of the Service {namespace}/{name} has the protocol {known}: use {protocol}."
            return Problem("UnsupportedProtocol", said)
        return NamedPort(namespace, name, number, found.name)
