"""Tells Gateways and routes in their statuses which zone policies are attached to them (GEP-713)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from ingress.translation.gateway.standings import (
    GatewayStatus,
    ObjectStanding,
    ParentStanding,
    RouteStatus,
    Status,
    StatusCondition,
)
from ingress.translation.gateway.zone_policies import ZonePolicies

AFFECTED: Final = "zonal-ingress.io/ZonePolicyAffected"
"""The type of the condition of objects that policies are attached to."""


def with_affected(standings: Iterable[ObjectStanding], zones: ZonePolicies) -> Iterator[ObjectStanding]:
    """The standings, those of Gateways and routes with a condition that names the policies attached to them."""
    affecting = zones.affecting()
    if not affecting:
        yield from standings
        return
    for each in standings:
        names = affecting.get((each.kind, each.namespace, each.name))
        yield each if names is None else msgspec.structs.replace(each, status=_affected(each.status, names))


def _affected(status: Status, names: Iterable[str]) -> Status:
    message = f"Attached: {', '.join(names)}."
    if isinstance(status, GatewayStatus):
        generation = max((each.observed_generation for each in status.conditions), default=0)
        added = StatusCondition(AFFECTED, "True", "ZonePolicyAffected", message, generation)
        return msgspec.structs.replace(status, conditions=(*status.conditions, added))
    if isinstance(status, RouteStatus):
        return RouteStatus(tuple(_affected_parent(each, message) for each in status.parents))
    return status


def _affected_parent(parent: ParentStanding, message: str) -> ParentStanding:
    generation = max((each.observed_generation for each in parent.conditions), default=0)
    added = StatusCondition(AFFECTED, "True", "ZonePolicyAffected", message, generation)
    return msgspec.structs.replace(parent, conditions=(*parent.conditions, added))
