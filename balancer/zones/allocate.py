"""The policy `allocate`: the endpoints that the EndpointSlice controller's Auto heuristic would hint for the own zone.

Computes from ready endpoints and allocatable CPU only. So every replica gets the same allocation, whatever its zone,
and no endpoint belongs to two zones. For clusters whose slices have no hints (KEP-2433; topologycache of Kubernetes
1.36).
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone, ZonePolicy
from balancer.zones.allocation import allocations, moves
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings, Verdict


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """The endpoints allocated to the own zone, or the controller's first reason against an allocation.

    A missing condition `ready` counts as true, here and everywhere in the data plane. The controller counts it as
    false. This matters only for slices of other writers, because the controller always sets the condition.
    """
    own_zone = around.own.zone
    if own_zone is None:
        return Verdict(None, Reason.OWN_ZONE_UNKNOWN)
    allocated = allocate(ready, around.zones.cpu_milli)
    if isinstance(allocated, Reason):
        return Verdict(None, allocated)
    chosen = set(allocated.get(own_zone, ()))
    if not chosen:
        return Verdict(None, Reason.ZONE_EMPTY)  # a zone with endpoints never gives away its last one
    return Verdict(tuple(endpoint for endpoint in ready if endpoint in chosen), Reason.ZONE_ALLOCATED)


def allocate(
    ready: tuple[Endpoint, ...], cpu_milli: tuple[tuple[Zone, int], ...] | None
) -> Mapping[Zone, list[Endpoint]] | Reason:
    """Every ready endpoint with the zone to which it is allocated, or why that is impossible. `cpu_milli` as in
    `ZoneFacts`.
    """
    if cpu_milli is None or any(milli <= 0 for _, milli in cpu_milli):
        return Reason.NODE_INFO_INCOMPLETE
    if len(cpu_milli) < 2:
        return Reason.TOO_FEW_ZONES
    if len(ready) < len(cpu_milli):
        return Reason.TOO_FEW_ENDPOINTS
    wanted = allocations(dict(cpu_milli), len(ready))
    if sum(each.minimum for each in wanted.values()) > len(ready):
        return Reason.ALLOCATION_INFEASIBLE
    by_zone = _by_own_zone(ready)
    if by_zone is None:
        return Reason.NODE_INFO_INCOMPLETE
    have = {zone: len(endpoints) for zone, endpoints in by_zone.items()}
    for giver, receiver in moves({zone: each.desired for zone, each in wanted.items()}, have):
        by_zone.setdefault(receiver, []).append(by_zone[giver].pop())
    return by_zone


def _by_own_zone(ready: tuple[Endpoint, ...]) -> dict[Zone, list[Endpoint]] | None:
    """The endpoints by zone in the order of addresses, so that every replica moves the same endpoint. None: one has no
    zone.
    """
    by_zone: dict[Zone, list[Endpoint]] = {}
    for endpoint in sorted(ready, key=lambda each: (each.address, each.port)):
        if endpoint.zone is None:
            return None
        by_zone.setdefault(endpoint.zone, []).append(endpoint)
    return by_zone
