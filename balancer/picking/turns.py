"""Keeps the turns of pools: prepared picks of each pool, and a rotation over them.

Turns continue when pools change. Does not know load, nor which pool a request gets.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from balancer.model.endpoints import Endpoint
from balancer.model.zones import UNKNOWN_ZONE, Zone
from balancer.picking.members import Member, Observer, Pick, label_of
from balancer.picking.rotation import Rotation
from balancer.zones.cost import Tariff
from balancer.zones.locality import locality_of
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.spill import by_health
from balancer.zones.split import Pools

RandomBelow = Callable[[int], int]
"""Returns a random number from 0 to below its argument, which is at least 1."""


class Turns:
    """The pools in force, and a rotation over the picks of each. `serving` is the rotation of the pool that the mode
    chooses. When it has no member left, `fallbacks` are asked in order.
    """

    __slots__ = ("drained", "fallbacks", "general", "pools", "serving", "zonal")

    def __init__(self, pools: Pools, *, zonal: Rotation, general: Rotation, drained: Rotation) -> None:
        self.pools = pools
        self.zonal = zonal
        self.general = general
        self.drained = drained
        self.serving = zonal if pools.zonal_mode else general
        others = (general, drained) if pools.zonal_mode else (drained,)
        self.fallbacks = () if pools.refuses else tuple(rotation for rotation in others if rotation.items)


NOTHING_YET = Turns(
    Pools(zonal=(), general=(), reason=Reason.OFF, zonal_mode=False),
    zonal=Rotation(()),
    general=Rotation(()),
    drained=Rotation(()),
)
"""The turns before the first turn."""


class TurnMaker:
    """Makes the turns of one backend in its present state."""

    __slots__ = ("_members", "_observer", "_own_zone", "panic_percent", "random_below", "tariffs")

    def __init__(
        self,
        *,
        members: Mapping[str, Member],
        own_zone: Zone | None,
        tariffs: Mapping[Zone | None, Tariff],
        panic_percent: int,
        random_below: RandomBelow,
    ) -> None:
        """`members` are keyed by their labels, `tariffs` by the zones of their endpoints."""
        self._members = members
        self._own_zone = own_zone
        self.tariffs = tariffs
        self.panic_percent = panic_percent
        self.random_below = random_below
        self._observer: Observer | None = None

    def observed_by(self, observer: Observer) -> TurnMaker:
        """A maker like this one, whose picks have `observer`."""
        maker = copy.copy(self)
        maker._observer = observer
        return maker

    def turns(self, pools: Pools, *, after: Turns) -> Turns:
        """Turns over `pools` that continue where those of `after` stand. New members start at a random place."""
        reason = pools.reason
        general_reason = Reason.RETRY_OTHER_ZONE if pools.zonal_mode else reason
        drained_reason = foremost(Reason.DRAINED_ZONE, reason)
        return Turns(
            pools,
            zonal=self._rotation(pools.zonal, reason, after=after.zonal),
            general=self._rotation(pools.general, general_reason, after=after.general),
            drained=self._rotation(pools.drained, drained_reason, after=after.drained),
        )

    def turns_by_health(self, pools: Pools, *, after: Turns) -> Turns:
        """Turns over the endpoints of `pools` that may serve by their health. They continue those of `after`."""
        members = self._members
        kept = by_health(
            pools,
            is_well=lambda endpoint: members[label_of(endpoint)].health.is_well,
            panic_percent=self.panic_percent,
        )
        return self.turns(kept, after=after)

    def _rotation(self, endpoints: tuple[Endpoint, ...], reason: Reason, *, after: Rotation) -> Rotation:
        picks = tuple(self.pick(endpoint, reason) for endpoint in endpoints)
        start = self.random_below(len(picks)) if picks else 0
        return after.resized(picks, key=_member_of, start=start)

    def pick(self, endpoint: Endpoint, reason: Reason) -> Pick:
        """The pick of one endpoint, for `reason`."""
        return Pick(
            member=self._members[label_of(endpoint)],
            endpoint=endpoint,
            to_zone=endpoint.zone or UNKNOWN_ZONE,
            locality=locality_of(endpoint.zone, self._own_zone),
            reason=reason,
            tariff=self.tariffs[endpoint.zone],
            observer=self._observer,
        )


def _member_of(pick: Pick) -> Member:
    return pick.member
