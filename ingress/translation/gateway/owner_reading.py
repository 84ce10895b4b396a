"""Reads the Gateways of a cluster and the ListenerSets attached to them: their listeners, and the ports of these.

Pure. Does not know routes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from ingress.objects.gateway import Gateway, GatewayClass, ListenerSet
from ingress.objects.kinds import Service, key_of
from ingress.objects.metadata import Metadata
from ingress.settings.gateway_ports import GatewayServices
from ingress.sources.events import Provisioned
from ingress.sources.inventory import Inventory
from ingress.translation.claims import created_epoch_seconds
from ingress.translation.gateway.classes import parameters_problem
from ingress.translation.gateway.client_validation import read_validation, validation_of, with_validation
from ingress.translation.gateway.grants import Grants
from ingress.translation.gateway.listener_certificates import with_certificates
from ingress.translation.gateway.listener_conflicts import TakenPorts
from ingress.translation.gateway.listeners import ReadListener, listeners_of
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.namespaces import NamespaceLabels
from ingress.translation.gateway.overlaps import with_overlaps
from ingress.translation.gateway.own_ports import OwnPorts
from ingress.translation.gateway.register import read_register
from ingress.translation.gateway.route_reading import owner_named
from ingress.translation.gateway.standings import Problem

_ADDRESS_TYPES: Final = frozenset(("IPAddress", "Hostname"))

_Key = tuple[str, str]
_Refusal = tuple[Problem, Problem]
"""Why a Gateway does not take a ListenerSet, in the words of its conditions Accepted and Programmed."""


class ReadOwners(msgspec.Struct, frozen=True):
    """The Gateways that are ours, by namespace and name, the oldest first, and what is against some of them.

    `sets` are the ListenerSets that name one of them, by age, each with its Gateway and why that does not take it.
    `listeners` are those of all, in the order in which they count. `own` are the places of ports where each Gateway has
    a Service.
    """

    gateways: Mapping[_Key, Gateway]
    refused: Mapping[_Key, Problem]
    sets: Mapping[_Key, tuple[ListenerSet, _Key, _Refusal | None]]
    listeners: tuple[ReadListener, ...]
    own: OwnPorts | None


def read_owners(
    inventory: Inventory,
    material: GatewayMaterial,
    classes: Mapping[str, GatewayClass],
    *,
    ports: Collection[int],
    services: GatewayServices | None,
    provisioned: Provisioned,
) -> ReadOwners:
    """Reads all Gateways of `classes`. `ports` are those that Gateways share; with `services` each has its own."""
    return _OwnerReading(inventory, material, classes, ports=ports, services=services, provisioned=provisioned).result()


def _seniority(metadata: Metadata) -> tuple[float, str]:
    return created_epoch_seconds(metadata), f"{metadata.namespace}/{metadata.name}"


class _OwnerReading:
    """One reading, step by step."""

    def __init__(
        self,
        inventory: Inventory,
        material: GatewayMaterial,
        classes: Collection[str],
        *,
        ports: Collection[int],
        services: GatewayServices | None,
        provisioned: Provisioned,
    ) -> None:
        self._inventory = inventory
        self._material = material
        self._ports = ports
        self._grants = Grants(inventory)
        self._labels = NamespaceLabels(inventory)
        ours = (each for each in inventory.of(Gateway) if each.spec.gateway_class_name in classes)
        self._gateways = {key_of(each): each for each in sorted(ours, key=lambda each: _seniority(each.metadata))}
        self._refused = {key: problem for key, each in self._gateways.items() if (problem := self._refusal(each))}
        self._sets = {
            key: (item, parent, self._set_refusal(item, parent)) for key, (item, parent) in self._our_sets().items()
        }
        self._own = self._own_ports(services, provisioned) if services is not None else None

    def result(self) -> ReadOwners:
        """What was read."""
        return ReadOwners(self._gateways, self._refused, self._sets, with_overlaps(self._all_listeners()), self._own)

    def _own_ports(self, services: GatewayServices, provisioned: Provisioned) -> OwnPorts:
        register = read_register(self._inventory.of(Service), services.namespace, services.targets)
        return OwnPorts(services, register, provisioned, self._wanted_ports())

    def _wanted_ports(self) -> Iterator[tuple[_Key, int]]:
        sets = self._sets_of_gateways()
        for key, gateway in self._gateways.items():
            of_sets = (item.spec.listeners for item, refusal in sets.get(key, ()) if refusal is None)
            for listeners in (gateway.spec.listeners, *of_sets):
                yield from ((key, each.port) for each in listeners)

    def _sets_of_gateways(self) -> dict[_Key, list[tuple[ListenerSet, _Refusal | None]]]:
        found: dict[_Key, list[tuple[ListenerSet, _Refusal | None]]] = {}
        for item, parent, refusal in self._sets.values():
            found.setdefault(parent, []).append((item, refusal))
        return found

    def _refusal(self, gateway: Gateway) -> Problem | None:
        parameters = gateway.spec.infrastructure.parameters_ref
        problem = parameters_problem(parameters, gateway.metadata.namespace, self._inventory)
        if problem is not None:
            return problem
        for each in gateway.spec.addresses:
            if each.type not in _ADDRESS_TYPES:
                message = f"An address of the type {each.type!r} is not supported: use IPAddress."
                return Problem("UnsupportedAddress", message)
        return None

    def _our_sets(self) -> dict[_Key, tuple[ListenerSet, _Key]]:
        """The ListenerSets that name one of our Gateways, by age, each with its Gateway."""
        found: dict[_Key, tuple[ListenerSet, _Key]] = {}
        for each in sorted(self._inventory.of(ListenerSet), key=lambda item: _seniority(item.metadata)):
            owner = owner_named(each.spec.parent_ref, each.metadata.namespace)
            if owner is not None and owner.kind == "Gateway" and (owner.namespace, owner.name) in self._gateways:
                found[key_of(each)] = (each, (owner.namespace, owner.name))
        return found

    def _all_listeners(self) -> Iterator[ReadListener]:
        taken, sets = TakenPorts(), self._sets_of_gateways()
        for key, gateway in self._gateways.items():
            if self._own is not None:
                taken = TakenPorts()  # nobody else has ports at its addresses
            yield from self._placed(gateway, key, taken)
            for item, refusal in sets.get(key, ()):
                if refusal is None:
                    yield from self._placed(item, key, taken)

    def _placed(self, item: Gateway | ListenerSet, key: _Key, taken: TakenPorts) -> Iterator[ReadListener]:
        gateway = self._gateways[key]
        read = listeners_of(item, key, self._ports if self._own is None else self._own.openable())
        for each in taken.place(read if self._own is None else map(self._own.placed, read)):
            found = with_certificates(each, self._grants, self._material.certificate_problem)
            said = validation_of(gateway, each.spec.port) if each.spec.protocol == "HTTPS" else None
            if said is not None:
                validation = read_validation(said, gateway, self._grants, self._material.authority_problem)
                found = with_validation(found, validation, self._material.digest(validation.authorities))
            yield msgspec.structs.replace(found, serves=found.serves and key not in self._refused)

    def _set_refusal(self, item: ListenerSet, parent: _Key) -> _Refusal | None:
        """Why a Gateway does not take a ListenerSet, in the words of its conditions Accepted and Programmed."""
        if parent in self._refused:
            said = "The Gateway is not accepted: see its condition Accepted."
            return Problem("ParentNotAccepted", said), Problem("ParentNotProgrammed", said)
        allowed = self._gateways[parent].spec.allowed_listeners.namespaces
        own, namespace = parent[0], item.metadata.namespace
        if not self._labels.takes(allowed.source, allowed.selector, own=own, namespace=namespace):
            said = f"The Gateway takes no ListenerSet of the namespace {namespace}: change allowedListeners there."
            return Problem("NotAllowed", said), Problem("NotAllowed", said)
        return None
