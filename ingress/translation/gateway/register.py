"""Reads from the Services of Gateways which port of a Gateway stands on which bound port.

The Services are the register: every replica reads it, so replicas agree without talking. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ingress.objects.kinds import GATEWAY_ANNOTATION, Service
from ingress.sources.events import BoundPort

GatewayKey = tuple[str, str]
"""Namespace and name of a Gateway."""

_NAME_LETTERS: Final = 45  # of a Gateway: with what stands around it, a name of a Service has at most 63
_HASH_LETTERS: Final = 8


def service_name(gateway: GatewayKey) -> str:
    """The name of the Service of a Gateway, which no other Gateway has."""
    namespace, name = gateway
    digest = hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()[:_HASH_LETTERS]
    return f"zonal-{name[:_NAME_LETTERS].replace('.', '-').strip('-')}-{digest}"


class Register(msgspec.Struct, frozen=True):
    """The Services by Gateway, and the bound port of each port of a Gateway that has one, with its protocol."""

    services: Mapping[GatewayKey, Service] = {}
    ports: Mapping[tuple[GatewayKey, int], BoundPort] = {}

    @property
    def targets(self) -> frozenset[int]:
        """The bound ports that are taken."""
        return frozenset(each.target for each in self.ports.values())


def read_register(services: Iterable[Service], namespace: str, targets: Iterable[int]) -> Register:
    """The register of `namespace`. `targets` are the ports that are bound; others stand for nothing.

    If two Services claim one bound port, which two leaders at once may cause, the older one has it.
    """
    own = [each for each in services if each.metadata.namespace == namespace and gateway_of(each) is not None]
    own.sort(key=lambda each: (each.metadata.creation_timestamp, each.metadata.name))
    known = frozenset(targets)
    found: dict[GatewayKey, Service] = {}
    ports: dict[tuple[GatewayKey, int], BoundPort] = {}
    taken: set[int] = set()
    for service in own:
        gateway = gateway_of(service)
        assert gateway is not None
        found[gateway] = service
        for each in service.spec.ports:
            target = each.target_port
            if isinstance(target, int) and target in known and target not in taken:
                taken.add(target)
                ports[gateway, each.port] = BoundPort(*gateway, each.port, target, each.app_protocol)
    return Register(found, ports)


def gateway_of(service: Service) -> GatewayKey | None:
    """The Gateway that a Service was made for; None if it was made for none."""
    namespace, _, name = service.metadata.annotations.get(GATEWAY_ANNOTATION, "").partition("/")
    if not name or service.metadata.name != service_name((namespace, name)):
        return None
    return namespace, name
