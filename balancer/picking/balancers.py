"""Picks members from pools: first from the chosen pool, including probes of ejected members, then from what is left.

While every member is healthy and members take turns, a pick is just a step of a rotation. Does not know policies: pools
come with their reason.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from typing import NamedTuple

from balancer.picking.choosing import Chooser
from balancer.picking.detours import NO_ZONE_LEFT, NOWHERE, Detours, avoiding
from balancer.picking.endpoint_health import awaits_probe
from balancer.picking.health import BackendHealth
from balancer.picking.members import Foretold, Member, Pick
from balancer.picking.turns import TurnMaker, Turns
from balancer.zones.cost import FREE
from balancer.zones.locality import Locality
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools

_COMPARING: Set[object] = {"members are compared"}


class Picker:
    """Picks for one request and its retries."""

    __slots__ = ()

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        """The pick for an attempt at `now`: a member that is not in `tried`, from the chosen pool if possible.

        None if no member is left to try, or all remaining members have reached their limit of requests.
        """
        raise NotImplementedError


class Balancer(Picker):
    """Picks by a zone policy."""

    __slots__ = ()

    @property
    def pools(self) -> Pools:
        """The pools that the policy chose for this request, before health counts."""
        raise NotImplementedError

    @property
    def refusal(self) -> Reason | None:
        """The reason why there is no pick although endpoints are ready; None unless the policy refuses them."""
        raise NotImplementedError

    @property
    def tried_out(self) -> Pools | None:
        """The pools that the policy of a dry run would have chosen; None without a dry run."""
        raise NotImplementedError


class Outlook(NamedTuple):
    """The possible picks of a request's first attempt: `probe` if there is one, else one of `picks`. `pools` are the
    pools after health counts.
    """

    pools: Pools
    picks: tuple[Pick, ...]
    probe: Pick | None = None


class PoolBalancer(Balancer):
    """Picks from the pools for some or all requests of one backend."""

    __slots__ = (
        "_ailing",
        "_chooser",
        "_detours",
        "_health",
        "_hindrances",
        "_impaired",
        "_left",
        "_maker",
        "_seen_version",
        "_unwell",
        "_well",
    )

    def __init__(
        self,
        turns: Turns,
        *,
        maker: TurnMaker,
        health: BackendHealth,
        chooser: Chooser,
        left: dict[str, int] = NO_ZONE_LEFT,
    ) -> None:
        """`left` are the basis points of requests that avoid each zone. It changes, and is empty at most times."""
        self._left = left
        self._detours: Detours | None = None
        self._well = turns
        self._ailing = turns
        self._maker = maker
        self._health = health
        self._chooser = chooser
        self._impaired = health.own_impaired()
        # Empty if the next in turn may be picked, which is never where members are compared. One look serves for both.
        self._hindrances: Set[object] = self._impaired if chooser.takes_turns else _COMPARING
        self._seen_version = -1
        self._unwell: tuple[Pick, ...] = ()

    @property
    def pools(self) -> Pools:
        return self._well.pools

    @property
    def refusal(self) -> Reason | None:
        return self.pools.reason if self.pools.refuses else None

    @property
    def tried_out(self) -> Pools | None:
        return None

    @property
    def turns(self) -> Turns:
        """Where the rotations stand while every endpoint is healthy."""
        return self._well

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        if not tried and not self._hindrances and not self._left:
            serving = self._well.serving
            turn: Pick | None = serving.next()
            return turn
        if self._left and (pick := self._pick_around(self._avoided(tried), tried, now)) is not None:
            return pick
        return self._pick_within(tried, now)

    def _pick_within(self, tried: Collection[Member], now: float) -> Pick | None:
        """The pick of a request that avoids no zone."""
        turns = self._turns_now()
        if self._impaired and not tried and (probe := self._probe(now)) is not None:
            return probe
        return self._choose(turns, tried=tried, now=now)

    def _avoided(self, tried: Collection[Member]) -> frozenset[str]:
        """The zones that a request avoids because their answers fail."""
        return self._detours_now().draw(is_retry=bool(tried)) if self._left else NOWHERE

    def _pick_around(self, avoided: frozenset[str], tried: Collection[Member], now: float) -> Pick | None:
        """The pick of a request that avoids these zones; None if it need not, or cannot."""
        detour = self._detours_now().around(avoided, self._turns_now())
        if detour is None:
            return None
        if detour.unwell and not tried and (probe := probe_among(detour.unwell, self._health, now)) is not None:
            return probe
        return self._chooser.choose(detour.rotation, tried=tried, now=now)

    def _detours_now(self) -> Detours:
        if self._detours is None:
            self._detours = Detours(self._left, maker=self._maker, pools=self.pools)
        return self._detours

    def foretell(self, now: float) -> Foretold | None:
        """What a request at `now` would get. Changes nothing."""
        pick = self._choose(self._turns_now(), tried=(), now=now)
        if pick is not None:
            return Foretold(pick.reason, pick.tariff, pick.locality)
        return Foretold(self.refusal, FREE, Locality.UNKNOWN) if self.refusal is not None else None

    @property
    def leaving(self) -> float:
        """The share of requests, 0 to 1, that leaves the chosen pool because of its load."""
        return 0.0

    @property
    def avoiding(self) -> Collection[tuple[float, frozenset[str]]]:
        """Which zones first attempts avoid because their answers fail, by probability."""
        return avoiding(self._detours_now() if self._left else None)

    def outlook(self, now: float, *, leaves: bool = False, avoided: frozenset[str] = NOWHERE) -> Outlook:
        """The picks from which `pick` would choose at `now`, the most probable first. Takes no turn.

        `leaves`: the request belongs to the share `leaving`. `avoided` are the zones that it avoids.
        """
        turns = self._turns_now()
        if avoided and (detour := self._detours_now().around(avoided, turns)) is not None:
            picks = self._chooser.open_to(detour.rotation, now)
            return Outlook(turns.pools, picks, waiting_among(detour.unwell, now))
        probe = waiting_among(self._unwell, now) if self._impaired else None
        picks = self._chooser.open_to(turns.serving, now)
        if picks:
            return Outlook(turns.pools, picks, probe)
        for rotation in turns.fallbacks:
            if picks := self._chooser.open_to(rotation, now):
                explained = tuple(_explained(pick, turns.pools, is_retry=False) for pick in picks)
                return Outlook(turns.pools, explained, probe)
        return Outlook(turns.pools, (), probe)

    def _turns_now(self) -> Turns:
        if not self._impaired:
            return self._well
        if self._seen_version != self._health.version:
            self._seen_version = self._health.version
            self._ailing = self._maker.turns_by_health(self.pools, after=self._ailing)
            self._unwell = tuple(pick for pick in self._well.serving.items if not pick.member.health.is_well)
        return self._ailing

    def _probe(self, now: float) -> Pick | None:
        """The pick of an ejected endpoint that is due for a probe, if this policy would send requests there."""
        if self._left and (probe := self._detours_now().early_probe(self._unwell, self._health, now)) is not None:
            return probe
        return probe_among(self._unwell, self._health, now)

    def _choose(self, turns: Turns, *, tried: Collection[Member], now: float) -> Pick | None:
        pick = self._chooser.choose(turns.serving, tried=tried, now=now)
        if pick is not None:
            return pick
        for rotation in turns.fallbacks:
            pick = self._chooser.choose(rotation, tried=tried, now=now)
            if pick is not None:
                return _explained(pick, turns.pools, is_retry=bool(tried))
        return None


def probe_among(unwell: Collection[Pick], health: BackendHealth, now: float) -> Pick | None:
    """The first of `unwell` that is due for a probe, if any. The caller's request is then its only probe."""
    for pick in unwell:
        if health.take_probe(pick.member.health, now):
            return pick.as_probe()
    return None


