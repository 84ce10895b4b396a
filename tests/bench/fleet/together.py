"""Replays `adaptive` with replicas of one zone that share what they see, through the modules that really do that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.sharing.memory import Alone, alone
from balancer.zones.adaptive import SpillController
from balancer.zones.verdicts import ALL_BASIS_POINTS, Surroundings
from ingress.replicas.other_replica import KnownTotals
from ingress.replicas.plausibility import seen_news
from ingress.replicas.seen_columns import LOADS, unpacked
from ingress.replicas.sightings import READ_SECONDS, SightingSharing
from ingress.replicas.spending import TICK_SECONDS
from tests.bench.zones.routers import Adaptive, RandomBelow
from tests.bench.zones.scenarios import Phase, Scenario, Service
from tests.bench.zones.simulation import Member

_KEY = "shop/cart:80"

FEW = Scenario(
    "12 replicas, 60 requests/s, 60/20/20",
    (Phase(0.0, 0.6, (0.6, 0.2, 0.2)),),
    seconds=240.0,
    endpoints=(1, 1, 1),
    proxies=(4, 4, 4),
    service=Service(slots=2, seconds=0.06),
)
"""So few requests come to each replica, and endpoints work on so few at a time, that none learns much alone."""

FEW_LEARNT_SECONDS = 30.0
"""Until then too few have come to learn from, whoever tells whom."""


@dataclass(slots=True)
class Replica:
    """One replica: its memory, what it shares, and what it knows of each other one."""

    name: str
    memory: Alone
    sharing: SightingSharing
    known: dict[str, KnownTotals] = field(default_factory=dict)
    editions: dict[str, int] = field(default_factory=dict)

    def hear(self, other: Replica, now: float) -> None:
        """Takes the news of another replica, which come with its readings."""
        telling = other.sharing.telling
        table = telling.table_since(self.editions.get(other.name, 0))
        self.editions[other.name] = telling.edition
        if table is not None:
            known = self.known.setdefault(other.name, KnownTotals())
            self.sharing.hear(other.name, seen_news(known, unpacked(table), LOADS, math.inf), now)


class Fleet:
    """All replicas of a run by zone. Times are those of the simulation."""

    def __init__(self) -> None:
        self._zones: dict[str, list[Replica]] = {}
        self._tick_at = -math.inf
        self._tell_at = -math.inf

    def join(self, zone: str) -> Replica:
        """A new replica in a zone."""
        memory = alone()
        replica = Replica(f"{zone} {len(self._zones.get(zone, ()))}", memory, _sharing(memory))
        self._zones.setdefault(zone, []).append(replica)
        return replica

    def advance(self, now: float) -> None:
        """Lets the control processes take their turns until `now`."""
        if now - self._tick_at < TICK_SECONDS:
            return
        self._tick_at = now
        tells = now - self._tell_at >= READ_SECONDS
        for replicas in self._zones.values():
            names = {each.name for each in replicas}
            if tells:
                for one in replicas:
                    for other in replicas:
                        if other is not one:
                            one.hear(other, now)
            for each in replicas:
                each.sharing.turn(now, up=names, counts=True)
        if tells:
            self._tell_at = now


def _sharing(memory: Alone) -> SightingSharing:
    sharing = SightingSharing(memory.among_replicas.relays.loads, LOADS)
    sharing.follow([_KEY])
    return sharing


class Together(Adaptive):
    """`adaptive` in one of many replicas that tell each other."""

    def __init__(self, fleet: Fleet, random_below: RandomBelow) -> None:
        super().__init__(random_below)
        self._fleet = fleet
        self._start = random_below(ALL_BASIS_POINTS)
        self._has_joined = False

    def place(self, ready: dict[Endpoint, Member], around: Surroundings) -> None:
        if not self._has_joined:
            self._has_joined = True
            peers = self._fleet.join(str(around.own.zone)).memory.others.peers_of(_KEY)
            self.controller = SpillController(ZonePolicy(ZonePolicyName.ADAPTIVE), start=self._start, peers=peers)
        super().place(ready, around)

    def pick(self, now: float) -> Member:
        self._fleet.advance(now)
        return super().pick(now)


def together() -> Callable[[RandomBelow], Together]:
    """Makes the routers of one run."""
    fleet = Fleet()
    return lambda random_below: Together(fleet, random_below)
