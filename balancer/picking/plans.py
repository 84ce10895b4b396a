"""Decides which balancer a request gets under one zone policy that involves chance or time: mixtures, drains, rollouts.

A change of the backend makes every possible balancer. Each continues the turns of its predecessor. A request only draws
a number. Does not know how a pick is made from pools.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZONES_OFF, Zone, ZonePolicy, ZonePolicyName
from balancer.picking.balancers import Balancer, DryRun, PoolBalancer
from balancer.picking.detours import NOWHERE
from balancer.picking.making import BalancerMaker
from balancer.picking.turns import NOTHING_YET, RandomBelow, Turns
from balancer.zones.adaptive import SpillController
from balancer.zones.draining import Drain, DrainStage, share, stages
from balancer.zones.mixing import parts
from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason
from balancer.zones.split import split
from balancer.zones.verdicts import ALL_BASIS_POINTS, Surroundings

# Finer than anyone can see: a ramp of half a minute moves by a step every 3 ms.
_STEPS = 10_000


class Site(NamedTuple):
    """What a plan for a backend is made from."""

    endpoints: tuple[Endpoint, ...]
    around: Surroundings
    drain: Drain
    maker: BalancerMaker


class Chance(NamedTuple):
    """A balancer that a request may get, with its probability. In a dry run `policy` is the policy that is tried.

    `leaves`: the balancer for the share of requests that leave the zone because of its load. `avoided`: for those that
    avoid these zones because their answers fail.
    """

    probability: float
    serving: PoolBalancer
    policy: PoolBalancer | None = None
    leaves: bool = False
    avoided: frozenset[str] = NOWHERE


class Role(NamedTuple):
    """The purpose of a balancer. After a change a balancer continues the turns of the one with the same role before."""

    is_policy: bool
    excluded: bool = False
    drained: tuple[Zone, ...] = ()
    residual: bool = False
    zone: Zone | None = None


class _Mixture:
    """Balancers of which each request gets one at random, by weight."""

    __slots__ = ("_balancers", "_bounds")

    def __init__(self, weighted: list[tuple[PoolBalancer, int]]) -> None:
        self._balancers = tuple(balancer for balancer, _ in weighted)
        self._bounds = tuple(accumulate(weight for _, weight in weighted))

    @property
    def only(self) -> PoolBalancer | None:
        return self._balancers[0] if len(self._balancers) == 1 else None

    def draw(self, random_below: RandomBelow) -> PoolBalancer:
        if len(self._balancers) == 1:
            return self._balancers[0]
        drawn = random_below(self._bounds[-1])
        place = next(place for place, bound in enumerate(self._bounds) if drawn < bound)
        return self._balancers[place]

    def chances(self) -> list[tuple[float, PoolBalancer]]:
        """What `draw` returns, by probability."""
        begins = (0, *self._bounds)
        shares = ((end - begin) / self._bounds[-1] for begin, end in pairwise(begins))
        return list(zip(shares, self._balancers, strict=True))


class _Ramp:
    """A sequence of mixtures: a growing share of requests gets a later mixture."""

    __slots__ = ("_ramp_seconds", "_stages")

    def __init__(self, stages: list[tuple[float, _Mixture]], *, ramp_seconds: float) -> None:
        self._stages = tuple(reversed(stages))
        self._ramp_seconds = ramp_seconds

    @property
    def only(self) -> PoolBalancer | None:
        return self._stages[0][1].only if len(self._stages) == 1 else None

    def draw(self, random_below: RandomBelow, now: float) -> PoolBalancer:
        return self._mixture(random_below, now).draw(random_below)

    def chances(self, now: float) -> list[tuple[float, PoolBalancer]]:
        """What `draw` returns, by probability."""
        found: list[tuple[float, PoolBalancer]] = []
        passed = 0.0
        for since, mixture in self._stages:
            reached = share(since=since, now=now, ramp_seconds=self._ramp_seconds)
            if reached > passed:
                found += ((probability * (reached - passed), balancer) for probability, balancer in mixture.chances())
                passed = reached
        return found

    def _mixture(self, random_below: RandomBelow, now: float) -> _Mixture:
        (since, latest), *earlier = self._stages
        ramp_seconds = self._ramp_seconds
        if not earlier or share(since=since, now=now, ramp_seconds=ramp_seconds) >= 1.0:
            return latest
        drawn = random_below(_STEPS) / _STEPS
        return next(
            mixture for begun, mixture in self._stages if drawn < share(since=begun, now=now, ramp_seconds=ramp_seconds)
        )


class Plan:
    """Gives each request under one policy its balancer. `only` is set if all requests get the same one."""

    __slots__ = (
        "_excluded",
        "_main",
        "_own_zone",
        "_policy",
        "_random_below",
        "_unaware",
        "balancers",
        "controller",
        "only",
    )

    def __init__(self, site: Site, policy: ZonePolicy, *, before: Plan | None) -> None:
        self._policy = policy
        self._random_below = site.maker.random_below
        self._own_zone = site.around.own.zone
        self.controller = self._controller(before, site) if policy.name is ZonePolicyName.ADAPTIVE else None
        self.balancers: dict[Role, PoolBalancer] = {}
        past = before.balancers if before is not None else {}
        self._main = self._ramp(site, past, policy=policy, role=Role(is_policy=True))
        is_partial = policy.rollout_percent < 100 and policy.name is not ZonePolicyName.OFF
        excluded, unaware = Role(is_policy=False, excluded=True), Role(is_policy=False)
        self._excluded = self._ramp(site, past, policy=ZONES_OFF, role=excluded) if is_partial else None
        self._unaware = self._ramp(site, past, policy=ZONES_OFF, role=unaware) if policy.dry_run else None
        self.only = None if is_partial or policy.dry_run else self._main.only

    def balancer(self, now: float) -> Balancer:
        """The balancer for one request and its retries, at `now`."""
        random_below = self._random_below
        ramp = self._main
        if self._excluded is not None and random_below(100) >= self._policy.rollout_percent:
            ramp = self._excluded
        balancer = ramp.draw(random_below, now)
        if self._unaware is None:
            return balancer
        return DryRun(serving=self._unaware.draw(random_below, now), policy=balancer)

    def chances(self, now: float) -> tuple[Chance, ...]:
        """What `balancer` returns at `now`, with probabilities that add up to 1. Changes nothing."""
        ramps = [(1.0, self._main)]
        if self._excluded is not None:
            included = self._policy.rollout_percent / 100
            ramps = [(included, self._main), (1.0 - included, self._excluded)]
        drawn = [(part * chance, balancer) for part, ramp in ramps if part for chance, balancer in ramp.chances(now)]
        if self._unaware is None:
            return tuple(chance for probability, balancer in drawn for chance in _parted(probability, balancer))
        unaware = self._unaware.chances(now)
        return tuple(
            Chance(probability * chance, serving, policy)
            for probability, policy in drawn
            for chance, serving in unaware
        )

    def controller_for(self, policy: ZonePolicy, own_zone: Zone | None) -> SpillController | None:
        """The controller, if the next plan for `policy` in `own_zone` can keep it; else None.

        A controller has learned the latency of one zone under certain limits. Another zone or limit needs a new one.
        """
        mine, controller = self._policy, self.controller
        if controller is None or policy.name is not ZonePolicyName.ADAPTIVE or own_zone != self._own_zone:
            return None
        is_same = (mine.toll_ratio, mine.toll_seconds) == (policy.toll_ratio, policy.toll_seconds)
        return controller if is_same and mine.spill_budget_percent == policy.spill_budget_percent else None

    def _controller(self, before: Plan | None, site: Site) -> SpillController:
        start = self._random_below(ALL_BASIS_POINTS)
        kept = before.controller_for(self._policy, self._own_zone) if before is not None else None
        return kept or SpillController(self._policy, start=start, peers=site.maker.peers(self._policy))

    def _ramp(self, site: Site, past: dict[Role, PoolBalancer], *, policy: ZonePolicy, role: Role) -> _Ramp:
        made = [
            (stage.since, self._mixture(site, past, policy=policy, role=role._replace(drained=stage.zones)))
            for stage in _that_matter(stages(site.drain), site.endpoints)
        ]
        return _Ramp(made, ramp_seconds=site.drain.ramp_seconds)

    def _mixture(self, site: Site, past: dict[Role, PoolBalancer], *, policy: ZonePolicy, role: Role) -> _Mixture:
        zones = msgspec.structs.replace(site.around.zones, drained=role.drained)
        pools = split(site.endpoints, msgspec.structs.replace(site.around, zones=zones), policy)
        if role.excluded:
            pools = msgspec.structs.replace(pools, reason=foremost(Reason.ROLLOUT_EXCLUDED, pools.reason))
        weighted = []
        for part in parts(pools):
            part_role = role._replace(residual=part.residual, zone=part.zone)
            turns = _turns_before(past, part_role)
            if self.controller is not None and role.is_policy:
                if part.pools.zonal:
                    self.controller.follow(len(part.pools.zonal))
                balancer = site.maker.spilling(part.pools, turns, policy, controller=self.controller)
            else:
                balancer = site.maker.balancer(part.pools, turns, policy)
            self.balancers[part_role] = balancer
            weighted.append((balancer, part.weight))
        return _Mixture(weighted)


def _parted(probability: float, balancer: PoolBalancer) -> tuple[Chance, ...]:
    """What becomes of requests that get `balancer`: first zones are avoided for their errors, then for their load."""
    found: list[Chance] = []
    for part, avoided in balancer.avoiding:
        if avoided:
            found.append(Chance(probability * part, balancer, avoided=avoided))
        else:
            found += _by_load(probability * part, balancer)
    return tuple(found)


def _by_load(probability: float, balancer: PoolBalancer) -> tuple[Chance, ...]:
    leaving = balancer.leaving
    if not leaving:
        return (Chance(probability, balancer),)
    staying = Chance(probability * (1.0 - leaving), balancer)
    return staying, Chance(probability * leaving, balancer, leaves=True)


def _that_matter(stages: tuple[DrainStage, ...], endpoints: tuple[Endpoint, ...]) -> list[DrainStage]:
    """The first stage, and each stage that drains other zones of `endpoints` than the stage before."""
    present = {endpoint.zone for endpoint in endpoints}
    mattering: list[DrainStage] = []
    for stage in stages:
        zones = tuple(zone for zone in stage.zones if zone in present)
        if not mattering or zones != mattering[-1].zones:
            mattering.append(msgspec.structs.replace(stage, zones=zones))
    return mattering


def _turns_before(past: dict[Role, PoolBalancer], role: Role) -> Turns:
    """The turns to continue with: those of the same role, else of the closest role."""
    if not past:
        return NOTHING_YET
    kin = max(past, key=lambda other: [mine == its for mine, its in zip(role, other, strict=True)])
    return past[kin].turns
