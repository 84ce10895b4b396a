"""Applies health to the pools of any policy: leaves a zone in which too little is healthy, and never stops serving.

Runs after the policy has decided, on its pools only. The thresholds work like Envoy's panic threshold, first for the
zonal pool and then for the general pool.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import UNKNOWN_ZONE
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools


def by_health(pools: Pools, *, is_well: Callable[[Endpoint], bool], panic_percent: int) -> Pools:
    """The pools without unhealthy endpoints. A pool that served something still serves something.

    If less than `panic_percent` of a pool is healthy, the rest would be overloaded. A zonal pool then gives way to the
    general pool. The general pool gives way to drained zones if only they have healthy endpoints; otherwise it ignores
    health.
    """
    if pools.refuses:
        return pools
    general, drained = tuple(filter(is_well, pools.general)), tuple(filter(is_well, pools.drained))
    if pools.zonal_mode:
        zonal = tuple(filter(is_well, pools.zonal))
        if _is_enough(zonal, pools.zonal, percent=panic_percent):
            return msgspec.structs.replace(pools, zonal=zonal, general=general, drained=drained)
    if _is_enough(general, pools.general, percent=panic_percent):
        reason = foremost(Reason.SPILL_HEALTH, pools.reason) if pools.zonal_mode else pools.reason
        return Pools(zonal=(), general=general, reason=reason, zonal_mode=False, drained=drained)
    if not general and _is_enough(drained, pools.drained, percent=panic_percent):
        reason = foremost(Reason.DRAINED_ZONE, pools.reason)
        return Pools(zonal=(), general=drained, reason=reason, zonal_mode=False)
    reason = foremost(Reason.PANIC, pools.reason)
    return Pools(zonal=(), general=pools.general, reason=reason, zonal_mode=False, drained=pools.drained)


def beyond(kept: Pools, pools: Pools, *, avoided: Collection[str], panic_percent: int) -> tuple[Endpoint, ...]:
    """The healthy endpoints for requests that avoid zones, by the zones' names; empty if they need not, or cannot.

    `kept` are the `pools` in force, without unhealthy endpoints. If less than `panic_percent` of what is outside of
    these zones is healthy, the rest would be overloaded.
    """
    serving = kept.zonal if kept.zonal_mode else kept.general
    if pools.refuses or all(_is_outside(each, avoided) for each in serving):
        return ()
    well = tuple(each for each in kept.general if _is_outside(each, avoided))
    every = tuple(each for each in pools.general if _is_outside(each, avoided))
    return well if _is_enough(well, every, percent=panic_percent) else ()


def _is_outside(endpoint: Endpoint, zones: Collection[str]) -> bool:
    return (endpoint.zone or UNKNOWN_ZONE) not in zones


def _is_enough(well: tuple[Endpoint, ...], every: tuple[Endpoint, ...], *, percent: int) -> bool:
    return bool(well) and len(well) * 100 >= percent * len(every)
