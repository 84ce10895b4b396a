"""Defines the interface of all zone policies: from ready endpoints and surroundings to a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, ZoneFacts, ZonePolicy
from balancer.zones.reasons import Reason

ALL_BASIS_POINTS = 10_000
"""Every request, in basis points."""


class Surroundings(msgspec.Struct, frozen=True):
    """The own zone of this replica, and what is known about the zones around it."""

    own: OwnZone = OwnZone()
    zones: ZoneFacts = ZoneFacts()


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
