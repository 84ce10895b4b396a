"""The one interface of all zone policies: ready endpoints and surroundings in, a verdict out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from balancer.model import Endpoint, OwnZone, ZoneFacts, ZonePolicy
from balancer.zones.reasons import Reason

ALL_BASIS_POINTS = 10_000
"""Every request, in basis points."""


class Surroundings(msgspec.Struct, frozen=True):
    """Where this replica is, and what is known of the zones around it."""

    own: OwnZone = OwnZone()
    zones: ZoneFacts = ZoneFacts()


class Residual(NamedTuple):
    """Endpoints of one zone, and their weight among all residuals: at least 1."""

    endpoints: tuple[Endpoint, ...]
    weight: int


class Verdict(NamedTuple):
    """Which ready endpoints a policy wants, and why.

    `zonal` None: the general pool, for `reason`; empty (a strict `ordered` list alone): none at all. Of 10,000 requests
    `zonal_basis_points` go to `zonal`; the rest go to `residuals` by their weights, for `proportional_residual`.
    """

    zonal: tuple[Endpoint, ...] | None
    reason: Reason
    zonal_basis_points: int = ALL_BASIS_POINTS
    residuals: tuple[Residual, ...] = ()


Judge = Callable[[tuple[Endpoint, ...], Surroundings, ZonePolicy], Verdict]
"""Ready endpoints (never empty), the surroundings and the policy's thresholds into a verdict."""
