"""Picks members from pools: the chosen pool first, probes of ejected members among them, then what else is left.

While every member is well and members take turns, a pick is a rotation and nothing else. It must not know policies:
pools come with the reason for them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

import msgspec

from balancer.choosing import Chooser
from balancer.health import BackendHealth, awaits_probe
from balancer.members import Foretold, Member, Pick
from balancer.turns import TurnMaker, Turns
from balancer.zones.cost import FREE
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools


class Balancer(Protocol):
    """Picks for one request and its retries."""

    @property
    def pools(self) -> Pools:
        """What the policy chose for this request, before health."""

    @property
    def refusal(self) -> Reason | None:
        """Why there is no pick although endpoints are ready; None where that is not the policy's wish."""

    @property
    def tried_out(self) -> Pools | None:
        """What a policy would have chosen that is only tried out; None where none is."""

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        """The next choice at `now`; with `tried`, one that is not among them: of the same pool first, then of any.

        None when no member is left to try, or all that are left have as many requests as they may.
        """


class Outlook(NamedTuple):
    """What a first try of a request gets: one of `picks`, or `probe` before them. `pools` are those after health."""

    pools: Pools
    picks: tuple[Pick, ...]
    probe: Pick | None = None


class PoolBalancer:
    """Picks from the pools that hold for some of the requests of one backend. A `Balancer`."""

    __slots__ = ("_ailing", "_chooser", "_health", "_impaired", "_maker", "_plain", "_seen_version", "_unwell", "_well")

    def __init__(self, turns: Turns, *, maker: TurnMaker, health: BackendHealth, chooser: Chooser) -> None:
        self._well = self._ailing = turns
        self._maker = maker
        self._health = health
        self._chooser = chooser
        self._impaired = health.impaired
        self._plain = chooser.takes_turns
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
        """Where the rotations stand while every endpoint is well."""
        return self._well

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        if self._plain and not tried and not self._impaired:
            return self._well.serving.next()
        turns = self._turns_now()
        if self._impaired and not tried and (probe := self._probe(now)) is not None:
            return probe
        return self._choose(turns, tried=tried, now=now)

    def foretell(self, now: float) -> Foretold | None:
        """What a request at `now` would get, without any effect on members."""
        pick = self._choose(self._turns_now(), tried=(), now=now)
        if pick is not None:
            return Foretold(pick.reason, pick.tariff)
        return Foretold(self.refusal, FREE) if self.refusal is not None else None

    @property
    def leaving(self) -> float:
        """The share of requests that leaves the chosen pool for its load, from 0 to 1."""
        return 0.0

    def outlook(self, now: float, *, leaves: bool = False) -> Outlook:
        """What `pick` would choose from at `now`, the likeliest next one first, without taking anybody's turn.

        `leaves`: for a request of the share `leaving`.
        """
        turns = self._turns_now()
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
        """The pick of an ejected endpoint that is to be tried again, if this policy would send requests there."""
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
    """The first of `unwell` that is to be tried again, if any; nobody else will try it."""
    for pick in unwell:
        if health.take_probe(pick.member.health, now):
            return msgspec.structs.replace(pick, probe=True)
    return None


def waiting_among(unwell: Collection[Pick], now: float) -> Pick | None:
    """What `probe_among` would give, without taking it."""
    waiting = (pick for pick in unwell if awaits_probe(pick.member.health, now))
    return next((msgspec.structs.replace(pick, probe=True) for pick in waiting), None)


def _explained(pick: Pick, pools: Pools, *, is_retry: bool) -> Pick:
    """A pick from a pool that is not the chosen one, with the reason for leaving that."""
    if is_retry and pools.zonal_mode:
        reason = Reason.RETRY_OTHER_ZONE
    elif pick.endpoint in pools.drained:
        reason = foremost(Reason.DRAINED_ZONE, pools.reason)
    else:
        reason = foremost(Reason.SPILL_LOAD, pools.reason)  # the zone was full, nothing has failed
    return pick if pick.reason is reason else msgspec.structs.replace(pick, reason=reason)


class DryRun:
    """Picks for one request as if zones did not count, and says what the policy would have done. A `Balancer`."""

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
        pick = self._serving.pick(tried, now)
        if pick is None:
            return None
        if self._policy is not None:  # one request, one decision: retries keep the first
            self._foretold, self._policy = self._policy.foretell(now), None
        return msgspec.structs.replace(pick, foretold=self._foretold)
