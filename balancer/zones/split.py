"""Splits the endpoints of a backend into a zonal and a general pool, and decides which pool serves.

The mode is decided first and then only applied, so a chosen mode never has an empty pool (kube-proxy topology.go: "the
fallback happens when deciding which mode to use, not when applying that decision").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZoneEvacuation, ZonePolicy, ZonePolicyName
from balancer.zones import allocate, hints, off, ordered, prefer_zone, proportional
from balancer.zones.draining import apart
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import ALL_BASIS_POINTS, Judge, Residual, Surroundings

JUDGES: Mapping[ZonePolicyName, Judge] = {
    ZonePolicyName.OFF: off.judge,
    ZonePolicyName.PREFER_ZONE: prefer_zone.judge,
    ZonePolicyName.HINTS: hints.judge,
    ZonePolicyName.ALLOCATE: allocate.judge,
    ZonePolicyName.PROPORTIONAL: proportional.judge,
    ZonePolicyName.ADAPTIVE: prefer_zone.judge,  # load moves requests later, between the same pools
    ZonePolicyName.ORDERED: ordered.judge,
}


class Pools(msgspec.Struct, frozen=True):
    """In zonal mode `zonal` serves, else `general`. `reason` says why. An unused zonal pool is empty.

    In zonal mode `zonal_basis_points` of 10,000 requests go to `zonal`, the others to `residuals`. `drained` are ready
    endpoints that are used only if nothing else is left.
    """

    zonal: tuple[Endpoint, ...]
    general: tuple[Endpoint, ...]
    reason: Reason
    zonal_mode: bool
    zonal_basis_points: int = ALL_BASIS_POINTS
    residuals: tuple[Residual, ...] = ()
    drained: tuple[Endpoint, ...] = ()

    @property
    def refuses(self) -> bool:
        """Whether the policy prefers no endpoint at all to any other endpoint (a strict `ordered` list)."""
        return self.zonal_mode and not (self.zonal or self.residuals)


def in_force(policy: ZonePolicy, ready: tuple[Endpoint, ...]) -> ZonePolicyName:
    """The policy that judges these ready endpoints: `hints` if all of them have hints and `policy` heeds these."""
    return ZonePolicyName.HINTS if policy.heeds_hints and hints.are_complete(ready) else policy.name


def evacuation_in_force(policy: ZonePolicy, endpoints: Iterable[Endpoint]) -> ZoneEvacuation:
    """Whether sick zones are left under `policy`. Hints that `auto` heeds obey their author, too, unless asked."""
    if policy.asked_evacuation is None and policy.heeds_hints:
        ready = tuple(endpoint for endpoint in endpoints if endpoint.ready)
        if in_force(policy, ready) is ZonePolicyName.HINTS:
            return ZoneEvacuation.OFF
    return policy.evacuation


def split(endpoints: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Pools:
    """The pools of `endpoints`. If none is ready, those that serve while they terminate are used (KEP-1672).

    Endpoints in drained zones (`around.zones.drained`) count as absent, unless nothing is left without them.
    """
    ready = tuple(endpoint for endpoint in endpoints if endpoint.ready)
    if not ready:
        terminating = tuple(endpoint for endpoint in endpoints if endpoint.serving_terminating)
        return Pools(zonal=(), general=terminating, reason=Reason.TERMINATING_LAST_RESORT, zonal_mode=False)
    staying, leaving = apart(ready, around.zones.drained)
    pools = _pools(staying, around, policy)
    if not leaving:
        nothing_stays = staying[0].zone in around.zones.drained  # then all endpoints are in drained zones
        return _drained(pools) if nothing_stays and not pools.refuses else pools
    if pools.refuses and not (with_drained := _pools(ready, around, policy)).refuses:
        return _drained(with_drained)
    return msgspec.structs.replace(pools, drained=leaving)


def _pools(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Pools:
    verdict = JUDGES[in_force(policy, ready)](ready, around, policy)
    return Pools(
        zonal=verdict.zonal or (),
        general=ready,
        reason=verdict.reason,
        zonal_mode=verdict.zonal is not None,
        zonal_basis_points=verdict.zonal_basis_points,
        residuals=verdict.residuals,
    )


def _drained(pools: Pools) -> Pools:
    return msgspec.structs.replace(pools, reason=foremost(pools.reason, Reason.DRAINED_ZONE))
