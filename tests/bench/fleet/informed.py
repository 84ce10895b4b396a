"""Replays `proportional` with replicas that tell each other their requests, through the modules that really do that."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone, ZonePolicyName
from balancer.zones.verdicts import Surroundings
from tests.bench.fleet.simulated import STEP, Replica, SimulatedFleet
from tests.bench.zones.routers import RandomBelow, Turns
from tests.bench.zones.simulation import Member


class Informed(Turns):
    """`proportional` in one of many replicas that tell each other."""

    def __init__(self, fleet: SimulatedFleet, random_below: RandomBelow) -> None:
        super().__init__(ZonePolicyName.PROPORTIONAL, random_below)
        self._fleet = fleet
        self._began = fleet.now
        self._changes = 0
        self._replica: Replica | None = None
        self._placed: tuple[dict[Endpoint, Member], Surroundings]

    def place(self, ready: dict[Endpoint, Member], around: Surroundings) -> None:
        self._placed = ready, around
        if self._replica is None:
            zone = str(around.own.zone)
            self._replica = Replica(f"{zone} {len(self._fleet.replicas)}", zone, 0.0)
            self._fleet.replicas[self._replica.place] = self._replica
        if shares := self._replica.shares:
            replicas = tuple((Zone(zone), share) for zone, share in sorted(shares.items()))
            around = Surroundings(around.own, msgspec.structs.replace(around.zones, replicas=replicas))
        super().place(ready, around)

    def pick(self, now: float) -> Member:
        replica = self._replica
        assert replica is not None
        while self._fleet.now + STEP <= self._began + now:
            self._fleet.run(STEP)
        if replica.changes != self._changes:
            self._changes = replica.changes
            self.place(*self._placed)
        replica.requests += 1
        return super().pick(now)


def informed() -> Callable[[RandomBelow], Informed]:
    """Makes the routers of one run."""
    fleet = SimulatedFleet(())
    return lambda random_below: Informed(fleet, random_below)
