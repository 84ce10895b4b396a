"""An inventory that notes what is looked for in it, so that what is made of it can be kept until that changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from ingress.objects.kinds import (
    ConfigMap,
    EndpointSlice,
    Ingress,
    Kind,
    KubernetesObject,
    Node,
    Secret,
    Service,
)
from ingress.sources.change_stamps import Look
from ingress.sources.inventory import Inventory

_Record = TypeVar("_Record", bound=KubernetesObject)


class RecordedInventory(Inventory):
    """The objects of another inventory, for reading only and until its next event. `looks`: what was looked for."""

    __slots__ = ("looks",)

    def __init__(self, of: Inventory) -> None:
        for name in Inventory.__slots__:
            setattr(self, name, getattr(of, name))
        self.looks: set[Look] = set()

    def take_looks(self) -> frozenset[Look]:
        """What was looked for since the last call."""
        looks = frozenset(self.looks)
        self.looks = set()
        return looks

    def ingress(self, namespace: str, name: str) -> Ingress | None:
        """As in `Inventory`."""
        self.looks.add((Kind.INGRESS, (namespace, name)))
        return super().ingress(namespace, name)

    def of(self, record: type[_Record]) -> Collection[_Record]:
        """As in `Inventory`."""
        self.looks.add((record.kind, None))
        return super().of(record)

    def service(self, namespace: str, name: str) -> Service | None:
        """As in `Inventory`."""
        self.looks.add((Kind.SERVICE, (namespace, name)))
        return super().service(namespace, name)

    def slices(self, namespace: str, service: str) -> Collection[EndpointSlice]:
        """As in `Inventory`."""
        self.looks.add((Kind.ENDPOINT_SLICE, (namespace, service)))
        return super().slices(namespace, service)

    def node(self, name: str) -> Node | None:
        """As in `Inventory`."""
        self.looks.add((Kind.NODE, ("", name)))
        return super().node(name)

    def addresses(self, namespace: str, name: str) -> tuple[str, ...]:
        """As in `Inventory`."""
        self.looks.add((None, (namespace, name)))
        return super().addresses(namespace, name)

    def secret(self, namespace: str, name: str) -> Secret | None:
        """As in `Inventory`."""
        self.looks.add((Kind.SECRET, (namespace, name)))
        return super().secret(namespace, name)

    def why_no_secret(self, namespace: str, name: str) -> str:
        """As in `Inventory`."""
        self.looks.add((Kind.SECRET, (namespace, name)))
        return super().why_no_secret(namespace, name)

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """As in `Inventory`."""
        self.looks.add((Kind.CONFIG_MAP, (namespace, name)))
        return super().config_map(namespace, name)
