"""Holds the living side of a backend: its members, and the balancers for each zone policy in use.

Members and their health follow a change of the backend or its surroundings at once. The first request after the change
builds the balancers, because most of thousands of backends get no request between two changes. Does not know
connections: what the I/O side attaches to a member is opaque here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import inf
from typing import Final

from balancer.model.endpoints import Backend
from balancer.model.handshakes import Handshake, Keyring
from balancer.model.zones import UNKNOWN_ZONE, OwnZone, ZoneEvacuation, ZoneFacts, ZonePolicy
from balancer.picking.balancers import Balancer, PoolBalancer
from balancer.picking.budget import RetryBudget
from balancer.picking.evidence import client_name
from balancer.picking.failing import FailingEndpoints
from balancer.picking.health import NOBODY, Asker, BackendHealth, Change
from balancer.picking.loads import Load
from balancer.picking.making import BalancerMaker
from balancer.picking.members import Member, Pick, label_of
from balancer.picking.outcomes import FAILURES, Outcome
from balancer.picking.plans import Chance, Plan, Site
from balancer.picking.silence import BackendSilence
from balancer.picking.standing import Standing
from balancer.picking.turns import RandomBelow
from balancer.sharing.peers import NO_OTHERS, Others
from balancer.zones.adaptive import SpillController
from balancer.zones.draining import Drain, drain_after
from balancer.zones.evacuation import Evacuation, ZoneChange
from balancer.zones.split import evacuation_in_force
from balancer.zones.verdicts import Surroundings

# Routes may have policies of their own, and every change of an annotation may add one. Beyond this number the oldest is
# dropped, so memory stays bounded. If it is still in use, its rotation starts again.
_POLICIES_MAX = 16

_ANSWERED: Final = Outcome.ANSWERED  # a global name costs less than a member of a class
_NO_FACTS = ZoneFacts()
_NO_KEYS = Keyring()


class BackendRuntime:
    """A backend in use. A change makes a new runtime, which shares members, health, load, budget and `evacuation`, and
    continues the turns.

    A request in flight keeps its old pools. Old plans are kept until a request asks for their policy, so rotations
    continue where they stood.
    """

    __slots__ = (
        "_around",
        "_balancers",
        "_chooser",
        "_drain",
        "_maker",
        "_others",
        "_past",
        "_plans",
        "_standing",
        "_successor",
        "_unsettled",
        "backend",
        "budget",
        "evacuation",
        "failing",
        "handshake",
        "has_controllers",
        "has_endpoints",
        "health",
        "http2",
        "load",
        "members",
        "random_below",
        "requests_most",
        "silence",
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
        budget: RetryBudget,
        evacuation: Evacuation,
        random_below: RandomBelow,
        handshake: Handshake | None,
        silence: BackendSilence | None = None,
        others: Others = NO_OTHERS,
        failing: FailingEndpoints | None = None,
    ) -> None:
        """`members` are keyed by label, one for each endpoint of `backend`. `health` is the health of all of them.

        `handshake` is how connections to the members are made; None is plain HTTP. `others` are the other processes of
        this replica. `silence` None: nothing is known yet about connects. `failing` learns which endpoints fail.
        """
        self.backend = backend
        self.handshake = handshake
        self.http2 = backend.http2
        self.has_endpoints = any(each.ready or each.serving_terminating for each in backend.endpoints)
        self.members = members
        self.health = health
        self.silence = BackendSilence(health) if silence is None else silence
        self.load = load
        self.budget = budget
        self.evacuation = evacuation
        self.failing = failing
        self.requests_most = backend.max_concurrency or sys.maxsize
        self.random_below = random_below
        self._around = around
        self._drain = drain
        self.has_controllers = False  # no plan has a controller, nor had one before the last change
        self._plans: dict[ZonePolicy, Plan] = {}
        self._past: dict[ZonePolicy, Plan] = {}  # plans that no request has asked for since the change
        # Balancers of plans in which neither randomness nor time counts. That of the backend's own policy is also under
        # None.
        self._balancers: dict[ZonePolicy | None, PoolBalancer] = {}
        self._others = others
        self._maker = BalancerMaker(
            backend,
            around=around,
            members=members,
            health=health,
            random_below=random_below,
            evacuation=evacuation,
            others=others,
        )
        self._chooser = self._maker.chooser
        self._standing: Standing | None = None
        self._successor: BackendRuntime | None = None
        self._unsettled = False  # whether health and members do not know `backend` yet

    @classmethod
    def fresh(
        cls,
        backend: Backend,
        *,
        own_zone: OwnZone,
        random_below: RandomBelow,
        zones: ZoneFacts = _NO_FACTS,
        drain: Drain | None = None,
        keyring: Keyring = _NO_KEYS,
        others: Others = NO_OTHERS,
        failing: FailingEndpoints | None = None,
    ) -> BackendRuntime:
        """A runtime without a past. Its rotations start at random places.

        If `drain` is None, the zones that `zones` calls drained count as drained completely. `keyring` holds the
        certificates and authorities that the TLS settings of `backend` name.
        """
        members = {label_of(endpoint): Member(endpoint, backend.namespace) for endpoint in backend.endpoints}
        return cls(
            backend,
            around=Surroundings(own=own_zone, zones=zones).about(backend.namespace, backend.service),
            drain=drain_after(None, zones, 0.0) if drain is None else drain,
            members=members,
            health=BackendHealth(backend.ejection, (member.health for member in members.values())),
            load=Load(),
            budget=RetryBudget(backend),
            evacuation=Evacuation(backend.key, others),
            random_below=random_below,
            handshake=keyring.handshake(backend.tls),
            others=others,
            failing=failing,
        )

    def with_backend(
        self,
        backend: Backend,
        own_zone: OwnZone,
        zones: ZoneFacts = _NO_FACTS,
        drain: Drain | None = None,
        keyring: Keyring = _NO_KEYS,
    ) -> BackendRuntime:
        """The runtime that follows this one for `backend`: this one itself if no relevant thing has changed.

        Requests may go on with this one meanwhile: what both share changes in `settle` only. The arguments are those of
        `fresh`.
        """
        around = Surroundings(own=own_zone, zones=zones).about(backend.namespace, backend.service)
        drain = drain_after(None, zones, 0.0) if drain is None else drain
        handshake = keyring.handshake(backend.tls)
        is_same = backend == self.backend and handshake == self.handshake and drain == self._drain
        if is_same and not self._is_concerned(around):
            return self
        members = self._members_after(backend)
        after = BackendRuntime(
            backend,
            around=around,
            drain=drain,
            members=members,
            health=self.health,
            load=self.load,
            budget=self.budget,
            evacuation=self.evacuation,
            random_below=self.random_below,
            handshake=handshake,
            silence=self.silence,
            others=self._others,
            failing=self.failing,
        )
        after._unsettled = self._unsettled or members is not self.members or not _has_same_rules(self.backend, backend)
        after._past, after.has_controllers = self._handed_on(backend), self.has_controllers
        self._successor = after
        return after

    def settle(self, around: Surroundings, before: BackendRuntime | None = None) -> None:
        """Tells what outlives a change that this runtime is in use: members, health and plans to come.

        `before` is the runtime that served until now, which may be this one.
        """
        self._around = around.about(self.backend.namespace, self.backend.service)
        if before is not None:
            before._successor = None  # a request that holds on to it keeps no later ones
        if self.evacuation.is_on:
            self._judge_zones()
        if not self._unsettled:
            return
        self._unsettled = False
        for endpoint in self.backend.endpoints:
            self.members[label_of(endpoint)].endpoint = endpoint
        health = self.health
        health.follow(
            self.backend.ejection,
            (member.health for member in self.members.values()),
            checked=self.backend.health_check is not None,
        )

    def _judge_zones(self) -> None:
        """Which zones are judged from now on: those of the endpoints, if a policy in use may leave any."""
        endpoints = self.backend.endpoints if self._evacuations() - {ZoneEvacuation.OFF} else ()
        zones = (each.zone or UNKNOWN_ZONE for each in endpoints)
        self.evacuation.follow(zones, leaving=self._around.zones.leaving)

    def _evacuations(self) -> set[ZoneEvacuation]:
        return {evacuation_in_force(policy, self.backend.endpoints) for policy in (*self._past, *self._plans)}

    def make_plans_of(self, before: BackendRuntime) -> None:
        """Makes the plans that requests used in the runtime `before` this one, so that none of them waits for that."""
        own = before.backend.zone_policy
        for policy in tuple(before._plans):
            self._plan(self.backend.zone_policy if policy == own else policy)
        if before._standing is not None:
            self.standing()

    def balancer(self, policy: ZonePolicy | None = None, now: float = inf) -> Balancer:
        """The balancer for one request and its retries, under `policy` or the backend's own policy; made on first use.

        `now` says how far a drain has come. Without `now` every drain counts as complete.
        """
        balancer = self._balancers.get(policy)
        if balancer is not None:
            return balancer
        plan = self._plan(self.backend.zone_policy if policy is None else policy)
        return plan.only or plan.balancer(now)

    def chances(self, policy: ZonePolicy | None, now: float) -> tuple[Chance, ...]:
        """The balancers that `balancer` may return for these arguments, with their probabilities. Changes nothing."""
        return self._plan(self.backend.zone_policy if policy is None else policy).chances(now)

    def standing(self) -> Standing:
        """The endpoints to which cookie keys and hashes lead; made on first use."""
        standing = self._standing
        if standing is None:
            standing = self._standing = Standing(self.backend.endpoints, self._maker.turn_maker())
        return standing

    def controllers(self) -> tuple[SpillController, ...]:
        """The controllers of plans in use that let requests leave the zone because of its load."""
        zone = self._around.own.zone
        going_on = (plan.controller_for(policy, zone) for policy, plan in self._past.items())
        found = (*going_on, *(plan.controller for plan in self._plans.values()))
        return tuple(controller for controller in found if controller is not None)

    @property
    def leaves_zones(self) -> bool:
        """Whether requests leave zones whose answers fail; else that is only judged, for a dry run."""
        return ZoneEvacuation.ON in self._evacuations()

    @property
    def is_full(self) -> bool:
        """Whether the backend has reached its limit of requests."""
        return self.load.in_flight >= self.requests_most

    def report(
        self, pick: Pick, outcome: Outcome, now: float, seconds: float, asker: Asker = NOBODY
    ) -> Change | ZoneChange | None:
        """Learns how an attempt ended. `seconds` is the time until its response or failure. Returns what changed about
        the endpoint, or about a zone. `asker` says whose request it was.
        """
        if pick.observer is not None:
            pick.observer.ended(pick, outcome, seconds=seconds, now=now)
        elif self._chooser.learns:
            self._chooser.observe(pick.member, outcome, seconds=seconds, now=now)
        endpoint, evacuation = pick.member.health, self.evacuation
        if outcome is _ANSWERED and not (endpoint.is_watched or evacuation.is_awake):
            endpoint.answers += 1  # most attempts: a call would cost more than the rest
            return None
        health = self.health
        change = health.report(endpoint, outcome, now, pick.probe, asker)
        if outcome is _ANSWERED and not evacuation.is_awake:
            return change
        if self.failing is not None and outcome in FAILURES:
            self.failing.watch(self.backend.key, pick.member.label, endpoint, now)
        if outcome is not Outcome.UNKNOWN:
            failed, client = outcome in FAILURES, client_name(asker.client)
            evacuation.ended(pick.to_zone, failed=failed, seconds=seconds, client=client, now=now)
        return evacuation.news() if change is None else change

    def left(self, pick: Pick, now: float, seconds: float, asker: Asker = NOBODY) -> None:
        """Learns that a request waited `seconds` for a connection and went elsewhere.

        The choice of endpoints and the zone learn that; health learns how the connect ends.
        """
        if pick.observer is not None:
            pick.observer.ended(pick, Outcome.FAILED, seconds=seconds, now=now)
        elif self._chooser.learns:
            self._chooser.observe(pick.member, Outcome.FAILED, seconds=seconds, now=now)
        client = client_name(asker.client)
        self.evacuation.ended(pick.to_zone, failed=True, seconds=seconds, client=client, now=now)

    def _members_after(self, backend: Backend) -> Mapping[str, Member]:
        """The members of `backend`: existing members with their new endpoints, and new members."""
        before = self.members
        if backend.endpoints == self.backend.endpoints:
            return before
        members: dict[str, Member] = {}
        for endpoint in backend.endpoints:
            label = label_of(endpoint)
            member = members[label] = before.get(label) or Member(endpoint, backend.namespace)
            member.endpoint = endpoint
        return members

    def _is_concerned(self, around: Surroundings) -> bool:
        """Whether plans in use may change. Counts of nodes and replicas change often, and few policies use them."""
        names = {policy.name for policy in (*self._past, *self._plans)}
        return around.matters(self._around, names)

    def _handed_on(self, backend: Backend) -> dict[ZonePolicy, Plan]:
        """The plans in use, oldest first, under their policies after a change to `backend`."""
        plans = {**self._past, **self._plans}
        own = plans.pop(self.backend.zone_policy, None)
        if own is not None:
            plans[backend.zone_policy] = own  # turns continue even if the backend's policy has changed
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
        site = Site(self.backend.endpoints, self._around, self._drain, self._maker)
        plan = self._plans[policy] = Plan(site, policy, before=before)
        if plan.controller is not None:
            self.has_controllers = True
        if policy.evacuation is not ZoneEvacuation.OFF and not self.evacuation.is_on:
            self._judge_zones()
        if plan.only is not None:
            self._balancers[policy] = plan.only
            if policy == self.backend.zone_policy:
                self._balancers[None] = plan.only
        if self._successor is not None:
            self._successor._inherit(self)
        return plan

    def _inherit(self, before: BackendRuntime) -> None:
        """Learns of a plan that was made in the runtime `before` this one after this one had been made."""
        plans = before._handed_on(self.backend)
        self._past = {policy: plan for policy, plan in plans.items() if policy not in self._plans}
        self.has_controllers = self.has_controllers or before.has_controllers


def _has_same_rules(before: Backend, after: Backend) -> bool:
    """Whether both backends have the same rules of health."""
    return before.ejection == after.ejection and before.health_check == after.health_check
