"""Computes how many endpoints each zone should have by its share of CPU, and which zone gives endpoints to which.

The arithmetic of the EndpointSlice controller's `topology-mode: Auto` (KEP-2433; topologycache of Kubernetes 1.36), in
floating point as there. Does not know endpoints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from balancer.model.zones import Zone

# How much more than its fair share of requests an endpoint may get: the controller's constant.
_OVERLOAD_THRESHOLD = 0.2

# No endpoint moves if a zone would give or get less than half of an endpoint, or both less than a whole one.
_HALF, _WHOLE = 0.5, 1.0


class Allocation(msgspec.Struct, frozen=True):
    """What a zone should have: at least `minimum` endpoints, and `desired` endpoints, which is not a whole number."""

    minimum: int
    desired: float


def allocations(cpu_milli: Mapping[Zone, int], ready: int) -> dict[Zone, Allocation]:
    """What each zone should have of `ready` endpoints by its share of CPU. Every zone must have CPU."""
    total = sum(cpu_milli.values())
    return {zone: _allocation(milli / total * ready) for zone, milli in cpu_milli.items()}


def _allocation(fair: float) -> Allocation:
    minimum = math.ceil(fair * (1 / (1 + _OVERLOAD_THRESHOLD)))
    return Allocation(minimum=minimum, desired=max(fair, float(minimum)))


def moves(desired: Mapping[Zone, float], have: Mapping[Zone, int]) -> list[tuple[Zone, Zone]]:
    """The moves of one endpoint from zone to zone, until giver or receiver is near enough to its desired number.

    The zone with the largest surplus gives to the zone with the largest deficit. Among equals the first by name moves:
    the controller chooses at random, but all replicas of zonal must get the same result.
    """
    surplus = {zone: have.get(zone, 0) - desired[zone] for zone in sorted(desired)}
    lack = {zone: -amount for zone, amount in surplus.items() if amount < 0}
    spare = {zone: amount for zone, amount in surplus.items() if amount > 0}
    made: list[tuple[Zone, Zone]] = []
    while spare and lack:
        giver, receiver = max(spare, key=spare.__getitem__), max(lack, key=lack.__getitem__)
        least, most = sorted((spare[giver], lack[receiver]))
        if most < _WHOLE or least < _HALF:
            break
        spare[giver] -= _WHOLE
        lack[receiver] -= _WHOLE
        made.append((giver, receiver))
    return made
