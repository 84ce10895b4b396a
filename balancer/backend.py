"""The living side of a backend: its members, and what picks them under each zone policy in use.

Members and their health follow a change of the backend or its surroundings at once. What picks them is built by the
first request after it, for most of thousands of backends are not asked for between two changes. It must not know
connections: what the I/O side hangs on a member is opaque here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import msgspec

from balancer.balancers import Balancer, PoolBalancer
from balancer.choosing import Chooser
from balancer.health import BackendHealth, Outcome
from balancer.loads import Load
from balancer.members import Member, Pick, label_of
from balancer.model import Backend, Endpoint, LoadBalancing, OwnZone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.plans import Chance, Plan, Site
from balancer.spilling import SpillingBalancer, Spillway, dearnesses, elsewhere
from balancer.turns import RandomBelow, TurnMaker, Turns
from balancer.zones.adaptive import Controller
from balancer.zones.cost import tariffs
from balancer.zones.draining import Drain, drain_after
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools
from balancer.zones.verdicts import Surroundings

# Routes may ask for policies of their own, and every change of an annotation may ask for another. Past this many the
# oldest is forgotten: memory stays bounded, and should it be in use after all, its rotation only starts anew.
_POLICIES_MAX = 16

_NO_FACTS = ZoneFacts()


class BackendRuntime:
    """A backend in use. A change makes a new runtime that shares members, health and load, and goes on with the turns.

    So a request in flight keeps the pools it started with. Until the first request after a change, the plans of before
    lie ready to be gone on with.
    """

    __slots__ = (
        "_around",
        "_balancers",
        "_chooser",
        "_drain",
        "_has_controllers",
        "_maker",
        "_past",
        "_plans",
        "backend",
        "has_endpoints",
        "health",
        "load",
        "members",
        "random_below",
    )

    def __init__(
        self,
        backend: Backend,
        *,
        around: Surroundings,
        drain: Drain,
        members: Mapping[str, Member],
        health: BackendHealth,
        load: Load,
        random_below: RandomBelow,
    ) -> None:
        """`members` by their labels, one for each endpoint of `backend`, and `health` of them all."""
        self.backend = backend
        self.has_endpoints = any(each.ready or each.serving_terminating for each in backend.endpoints)
        self.members = members
        self.health = health
        self.load = load
        self.random_below = random_below
        self._around = around
        self._drain = drain
        self._has_controllers = False  # nor had any plan before
        self._plans: dict[ZonePolicy, Plan] = {}
        self._past: dict[ZonePolicy, Plan] = {}  # those that nobody has asked for since the change
        # Those of plans that leave nothing to chance or time; the backend's own is there under None as well.
        self._balancers: dict[ZonePolicy | None, PoolBalancer] = {}
        self._chooser = Chooser(
            backend.load_balancing,
            limit=backend.max_concurrency_per_endpoint,
            members=members,
            random_below=random_below,
        )
        self._maker: TurnMaker | None = None

    @classmethod
    def fresh(
        cls,
        backend: Backend,
        *,
        own_zone: OwnZone,
        random_below: RandomBelow,
        zones: ZoneFacts = _NO_FACTS,
        drain: Drain | None = None,
    ) -> BackendRuntime:
        """A runtime without a past; its rotations start at random places. `drain` None: as `zones` say, and over."""
        members = {label_of(endpoint): Member(endpoint) for endpoint in backend.endpoints}
        return cls(
            backend,
            around=Surroundings(own=own_zone, zones=zones),
            drain=drain_after(None, zones, 0.0) if drain is None else drain,
            members=members,
            health=BackendHealth(backend.ejection, (member.health for member in members.values())),
            load=Load(),
            random_below=random_below,
        )

    def with_backend(
        self, backend: Backend, own_zone: OwnZone, zones: ZoneFacts = _NO_FACTS, drain: Drain | None = None
    ) -> BackendRuntime:
        """The runtime of `backend` after this one; this one itself if nothing that it goes by has changed.

        Arguments as in `fresh`.
        """
        around = Surroundings(own=own_zone, zones=zones)
        drain = drain_after(None, zones, 0.0) if drain is None else drain
        if backend == self.backend and drain == self._drain and not self._is_concerned(around):
            self._around = around  # for plans that are still to be made
            return self
        members = self._members_after(backend)
        if members is not self.members or not _has_same_rules(self.backend, backend):
            self.health.follow(
                backend.ejection,
                (member.health for member in members.values()),
                checked=backend.health_check is not None,
            )
        after = BackendRuntime(
            backend,
            around=around,
            drain=drain,
            members=members,
            health=self.health,
            load=self.load,
            random_below=self.random_below,
        )
        after._past, after._has_controllers = self._handed_on(backend), self._has_controllers
        return after

    def balancer(self, policy: ZonePolicy | None = None, now: float = inf) -> Balancer:
        """The balancer for one request and its retries, under `policy` or under the backend's own; made on first use.

        `now` tells how far a drain has come; without it a drain counts as over.
        """
        balancer = self._balancers.get(policy)
        if balancer is not None:
            return balancer
        plan = self._plan(self.backend.zone_policy if policy is None else policy)
        return plan.only or plan.balancer(now)

    def chances(self, policy: ZonePolicy | None, now: float) -> tuple[Chance, ...]:
        """The balancers that `balancer` may give for these arguments, by probability. Without effect."""
        return self._plan(self.backend.zone_policy if policy is None else policy).chances(now)

    def pick(self, endpoint: Endpoint, reason: Reason) -> Pick:
        """The pick of an endpoint that something else than a zone policy has chosen, for `reason`."""
        return self._turn_maker().pick(endpoint, reason)

    def controllers(self) -> tuple[Controller, ...]:
        """Those of the plans in use that let requests leave the zone for its load."""
        if not self._has_controllers:  # who asks does so of thousands of backends at a time
            return ()
        zone = self._around.own.zone
        going_on = (plan.controller_for(policy, zone) for policy, plan in self._past.items())
        found = (*going_on, *(plan.controller for plan in self._plans.values()))
        return tuple(controller for controller in found if controller is not None)

    @property
    def is_full(self) -> bool:
        """Whether the backend has as many requests as it may."""
        return 0 < self.backend.max_concurrency <= self.load.in_flight

    def report(self, pick: Pick, outcome: Outcome, *, now: float, seconds: float) -> bool:
        """Learn how an attempt ended, `seconds` to its response or failure; whether it ejected the endpoint."""
        if pick.observer is not None:
            pick.observer.ended(pick, outcome, seconds=seconds, now=now)
        elif self._chooser.learns:
            self._chooser.observe(pick.member, outcome, seconds=seconds, now=now)
        return self.health.report(pick.member.health, outcome, now=now, probe=pick.probe)

    def _members_after(self, backend: Backend) -> Mapping[str, Member]:
        """The members of `backend`: those of now, with the endpoints of then, and newcomers."""
        before = self.members
        if backend.endpoints == self.backend.endpoints:
            return before
        members: dict[str, Member] = {}
        for endpoint in backend.endpoints:
            label = label_of(endpoint)
            member = members[label] = before.get(label) or Member(endpoint)
            member.endpoint = endpoint
        return members

    def _is_concerned(self, around: Surroundings) -> bool:
        """Whether plans in use may come out others: counts of nodes and replicas change often, and few go by them."""
        before = self._around
        if around == before:
            return False
        names = {policy.name for policy in (*self._past, *self._plans)}
        cpu, replicas = ZonePolicyName.ALLOCATE in names, ZonePolicyName.PROPORTIONAL in names
        zones = msgspec.structs.replace(
            around.zones,
            cpu_milli=around.zones.cpu_milli if cpu else before.zones.cpu_milli,
            replicas=around.zones.replicas if replicas else before.zones.replicas,
        )
        return around.own != before.own or zones != before.zones

    def _handed_on(self, backend: Backend) -> dict[ZonePolicy, Plan]:
        """The plans in use by what they are for after a change to `backend`, oldest first."""
        plans = {**self._past, **self._plans}
        own = plans.pop(self.backend.zone_policy, None)
        if own is not None:
            plans[backend.zone_policy] = own  # flipping the flag goes on with the turns, too
        return plans

    def _plan(self, policy: ZonePolicy) -> Plan:
        plan = self._plans.get(policy)
        if plan is not None:
            return plan
        before = self._past.pop(policy, None)
        if len(self._past) + len(self._plans) >= _POLICIES_MAX:
            self._forget_oldest()
        return self._make_plan(policy, before=before)

    def _forget_oldest(self) -> None:
        if self._past:
            del self._past[next(iter(self._past))]
            return
        oldest = next(iter(self._plans))
        del self._plans[oldest]
        self._balancers.pop(oldest, None)
        if oldest == self.backend.zone_policy:
            self._balancers.pop(None, None)

    def _make_plan(self, policy: ZonePolicy, *, before: Plan | None) -> Plan:
        site = Site(
            self.backend.endpoints,
            self._around,
            self._drain,
            self.random_below,
            balancer=self._balancer_over,
            spilling=self._spilling_over,
        )
        plan = self._plans[policy] = Plan(site, policy, before=before)
        if plan.controller is not None:
            self._has_controllers = True
        if plan.only is not None:
            self._balancers[policy] = plan.only
            if policy == self.backend.zone_policy:
                self._balancers[None] = plan.only
        return plan

    def _turn_maker(self) -> TurnMaker:
        if self._maker is None:
            self._maker = TurnMaker(
                members=self.members,
                own_zone=self._around.own.zone,
                tariffs=tariffs(self._around.zones.prices, self._around.own.zone, self.backend.endpoints),
                panic_percent=self.backend.panic_percent,
                random_below=self.random_below,
            )
        return self._maker

    def _balancer_over(self, pools: Pools, after: Turns) -> PoolBalancer:
        maker = self._turn_maker()
        return PoolBalancer(maker.turns(pools, after=after), maker=maker, health=self.health, chooser=self._chooser)

    def _spilling_over(self, pools: Pools, after: Turns, controller: Controller, toll_ratio: float) -> PoolBalancer:
        maker = self._turn_maker()
        chooser = Chooser(
            LoadBalancing.EWMA,
            limit=self.backend.max_concurrency_per_endpoint,
            members=self.members,
            random_below=self.random_below,
            dearness=dearnesses(maker.tariffs, toll_ratio=toll_ratio),
        )
        maker = maker.observed_by(Spillway(chooser, controller if elsewhere(pools) else None))
        return SpillingBalancer(
            maker.turns(pools, after=after), maker=maker, health=self.health, chooser=chooser, controller=controller
        )


def _has_same_rules(before: Backend, after: Backend) -> bool:
    """Whether both say the same of health."""
    return before.ejection == after.ejection and before.health_check == after.health_check
