"""Holds the living side of a backend: its members, what is known of them, and its plans.

Members and their health follow a change of the backend or its surroundings at once. The first request after the change
builds the balancers (`plans_in_use`). Does not know connections: what the I/O side attaches to a member is opaque here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import inf
from typing import Final

from balancer.model.endpoints import Backend
from balancer.model.handshakes import Handshake, Keyring
from balancer.model.zones import OwnZone, ZoneFacts, ZonePolicy
from balancer.picking.balancers import Balancer
from balancer.picking.budget import RetryBudget
from balancer.picking.endpoint_health import Change
from balancer.picking.evidence import client_name
from balancer.picking.failing import FailingEndpoints
from balancer.picking.health import BackendHealth
from balancer.picking.loads import Load
from balancer.picking.making import BalancerMaker
from balancer.picking.members import Member, Pick, label_of
from balancer.picking.outcomes import FAILURES, NOBODY, Asker, Outcome
from balancer.picking.plans import Chance, Site
from balancer.picking.plans_in_use import PlansInUse
from balancer.picking.silence import BackendSilence
from balancer.picking.standing import Standing
from balancer.picking.turns import RandomBelow
from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.sharing.peers import NO_OTHERS, Others
from balancer.zones.draining import Drain, drain_after
from balancer.zones.evacuation import Evacuation, ZoneChange
from balancer.zones.verdicts import Surroundings

_ANSWERED: Final = Outcome.ANSWERED  # a global name costs less than a member of a class
_NO_FACTS = ZoneFacts()
_NO_KEYS = Keyring()


class BackendRuntime:
    """A backend in use. A change makes a new runtime, which shares members, health, load, budget and `evacuation`, and
    continues the turns.

    A request in flight keeps its old pools.
    """

    __slots__ = (
        "_balancers",
        "_learner",
        "_others",
        "_standing",
        "_unsettled",
        "backend",
        "budget",
        "evacuation",
        "failing",
        "handshake",
        "has_endpoints",
        "health",
        "http2",
        "load",
        "members",
        "plans",
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
        self.silence = BackendSilence(health, members.values()) if silence is None else silence
        self.load = load
        self.budget = budget
        self.evacuation = evacuation
        self.failing = failing
        self.requests_most = backend.max_concurrency or sys.maxsize
        self.random_below = random_below
        self._others = others
        maker = BalancerMaker(
            backend,
            around=around,
            members=members,
            health=health,
            random_below=random_below,
            evacuation=evacuation,
            others=others,
        )
        self.plans = PlansInUse(Site(backend.endpoints, around, drain, maker), backend.zone_policy, evacuation)
        self._balancers = self.plans.balancers  # each request takes one
        self._learner = maker.chooser if maker.chooser.learns else None
        self._standing: Standing | None = None
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
        absences: Absences = NEVER_ABSENT,
    ) -> BackendRuntime:
        """A runtime without a past. Its rotations start at random places.

        If `drain` is None, the zones that `zones` calls drained count as drained completely. `keyring` holds the
        certificates and authorities that the TLS settings of `backend` name. `absences` are those of the loop.
        """
        labelled = ((label_of(endpoint), endpoint) for endpoint in backend.endpoints)
        members = {label: Member(endpoint, backend.namespace, label) for label, endpoint in labelled}
        health = BackendHealth(backend.ejection, (member.health for member in members.values()), others.place_of)
        return cls(
            backend,
            around=Surroundings(own=own_zone, zones=zones).about(backend.namespace, backend.service),
            drain=drain_after(None, zones, 0.0) if drain is None else drain,
            members=members,
            health=health,
            silence=BackendSilence(health, members.values(), absences),
            load=Load(),
            budget=RetryBudget(backend),
            evacuation=Evacuation(backend.key, others, absences),
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
        is_same = backend == self.backend and handshake == self.handshake and drain == self.plans.site.drain
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
        after.plans.follow(self.plans)
        return after

    def settle(self, around: Surroundings, before: BackendRuntime | None = None) -> None:
        """Tells what outlives a change that this runtime is in use: members, health and plans to come.

        `before` is the runtime that served until now, which may be this one.
        """
        if before is not None:
            before.plans.successor = None  # a request that holds on to it keeps no later ones
        self.plans.settle(around.about(self.backend.namespace, self.backend.service))
        if not self._unsettled:
            return
        self._unsettled = False
        for endpoint in self.backend.endpoints:
            self.members[label_of(endpoint)].endpoint = endpoint
        self.silence.follow(self.members.values())
        health = self.health
        health.follow(
            self.backend.ejection,
            (member.health for member in self.members.values()),
            checked=self.backend.health_check is not None,
        )

    def make_plans_of(self, before: BackendRuntime) -> None:
        """Makes the plans that requests used in the runtime `before` this one, so that none of them waits for that."""
        self.plans.make_those_of(before.plans)
        if before._standing is not None:
            self.standing()

    def balancer(self, policy: ZonePolicy | None = None, now: float = inf) -> Balancer:
        """The balancer for one request and its retries, under `policy` or the backend's own policy; made on first use.

        `now` says how far a drain has come. Without `now` every drain counts as complete.
        """
        balancer = self._balancers.get(policy)
        if balancer is not None:
            return balancer
        plan = self.plans.plan(policy)
        return plan.only or plan.balancer(now)

    def chances(self, policy: ZonePolicy | None, now: float) -> tuple[Chance, ...]:
        """The balancers that `balancer` may return for these arguments, with their probabilities. Changes nothing."""
        return self.plans.plan(policy).chances(now)

    def standing(self) -> Standing:
        """The endpoints to which cookie keys and hashes lead; made on first use."""
        standing = self._standing
        if standing is None:
            standing = Standing(self.backend.endpoints, self.plans.site.maker.turn_maker())
            self._standing = standing
        return standing

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
        elif self._learner is not None:
            self._learner.observe(pick.member, outcome, seconds=seconds, now=now)
        endpoint, evacuation = pick.member.health, self.evacuation
        if outcome is _ANSWERED and not (endpoint.is_watched or evacuation.is_awake):
            endpoint.answers += 1  # most attempts: a call would cost more than the rest
            endpoint.heard_at = now
            return None
        if outcome is _ANSWERED or outcome is Outcome.ANSWERED_5XX:
            endpoint.heard_at = now
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
            pick.observer.ended(pick, Outcome.UNREACHED, seconds=seconds, now=now)
        elif self._learner is not None:
            self._learner.observe(pick.member, Outcome.UNREACHED, seconds=seconds, now=now)
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
            member = before.get(label) or Member(endpoint, backend.namespace, label)
            members[label] = member
            member.endpoint = endpoint
        return members

    def _is_concerned(self, around: Surroundings) -> bool:
        """Whether plans in use may change. Counts of nodes and replicas change often, and few policies use them."""
        names = {policy.name for policy in self.plans.policies()}
        return around.matters(self.plans.site.around, names)


def _has_same_rules(before: Backend, after: Backend) -> bool:
    """Whether both backends have the same rules of health."""
    return before.ejection == after.ejection and before.health_check == after.health_check
