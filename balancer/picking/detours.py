"""Prepares picks for requests that avoid zones: those that are left because their answers fail.

Each request draws a number, and avoids the zones whose share exceeds it. So a zone that half of all requests leave is
absent for half of them. Does not decide the shares.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from balancer.picking.health import BackendHealth
from balancer.picking.members import Pick
from balancer.picking.rotation import Rotation
from balancer.picking.turns import TurnMaker, Turns
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.spill import beyond
from balancer.zones.split import Pools
from balancer.zones.verdicts import ALL_BASIS_POINTS

# Draws avoid nested sets of zones, so there are no more at a time than zones. Those of past shares are dropped.
_KEPT_MOST: Final = 16
# A zone that is left should show soon that it is well. If its endpoints are ejected, one of them is tried this often.
_PROBE_SECONDS: Final = 1.0

NOWHERE: Final[frozenset[str]] = frozenset()
"""No zone is avoided."""

NO_ZONE_LEFT: Final[dict[str, int]] = {}
"""The shares for balancers whose policy leaves no zone."""


class Detour(NamedTuple):
    """The picks for requests that avoid some zones, and those among them that are unhealthy."""

    rotation: Rotation
    unwell: tuple[Pick, ...]


class Detours:
    """The detours of one balancer. `left` are the basis points of requests that avoid each zone, which change."""

    __slots__ = ("_after", "_known", "_maker", "_pools", "_probe_at", "left")

    def __init__(self, left: Mapping[str, int], *, maker: TurnMaker, pools: Pools) -> None:
        """`pools` are those of the policy, before health counts."""
        self.left = left
        self._maker = maker
        self._pools = pools
        self._known: dict[frozenset[str], Detour | None] = {}
        self._after: Turns | None = None
        self._probe_at = 0.0

    def draw(self, *, is_retry: bool) -> frozenset[str]:
        """The zones that one request avoids. A retry avoids every zone that is left."""
        drawn = 0 if is_retry else self._maker.random_below(ALL_BASIS_POINTS)
        return frozenset(zone for zone, points in self.left.items() if points > drawn)

    def around(self, avoided: frozenset[str], turns: Turns) -> Detour | None:
        """The detour that avoids these zones; None if no request that `turns` serve would go there, or if too little
        would be left.
        """
        if not avoided:
            return None
        if turns is not self._after or len(self._known) > _KEPT_MOST:
            self._known.clear()
            self._after = turns
        if avoided not in self._known:
            self._known[avoided] = self._detour(avoided, turns)
        return self._known[avoided]

    def early_probe(self, unwell: Collection[Pick], health: BackendHealth, now: float) -> Pick | None:
        """The pick of an ejected endpoint in a zone that is left, if it is time for one.

        An ejection may take half a minute, and too little else would show that the zone is well again.
        """
        if now < self._probe_at:
            return None
        waiting = (pick for pick in unwell if pick.to_zone in self.left)
        for pick in sorted(waiting, key=lambda pick: pick.member.health.ejected_until or 0.0):
            if health.take_early_probe(pick.member.health, now):
                self._probe_at = now + _PROBE_SECONDS
                return pick.as_probe()
        return None

    def chances(self) -> tuple[tuple[float, frozenset[str]], ...]:
        """Which zones first attempts avoid, by probability."""
        points = sorted({0, *self.left.values(), ALL_BASIS_POINTS})
        return tuple(
            ((end - begin) / ALL_BASIS_POINTS, frozenset(zone for zone, some in self.left.items() if some > begin))
            for begin, end in pairwise(points)
        )

    def _detour(self, avoided: frozenset[str], turns: Turns) -> Detour | None:
        maker = self._maker
        endpoints = beyond(turns.pools, self._pools, avoided=avoided, panic_percent=maker.panic_percent)
        if not endpoints:
            return None
        reason = foremost(Reason.SPILL_ERRORS, turns.pools.reason)
        picks = tuple(maker.pick(each, reason) for each in endpoints)
        unwell = (maker.pick(each, reason) for each in self._pools.general if each not in endpoints)
        return Detour(
            Rotation(picks, start=maker.random_below(len(picks))),
            tuple(pick for pick in unwell if not pick.member.health.is_well and pick.to_zone not in avoided),
        )


def avoiding(detours: Detours | None) -> Collection[tuple[float, frozenset[str]]]:
    """Which zones first attempts avoid, by probability; without detours none."""
    return detours.chances() if detours is not None and detours.left else ((1.0, NOWHERE),)
