"""Makes the balancers of one backend in its present state, over any pools. Turns continue from earlier balancers.

Holds what the balancers share: members, health, the chooser and the maker of turns. Does not know plans, nor which
balancer a request gets.
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.model.endpoints import Backend, LoadBalancing
from balancer.model.zones import ZoneEvacuation, ZonePolicy
from balancer.picking.balancers import PoolBalancer
from balancer.picking.choosing import Chooser
from balancer.picking.detours import NO_ZONE_LEFT
from balancer.picking.health import BackendHealth
from balancer.picking.leaving import SpillingBalancer, Spillway, dearnesses, elsewhere
from balancer.picking.members import Member
from balancer.picking.turns import RandomBelow, TurnMaker, Turns
from balancer.sharing.peers import NO_OTHERS, Others, Peers, load_key
from balancer.zones.adaptive import SpillController
from balancer.zones.cost import tariffs
from balancer.zones.evacuation import Evacuation
from balancer.zones.split import Pools, evacuation_in_force
from balancer.zones.verdicts import Surroundings


class BalancerMaker:
    """Makes balancers of one backend. All policies except `adaptive` use `chooser`."""

    __slots__ = (
        "_around",
        "_backend",
        "_evacuation",
        "_health",
        "_members",
        "_others",
        "_turn_maker",
        "chooser",
        "random_below",
    )

    def __init__(
        self,
        backend: Backend,
        *,
        around: Surroundings,
        members: Mapping[str, Member],
        health: BackendHealth,
        random_below: RandomBelow,
        evacuation: Evacuation,
        others: Others = NO_OTHERS,
    ) -> None:
        """`members` are keyed by label, one for each endpoint of `backend`. Of `around`, own zone and prices count.
        `evacuation` knows the zones that are left because their answers fail.
        """
        self._backend = backend
        self._around = around
        self._members = members
        self._health = health
        self._evacuation = evacuation
        self.random_below = random_below
        self._others = others
        self.chooser = Chooser(
            backend.load_balancing,
            limit=backend.max_concurrency_per_endpoint,
            members=members,
            random_below=random_below,
        )
        self._turn_maker: TurnMaker | None = None

    def turn_maker(self) -> TurnMaker:
        """The maker of turns; made on first use, because most backends get no request between two changes."""
        if self._turn_maker is None:
            own_zone = self._around.own.zone
            self._turn_maker = TurnMaker(
                members=self._members,
                own_zone=own_zone,
                tariffs=tariffs(self._around.zones.prices, own_zone, self._backend.endpoints),
                panic_percent=self._backend.panic_percent,
                random_below=self.random_below,
            )
        return self._turn_maker

    def peers(self, policy: ZonePolicy) -> Peers:
        """Returns the other controllers of this backend under `policy` in the same zone."""
        return self._others.peers_of(load_key(self._backend.key, self._around.own.zone, policy))

    def balancer(self, pools: Pools, after: Turns, policy: ZonePolicy) -> PoolBalancer:
        """Makes a balancer over `pools`, which `policy` chose. Its turns continue those of `after`."""
        maker = self.turn_maker()
        return PoolBalancer(
            maker.turns(pools, after=after),
            maker=maker,
            health=self._health,
            chooser=self.chooser,
            left=self._left(policy),
        )

    def spilling(self, pools: Pools, after: Turns, policy: ZonePolicy, *, controller: SpillController) -> PoolBalancer:
        """Makes a balancer like `balancer` does, but one that asks `controller` which requests leave the zone.

        The latency of the dearest zone counts for more by the toll of `policy`.
        """
        maker = self.turn_maker()
        chooser = Chooser(
            LoadBalancing.EWMA,
            limit=self._backend.max_concurrency_per_endpoint,
            members=self._members,
            random_below=self.random_below,
            dearness=dearnesses(maker.tariffs, toll_ratio=policy.toll_ratio),
        )
        maker = maker.observed_by(Spillway(chooser, controller if elsewhere(pools) else None))
        return SpillingBalancer(
            maker.turns(pools, after=after),
            maker=maker,
            health=self._health,
            chooser=chooser,
            controller=controller,
            left=self._left(policy),
        )

    def _left(self, policy: ZonePolicy) -> dict[str, int]:
        is_left = evacuation_in_force(policy, self._backend.endpoints) is ZoneEvacuation.ON
        return self._evacuation.left if is_left else NO_ZONE_LEFT
