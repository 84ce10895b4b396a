"""Splits the endpoints of a backend into a zonal and a general pool, and decides which of them serves.

The mode is decided first and then only applied, so a chosen mode can never come out empty (kube-proxy topology.go:
"the fallback happens when deciding which mode to use, not when applying that decision").
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.model import Endpoint, ZonePolicy, ZonePolicyName
from balancer.zones import off, prefer_zone
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Judge, Surroundings

JUDGES: Mapping[ZonePolicyName, Judge] = {
    ZonePolicyName.OFF: off.judge,
    ZonePolicyName.PREFER_ZONE: prefer_zone.judge,
}


class Pools(msgspec.Struct, frozen=True):
    """`zonal` serves in zonal mode, else `general` does; `reason` says why. An unused zonal pool is empty."""

    zonal: tuple[Endpoint, ...]
    general: tuple[Endpoint, ...]
    reason: Reason
    zonal_mode: bool


def split(endpoints: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Pools:
    """The pools of `endpoints`. Without a ready one, those that serve while they terminate are used (KEP-1672)."""
    ready = tuple(endpoint for endpoint in endpoints if endpoint.ready)
    if not ready:
        terminating = tuple(endpoint for endpoint in endpoints if endpoint.serving_terminating)
        return Pools(zonal=(), general=terminating, reason=Reason.TERMINATING_LAST_RESORT, zonal_mode=False)
    zonal, reason, _, _ = JUDGES[policy.name](ready, around, policy)
    return Pools(zonal=zonal or (), general=ready, reason=reason, zonal_mode=zonal is not None)