def waiting_among(unwell: Collection[Pick], now: float) -> Pick | None:
    """The pick that `probe_among` would return. Does not claim the probe."""
    waiting = (pick for pick in unwell if awaits_probe(pick.member.health, now))
    return next((pick.as_probe() for pick in waiting), None)


def _explained(pick: Pick, pools: Pools, *, is_retry: bool) -> Pick:
    """A pick from a pool other than the chosen one, with the reason for leaving the chosen pool."""
    if is_retry and pools.zonal_mode:
        reason = Reason.RETRY_OTHER_ZONE
    elif pick.endpoint in pools.drained:
        reason = foremost(Reason.DRAINED_ZONE, pools.reason)
    else:
        reason = foremost(Reason.SPILL_LOAD, pools.reason)  # the zone was full; no attempt has failed
    return pick if pick.reason is reason else pick.for_reason(reason)


class DryRun(Balancer):
    """Picks for one request as if zones did not count, and notes what the policy would have done."""

    __slots__ = ("_foretold", "_policy", "_serving", "_tried_out")

    def __init__(self, *, serving: PoolBalancer, policy: PoolBalancer) -> None:
        self._serving = serving
        self._policy: PoolBalancer | None = policy
        self._tried_out = policy.pools
        self._foretold: Foretold | None = None

    @property
    def pools(self) -> Pools:
        return self._serving.pools

    @property
    def refusal(self) -> Reason | None:
        return self._serving.refusal

    @property
    def tried_out(self) -> Pools | None:
        return self._tried_out

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        serving, policy = self._serving, self._policy
        pick = serving.pick(tried, now)
        if pick is None:
            return None
        if policy is not None:  # one decision for each request: retries keep the first
            self._foretold = policy.foretell(now)
            self._policy = None
        return pick.foretelling(self._foretold)
