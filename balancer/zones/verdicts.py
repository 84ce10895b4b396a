"""The one interface of all zone policies: ready endpoints in, a verdict out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from balancer.model import Endpoint, Zone, ZonePolicy
from balancer.zones.reasons import Reason


class Verdict(NamedTuple):
    """Which ready endpoints a policy wants, and why. `zonal` None: the general pool, for `reason`."""

    zonal: tuple[Endpoint, ...] | None
    reason: Reason


Judge = Callable[[tuple[Endpoint, ...], Zone | None, ZonePolicy], Verdict]
"""Ready endpoints (never empty), the own zone and the policy's thresholds into a verdict."""
