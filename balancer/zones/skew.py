"""Computes how much more an endpoint of a zone gets than the average, before any request shows it.

The traffic share of the zone divided by its endpoint share. Every policy is asked what it would do in each zone, so
that what comes from other zones counts. Does not know what was measured, and ignores rollouts and dry runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName
from balancer.zones.mixing import parts
from balancer.zones.split import split
from balancer.zones.verdicts import Surroundings

EVEN = 1.0
"""Each endpoint gets as much as every other one."""

# Who writes slices chooses the zones. Each costs a judgement of all endpoints.
_ZONES_MOST = 8


def expected_load(endpoints: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> float | None:
    """The load of an endpoint in the own zone, as in `expected_loads`.

    None if the own zone has no ready endpoint or is unknown, or if endpoints are in too many zones.
    """
    own = around.own.zone
    return expected_loads(endpoints, around, policy).get(own) if own is not None else None


def expected_loads(endpoints: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> dict[Zone, float]:
    """The load of an endpoint in each zone with a ready one, as a multiple of the average over all ready endpoints.

    Requests come from the zones of our replicas, each of which gets as many. If these are unknown, they come in equal
    parts from each zone with an endpoint. Nothing is computed if endpoints are in more than 8 zones.
    """
    ready = tuple(endpoint for endpoint in endpoints if endpoint.ready)
    counts = Counter(endpoint.zone for endpoint in ready)
    present = [zone for zone in counts if zone is not None]
    if not present or len(counts) > _ZONES_MOST:
        return {}
    if policy.name is ZonePolicyName.OFF and not around.zones.drained:
        return dict.fromkeys(present, EVEN)
    origins = _origins(present, around)
    traffic: defaultdict[Zone | None, float] = defaultdict(float)
    for origin, count in origins.items():
        for zone, share in _shares(ready, around, policy, origin=origin):
            traffic[zone] += share * count / origins.total()
    return {zone: traffic[zone] * len(ready) / counts[zone] for zone in present}


def _origins(present: list[Zone], around: Surroundings) -> Counter[Zone]:
    """How many requests come from each zone, in proportion."""
    replicas = Counter(dict(around.zones.replicas or ()))
    return replicas if 0 < len(replicas) <= _ZONES_MOST and replicas.total() else Counter(present)


def _shares(
    ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy, *, origin: Zone
) -> Iterator[tuple[Zone | None, float]]:
    """Where the requests that come from `origin` go: zones, perhaps several times, and shares of 0 to 1."""
    own = around.own if origin == around.own.zone else OwnZone(origin)
    divided = parts(split(ready, msgspec.structs.replace(around, own=own), policy))
    whole = sum(part.weight for part in divided)
    for part in divided:
        serving = part.pools.zonal if part.pools.zonal_mode else part.pools.general
        for zone, count in Counter(endpoint.zone for endpoint in serving).items():
            yield zone, part.weight / whole * count / len(serving)
