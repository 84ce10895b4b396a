"""What health does to the pools of any policy: leave the zone when too little of it is well, and never stop serving.

Applied after the policy has decided, to its pools alone. Thresholds as Envoy's panic threshold, first for the zonal
pool and then for the general one.
"""

from __future__ import annotations

from collections.abc import Callable

from balancer.model import Endpoint
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools


def by_health(pools: Pools, *, is_well: Callable[[Endpoint], bool], panic_percent: int) -> Pools:
    """The pools without what is unwell; as long as `pools.general` holds anything, what serves is not empty.

    In a pool of which less than `panic_percent` is well, the rest would be crushed: a zonal pool gives way to the
    general one, and the general one ignores health.
    """
    general = tuple(filter(is_well, pools.general))
    if pools.zonal_mode:
        zonal = tuple(filter(is_well, pools.zonal))
        if _is_enough(zonal, pools.zonal, percent=panic_percent):
            return Pools(zonal=zonal, general=general, reason=pools.reason, zonal_mode=True)
    if _is_enough(general, pools.general, percent=panic_percent):
        reason = Reason.SPILL_HEALTH if pools.zonal_mode else pools.reason
        return Pools(zonal=(), general=general, reason=reason, zonal_mode=False)
    # An endpoint that terminates is used for a reason that outranks its health.
    reason = pools.reason if pools.reason is Reason.TERMINATING_LAST_RESORT else Reason.PANIC
    return Pools(zonal=(), general=pools.general, reason=reason, zonal_mode=False)


def _is_enough(well: tuple[Endpoint, ...], every: tuple[Endpoint, ...], *, percent: int) -> bool:
    return bool(well) and len(well) * 100 >= percent * len(every)
