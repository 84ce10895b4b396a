"""Keeps the plans of one backend: one for each zone policy that its requests have asked for.

A change of the backend makes new plans when requests ask for them, because most of thousands of backends get no request
between two changes. Plans from before the change are kept until then, so that rotations continue where they stood.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from balancer.model.zones import UNKNOWN_ZONE, ZoneEvacuation, ZonePolicy
from balancer.picking.balancers import PoolBalancer
from balancer.picking.plans import Plan, Site
from balancer.zones.adaptive import SpillController
from balancer.zones.evacuation import Evacuation
from balancer.zones.split import evacuation_in_force
from balancer.zones.verdicts import Surroundings

# Routes may have policies of their own, and every change of an annotation may add one. Beyond this number the oldest is
# dropped, so memory stays bounded. If it is still in use, its rotation starts again.
_POLICIES_MAX = 16

_NONE: Final[dict[ZonePolicy, Plan]] = {}  # one for all backends without plans: it is replaced, not added to
_NO_POLICY: Final[frozenset[ZonePolicy | None]] = frozenset()


class PlansInUse:
    """The plans of one backend between two changes of it.

    `balancers` has those of plans in which neither randomness nor time counts, by policy; that of the backend's own
    policy is also under None. `successor` has the plans after the next change, as soon as those are made.
    """

    __slots__ = (
        "_evacuation",
        "_lost",
        "_made",
        "_own",
        "_past",
        "_reached",
        "balancers",
        "has_controllers",
        "site",
        "successor",
    )

    def __init__(self, site: Site, own: ZonePolicy, evacuation: Evacuation) -> None:
        """`own` is the policy of the backend. `evacuation` is told which zones it has to judge."""
        self.site = site
        self.balancers: dict[ZonePolicy | None, PoolBalancer] = {}
        self.has_controllers = False  # no plan has a controller, nor had one before the last change
        self.successor: PlansInUse | None = None
        self._own = own
        self._evacuation = evacuation
        self._made = _NONE
        self._past = _NONE  # plans that no request has asked for since the change
        self._reached = _NO_POLICY  # those of routes, once one of them has another policy than the backend
        self._lost = _NO_POLICY  # those that routes had

    def plan(self, policy: ZonePolicy | None) -> Plan:
        """The plan for `policy`, or for the backend's own policy; made on first use."""
        policy = self._own if policy is None else policy
        plan = self._made.get(policy)
        if plan is not None:
            return plan
        before = self._past.pop(policy, None)
        if len(self._past) + len(self._made) >= _POLICIES_MAX:
            self._forget_oldest()
        return self._make(policy, before=before)

    @property
    def is_unused(self) -> bool:
        """Whether no plan was made since the last change."""
        return not self._made

    def policies(self) -> tuple[ZonePolicy, ...]:
        """The policies in use."""
        return (*self._past, *self._made)

    def controllers(self) -> tuple[SpillController, ...]:
        """The controllers of plans in use that let requests leave the zone because of its load."""
        zone = self.site.around.own.zone
        past = ((policy, plan) for policy, plan in self._past.items() if not self._is_lost(policy))
        going_on = (plan.controller_for(policy, zone) for policy, plan in past)
        made = (plan.controller for policy, plan in self._made.items() if not self._is_lost(policy))
        found = (*going_on, *made)
        return tuple(controller for controller in found if controller is not None)

    @property
    def leaves_zones(self) -> bool:
        """Whether requests leave zones whose answers fail; else that is only judged, for a dry run."""
        return ZoneEvacuation.ON in self._evacuations()

    def follow(self, before: PlansInUse) -> None:
        """Continues with the plans in use `before` a change. Plans that are made there later come here, too."""
        self._past = before._handed_on(self._own)
        self._lost = before._lost
        self._reached = before._reached
        self.has_controllers = before.has_controllers
        before.successor = self

    def make_those_of(self, before: PlansInUse) -> None:
        """Makes the plans that requests used in `before`, so that none of them waits for that."""
        for policy in tuple(before._made):
            self.plan(self._own if policy == before._own else policy)

    def reach(self, before: Collection[ZonePolicy | None], after: Collection[ZonePolicy | None]) -> None:
        """Routes lead to the backend under the policies `after`, and until now under those `before`; None is its own.

        What goes on under a policy to which no route leads any more is nothing that requests meet.
        """
        self._lost = self._lost.union(before).difference(after)
        self._reached = frozenset(after)
        self._judge_zones()

    def settle(self, around: Surroundings) -> None:
        """These are the plans of requests from now on. Plans to come are for the surroundings `around`."""
        self.site = self.site._replace(around=around)
        if self._evacuation.is_on:
            self._judge_zones()

    def _make(self, policy: ZonePolicy, *, before: Plan | None) -> Plan:
        plan = Plan(self.site, policy, before=before)
        self._made = self._made or {}
        self._made[policy] = plan
        if plan.controller is not None:
            self.has_controllers = True
        if policy.evacuation is not ZoneEvacuation.OFF and not self._evacuation.is_on:
            self._judge_zones()
        if plan.only is not None:
            self.balancers[policy] = plan.only
            if policy == self._own:
                self.balancers[None] = plan.only
        if self.successor is not None:
            self.successor._inherit(self)
        return plan

    def _forget_oldest(self) -> None:
        if self._past:
            del self._past[next(iter(self._past))]
            return
        oldest = next(iter(self._made))
        del self._made[oldest]
        self.balancers.pop(oldest, None)
        if oldest == self._own:
            self.balancers.pop(None, None)

    def _handed_on(self, own: ZonePolicy) -> dict[ZonePolicy, Plan]:
        """The plans in use, oldest first, under their policies after a change to the backend's policy `own`."""
        plans = {**self._past, **self._made}
        plan = plans.pop(self._own, None)
        if plan is not None:
            plans[own] = plan  # turns continue even if the backend's policy has changed
        return plans

    def _inherit(self, before: PlansInUse) -> None:
        """Learns of a plan that was made in `before` after these had been made."""
        plans = before._handed_on(self._own)
        self._past = {policy: plan for policy, plan in plans.items() if policy not in self._made}
        self.has_controllers = self.has_controllers or before.has_controllers

    def _judge_zones(self) -> None:
        """Which zones are judged from now on: those of the endpoints, if a policy in use may leave any."""
        endpoints = self.site.endpoints if self._evacuations() - {ZoneEvacuation.OFF} else ()
        zones = (each.zone or UNKNOWN_ZONE for each in endpoints)
        self._evacuation.follow(zones, leaving=self.site.around.zones.suspect)

    def _evacuations(self) -> set[ZoneEvacuation]:
        used = {policy for policy in self.policies() if not self._is_lost(policy)}
        used.update(policy or self._own for policy in self._reached)
        return {evacuation_in_force(policy, self.site.endpoints) for policy in used}

    def _is_lost(self, policy: ZonePolicy) -> bool:
        """Whether routes have led to the backend under `policy`, and none does any more."""
        return bool(self._lost) and (None if policy == self._own else policy) in self._lost
