"""Balances under the policy `adaptive`: a share of the requests leaves a zonal pool under load for other zones.

Carries out what a controller decides, and reports to the controller how attempts ended. Inside each pool the better of
two random members gets the request, by latency and requests in flight. Does not decide the share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone
from balancer.picking.balancers import Outlook, PoolBalancer, probe_among, waiting_among
from balancer.picking.choosing import Chooser
from balancer.picking.detours import NO_ZONE_LEFT, NOWHERE
from balancer.picking.health import BackendHealth
from balancer.picking.members import Member, Pick
from balancer.picking.outcomes import Outcome
from balancer.picking.rotation import Rotation
from balancer.picking.turns import TurnMaker, Turns
from balancer.zones.adaptive import SpillController, dearness
from balancer.zones.cost import Tariff
from balancer.zones.locality import Locality
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools


class SpillingBalancer(PoolBalancer):
    """Asks the controller for each request whether the request leaves the zone. Retries stay as long as possible.

    Does not ask if other zones have no endpoints, nor in general mode.
    """

    __slots__ = ("_away", "_away_after", "_controller", "_unwell_away")

    def __init__(
        self,
        turns: Turns,
        *,
        maker: TurnMaker,
        health: BackendHealth,
        chooser: Chooser,
        controller: SpillController,
        left: dict[str, int] = NO_ZONE_LEFT,
    ) -> None:
        """`maker` reports to a `Spillway` (`TurnMaker.observed_by`). `chooser` knows how dear each zone is."""
        super().__init__(turns, maker=maker, health=health, chooser=chooser, left=left)
        self._controller = controller
        self._away_after: Turns | None = None
        self._away = Rotation(())
        self._unwell_away: tuple[Pick, ...] = ()

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        avoided = self._avoided(tried)
        if avoided and (pick := self._pick_around(avoided, tried, now)) is not None:
            return pick  # for its errors, whatever the load: the controller gets only what may stay
        if tried or not self._away_now().items:
            return self._pick_within(tried, now)
        if self._controller.next_leaves(now) and (pick := self._pick_away(avoided, now)) is not None:
            return pick
        pick = self._pick_within((), now)
        return pick if pick is None else self._explained(pick)

    @property
    def leaving(self) -> float:
        return self._controller.share if self._away_now().items else 0.0

    def outlook(self, now: float, *, leaves: bool = False, avoided: frozenset[str] = NOWHERE) -> Outlook:
        if avoided and self._detours_now().around(avoided, self._turns_now()) is not None:
            return super().outlook(now, avoided=avoided)
        away = self._away_now()
        if leaves and (picks := self._chooser.open_to(away, now)):
            return Outlook(self._turns_now().pools, picks, waiting_among(self._unwell_away, now))
        outlook = super().outlook(now)
        return outlook._replace(picks=tuple(map(self._explained, outlook.picks))) if away.items else outlook

    def _explained(self, pick: Pick) -> Pick:
        """A pick that stays in the zone, marked `spill_budget_exhausted` if only the budget kept it there."""
        if pick.reason is not Reason.ZONE_LOCAL or not self._controller.budget_exhausted:
            return pick
        return pick.for_reason(self._controller.reason(leaves=False))

    def _away_now(self) -> Rotation:
        turns = self._turns_now()
        if turns is not self._away_after:
            self._look_elsewhere(turns)
        return self._away

    def _pick_away(self, avoided: frozenset[str], now: float) -> Pick | None:
        """A pick in another zone, but not in one that the request avoids. None if there is none with room."""
        if self._unwell_away and (probe := probe_among(self._unwell_away, self._health, now)) is not None:
            return probe
        away = self._away
        if avoided:
            away = Rotation(tuple(pick for pick in away.items if pick.to_zone not in avoided))
        return self._chooser.choose(away, tried=(), now=now)

    def _look_elsewhere(self, turns: Turns) -> None:
        self._away_after = turns
        reason = foremost(self._controller.reason(leaves=True), self.pools.reason)
        self._away = Rotation(tuple(self._maker.pick(each, reason) for each in elsewhere(turns.pools)))
        picks = (self._maker.pick(each, reason) for each in elsewhere(self.pools)) if self._impaired else ()
        self._unwell_away = tuple(pick for pick in picks if not pick.member.health.is_well)


class Spillway:
    """Learns how attempts under this policy ended, for the choice of two and for the controller. An `Observer`."""

    __slots__ = ("_chooser", "_controller")

    def __init__(self, chooser: Chooser, controller: SpillController | None) -> None:
        """If `controller` is None, no request can leave the zone, and only `chooser` learns."""
        self._chooser = chooser
        self._controller = controller

    def ended(self, pick: Pick, outcome: Outcome, *, seconds: float, now: float) -> None:
        """Learns that an attempt got its response or failure after `seconds`."""
        says_something = self._chooser.observe(pick.member, outcome, seconds=seconds, now=now)
        if self._controller is not None:
            is_local = pick.locality is Locality.LOCAL
            is_answer = says_something and outcome is Outcome.ANSWERED  # a quick 5xx is not a zone at ease
            self._controller.ended(is_local=is_local, seconds=seconds if is_answer else None)


def elsewhere(pools: Pools) -> tuple[Endpoint, ...]:
    """The endpoints for requests that leave the zone; none in general mode, which ignores zones."""
    if not pools.zonal_mode or not pools.zonal:
        return ()
    return tuple(endpoint for endpoint in pools.general if endpoint not in pools.zonal)


def dearnesses(tariffs: Mapping[Zone | None, Tariff], *, toll_ratio: float) -> Mapping[Zone | None, float]:
    """A factor for the latency of each zone, from the price of a byte there and back."""
    prices = {zone: tariff.sent + tariff.received for zone, tariff in tariffs.items()}
    dearest = max(prices.values(), default=0.0)
    return {zone: dearness(price, dearest=dearest, toll_ratio=toll_ratio) for zone, price in prices.items()}
