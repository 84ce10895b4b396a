"""Reads a cluster as if the class of another controller were ours.

Changes IngressClasses and GatewayClasses alone: the Ingresses and Gateways, and all that they name, are judged as
they are. Does not know where the objects come from.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ingress.objects.gateway import GatewayClass
from ingress.objects.kinds import IngressClass, IngressClassSpec, Kind, KubernetesObject, Metadata
from ingress.sources.events import Event, Replaced, Upserted


class Adoption(msgspec.Struct, frozen=True):
    """The class `name` is read as one whose controller is `controller`, and exists even if the dump lacks it."""

    name: str
    controller: str

    def adopted(self, event: Event) -> Event:
        """`event` with the class of this name given to our controller, and with other classes as they are.

        All GatewayClasses are given to it: a dump names none of them as the one that moves.
        """
        if isinstance(event, Replaced) and event.kind is Kind.INGRESS_CLASS:
            return Replaced(event.kind, self._with_ours(event.objects))
        if isinstance(event, Replaced) and event.kind is Kind.GATEWAY_CLASS:
            return Replaced(event.kind, tuple(map(self._given, event.objects)))
        if isinstance(event, Upserted) and isinstance(event.object, IngressClass):
            return Upserted(self._given(event.object))
        return event

    def _with_ours(self, classes: Iterable[KubernetesObject]) -> tuple[KubernetesObject, ...]:
        given = tuple(self._given(each) for each in classes)
        if any(each.metadata.name == self.name for each in given):
            return given
        ours = IngressClass(Metadata(name=self.name), IngressClassSpec(controller=self.controller))
        return (*given, ours)

    def _given(self, each: KubernetesObject) -> KubernetesObject:
        if isinstance(each, IngressClass) and each.metadata.name == self.name:
            return msgspec.structs.replace(each, spec=IngressClassSpec(controller=self.controller))
        if isinstance(each, GatewayClass):
            return msgspec.structs.replace(
                each, spec=msgspec.structs.replace(each.spec, controller_name=self.controller)
            )
        return each
