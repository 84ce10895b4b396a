"""Defines the interface of all zone policies: from ready endpoints and surroundings to a verdict."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection
from operator import itemgetter
from typing import NamedTuple

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import FleetUse, OwnZone, ZoneFacts, ZonePolicy, ZonePolicyName, ZoneTraffic
from balancer.zones.reasons import Reason

_service_of: Callable[[tuple[str, ZoneTraffic]], str] = itemgetter(0)

ALL_BASIS_POINTS = 10_000
"""Every request, in basis points."""


class Surroundings(msgspec.Struct, frozen=True):
    """The own zone of this replica, and what is known about the zones around it."""

    own: OwnZone = OwnZone()
    zones: ZoneFacts = ZoneFacts()

    def about(self, namespace: str, service: str) -> Surroundings:
        """The surroundings of one Service: its requests by zone, where they are known, stand for the replicas."""
        zones = self.zones
        if not zones.traffic:
            return self
        name = f"{namespace}/{service}"
        place = bisect_left(zones.traffic, name, key=_service_of)
        is_known = place < len(zones.traffic) and zones.traffic[place][0] == name and zones.fleet is FleetUse.ON
        replicas = zones.traffic[place][1] if is_known else zones.replicas
        return Surroundings(self.own, msgspec.structs.replace(zones, replicas=replicas, traffic=()))

    def matters(self, before: Surroundings, names: Collection[ZonePolicyName]) -> bool:
        """Whether policies with these names may judge otherwise than in the surroundings `before`."""
        if self == before:
            return False
        cpu, replicas = ZonePolicyName.ALLOCATE in names, ZonePolicyName.PROPORTIONAL in names
        zones = msgspec.structs.replace(
            self.zones,
            cpu_milli=self.zones.cpu_milli if cpu else before.zones.cpu_milli,
            replicas=self.zones.replicas if replicas else before.zones.replicas,
        )
        return self.own != before.own or zones != before.zones


class Residual(NamedTuple):
    """Endpoints of one zone, and their weight among all residuals, which is at least 1."""

    endpoints: tuple[Endpoint, ...]
    weight: int


class Verdict(NamedTuple):
    """Which ready endpoints a policy wants, and why.

    `zonal` None means the general pool, because of `reason`. An empty `zonal` means no endpoint at all (only for a
    strict `ordered` list). Of 10,000 requests `zonal_basis_points` go to `zonal`. The rest go to `residuals` by their
    weights, with the reason `proportional_residual`.
    """

    zonal: tuple[Endpoint, ...] | None
    reason: Reason
    zonal_basis_points: int = ALL_BASIS_POINTS
    residuals: tuple[Residual, ...] = ()


Judge = Callable[[tuple[Endpoint, ...], Surroundings, ZonePolicy], Verdict]
"""Judges ready endpoints (never empty) by the surroundings and the thresholds of the policy."""
