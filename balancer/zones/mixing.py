"""Splits the pools of a policy that divides requests among zones into pools for a single request."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools
from balancer.zones.verdicts import ALL_BASIS_POINTS


class Part(NamedTuple):
    """Pools that serve a share of all requests. `weight` is relative. `residual` marks the share of another zone.

    `zone` is the zone of a residual's endpoints, whether known or not.
    """

    pools: Pools
    weight: int
    residual: bool = False
    zone: Zone | None = None


def parts(pools: Pools) -> tuple[Part, ...]:
    """At least one part, each with a weight above 0. A policy that does not divide requests has one part."""
    whole = sum(residual.weight for residual in pools.residuals)
    if not whole:
        return (Part(pools, 1),)
    local = Part(_one_zone(pools, pools.zonal, pools.reason), pools.zonal_basis_points * whole)
    reason = foremost(Reason.PROPORTIONAL_RESIDUAL, pools.reason)
    spilled = ALL_BASIS_POINTS - pools.zonal_basis_points
    others = (
        Part(_one_zone(pools, residual.endpoints, reason), spilled * residual.weight, True, residual.endpoints[0].zone)
        for residual in pools.residuals
    )
    return tuple(part for part in (local, *others) if part.weight)


def _one_zone(pools: Pools, endpoints: tuple[Endpoint, ...], reason: Reason) -> Pools:
    return msgspec.structs.replace(
        pools, zonal=endpoints, reason=reason, zonal_basis_points=ALL_BASIS_POINTS, residuals=()
    )
