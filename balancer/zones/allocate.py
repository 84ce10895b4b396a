"""The policy `allocate`: the endpoints that the EndpointSlice controller's Auto heuristic would hint for the own zone.

Computed from ready endpoints and allocatable CPU alone, so every replica allocates alike, whatever its zone, and no
endpoint belongs to two zones. For clusters whose slices carry no hints (KEP-2433; topologycache of Kubernetes 1.36).
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.model import Endpoint, Zone, ZonePolicy
from balancer.zones.allocation import allocations, moves
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings, Verdict


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """The endpoints allocated to the own zone, or the controller's first objection to an allocation.

    A condition `ready` that is absent counts as true here as everywhere in the data plane, whereas the controller
    counts it as false; it matters only for slices that somebody else writes, since the controller always says.
    """
    own_zone = around.own.zone
    if own_zone is None:
        return Verdict(None, Reason.OWN_ZONE_UNKNOWN)
    allocated = allocate(ready, around.zones.cpu_milli)
    if isinstance(allocated, Reason):
        return Verdict(None, allocated)
    chosen = set(allocated.get(own_zone, ()))
    if not chosen:
        return Verdict(None, Reason.ZONE_EMPTY)  # a zone with endpoints of its own never gives its last one away
    return Verdict(tuple(endpoint for endpoint in ready if endpoint in chosen), Reason.ZONE_ALLOCATED)


def allocate(
    ready: tuple[Endpoint, ...], cpu_milli: tuple[tuple[Zone, int], ...] | None
) -> Mapping[Zone, list[Endpoint]] | Reason:
    """Every ready endpoint with the zone it is allocated to, or why that cannot be; `cpu_milli` as in `ZoneFacts`."""
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
    """In the order of addresses, so that it is the same endpoint that moves everywhere. None: one has no zone."""
    by_zone: dict[Zone, list[Endpoint]] = {}
    for endpoint in sorted(ready, key=lambda each: (each.address, each.port)):
        if endpoint.zone is None:
            return None
        by_zone.setdefault(endpoint.zone, []).append(endpoint)
    return by_zone
