"""Whether an object may refer to another one in another namespace (ReferenceGrant).

A grant is of the namespace that is referred to. Its lists are each an "or", and both must fit in one grant.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ingress.objects.gateway import GrantFrom, ReferenceGrant
from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.sources.inventory import Inventory


class Referrer(msgspec.Struct, frozen=True):
    """Who refers: a kind of Gateway API in a namespace."""

    kind: str
    namespace: str


class Grants:
    """Every grant of the cluster, by the namespace that it is of."""

    __slots__ = ("_granted",)

    def __init__(self, inventory: Inventory) -> None:
        granted: dict[tuple[str, GrantFrom], set[tuple[str, str, str]]] = {}
        for grant in inventory.of(ReferenceGrant):
            for source in grant.spec.sources:
                place = granted.setdefault((grant.metadata.namespace, source), set())
                place.update((each.group, each.kind, each.name) for each in grant.spec.to)
        self._granted = granted

    def __eq__(self, other: object) -> bool:
        """Whether the same is granted."""
        return isinstance(other, Grants) and self._granted == other._granted

    __hash__ = None  # type: ignore[assignment]

    def allow(self, referrer: Referrer, *, group: str, kind: str, namespace: str, name: str) -> bool:
        """Whether `referrer` may refer to the object. Its own namespace needs no grant."""
        if namespace == referrer.namespace:
            return True
        source = GrantFrom(GATEWAY_GROUP, referrer.kind, referrer.namespace)
        targets = self._granted.get((namespace, source), ())
        return (group, kind, "") in targets or (group, kind, name) in targets


NO_GRANTS: Final = Grants(Inventory())
"""The grants of a cluster without any."""
