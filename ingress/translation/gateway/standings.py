"""Defines standings: what the status of an object of Gateway API should say, as values without times.

Field names are those of the API. Equal clusters have equal standings. Does not know how a verdict is reached, nor who
writes it.
"""

from __future__ import annotations

import msgspec

from ingress.objects.gateway_references import GATEWAY_GROUP, ParentReference
from ingress.objects.kinds import KubernetesObject
from ingress.objects.metadata import Wire


class Problem(msgspec.Struct, frozen=True):
    """Why something does not hold: the reason of a condition, and a message that says what to change."""

    reason: str
    message: str


class StatusCondition(Wire, frozen=True):
    """meta/v1 StatusCondition without its time."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int = 0


class SupportedKind(Wire, frozen=True):
    """A kind of routes that a listener takes."""

    kind: str
    group: str = GATEWAY_GROUP


class ListenerStanding(Wire, frozen=True):
    """The status of a listener."""

    name: str
    supported_kinds: tuple[SupportedKind, ...]
    attached_routes: int
    conditions: tuple[StatusCondition, ...]


class Feature(Wire, frozen=True):
    """A feature that is supported."""

    name: str


class Address(Wire, frozen=True):
    """An address of a Gateway."""

    type: str
    value: str


class GatewayClassStatus(Wire, frozen=True):
    """The status of a GatewayClass."""

    conditions: tuple[StatusCondition, ...]
    supported_features: tuple[Feature, ...]


class GatewayStatus(Wire, frozen=True):
    """The status of a Gateway."""

    conditions: tuple[StatusCondition, ...]
    listeners: tuple[ListenerStanding, ...]
    attached_listener_sets: int = 0
    addresses: tuple[Address, ...] = ()


class ListenerSetStatus(Wire, frozen=True):
    """The status of a ListenerSet."""

    conditions: tuple[StatusCondition, ...]
    listeners: tuple[ListenerStanding, ...] = ()


class ParentName(Wire, frozen=True, omit_defaults=True):
    """A parent or ancestor with its namespace spelled out; what the reference does not say is absent."""

    group: str
    kind: str
    namespace: str
    name: str
    section_name: str = ""
    port: int = 0


class ParentStanding(Wire, frozen=True):
    """What one parent makes of a route."""

    parent_ref: ParentName
    controller_name: str
    conditions: tuple[StatusCondition, ...]


class RouteStatus(Wire, frozen=True):
    """The entries of our controller in the status of a route."""

    parents: tuple[ParentStanding, ...]


class AncestorStanding(Wire, frozen=True):
    """What a policy is to one Gateway."""

    ancestor_ref: ParentName
    controller_name: str
    conditions: tuple[StatusCondition, ...]


class PolicyStatus(Wire, frozen=True):
    """The entries of our controller in the status of a policy."""

    ancestors: tuple[AncestorStanding, ...]


Status = GatewayClassStatus | GatewayStatus | ListenerSetStatus | RouteStatus | PolicyStatus


class ObjectStanding(msgspec.Struct, frozen=True):
    """What the status of one object should say. `namespace` is empty for cluster-wide kinds."""

    kind: str
    namespace: str
    name: str
    status: Status


def standing_of(item: KubernetesObject, status: Status) -> ObjectStanding:
    """`status` as that of `item`."""
    return ObjectStanding(item.kind.value, item.metadata.namespace, item.metadata.name, status)


def condition(
    kind: str, problem: Problem | None, generation: int, *, good: str = "", said: str = ""
) -> StatusCondition:
    """The condition of the type `kind`: False for a problem, else True with the reason `good` (`kind` if empty)."""
    if problem is not None:
        return StatusCondition(kind, "False", problem.reason, problem.message, generation)
    return StatusCondition(kind, "True", good or kind, said, generation)


def parent_name(reference: ParentReference, namespace: str) -> ParentName:
    """A parentRef of an object in `namespace` as statuses name it."""
    return ParentName(
        reference.group,
        reference.kind,
        reference.namespace or namespace,
        reference.name,
        reference.section_name,
        reference.port,
    )
