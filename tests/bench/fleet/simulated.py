"""Replicas that tell each other in simulated time, through the modules that decide. Links can be cut, clocks differ.

A message that is sent arrives at once, or is lost. Time goes in steps of a turn of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from random import Random
from typing import Final

import msgspec

from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName, ZoneTraffic
from balancer.picking.failing import EndpointPlace, FailingRow
from balancer.sharing.memory import alone
from balancer.workers.messages import SuspectRow
from ingress.replicas.messages import MessageRefused, encode
from ingress.replicas.others import OtherReplicas
from ingress.replicas.sharing import Ends, FleetSharing
from ingress.replicas.telling import Telling
from tests import builders as build

SERVICE: Final = "shop/cart"
STEP: Final = 0.25
_ENDPOINTS = [build.endpoint(f"10.0.0.{number}", zone=f"zone-{each}") for number, each in enumerate("abc", 1)]
_MODEL = build.model(
    build.backend(f"{SERVICE}:80", _ENDPOINTS, zone_policy=ZonePolicy(ZonePolicyName.PROPORTIONAL)),
)


class Replica:
    """One life of the replica at `place`, which gets `rate` requests a second. Its clock is `offset` seconds ahead.

    `shares` are the requests by zone that count here, `changes` how often they have changed.
    """

    _lives = count(1)

    def __init__(self, place: str, zone: str, rate: float, *, offset: float = 0.0, is_older: bool = False) -> None:
        self.place = place
        self.zone = zone
        self.rate = rate
        self.offset = offset
        self.is_older = is_older
        self.identity = f"{place} {next(self._lives)}"
        self.requests = 0.0
        self.shares: dict[str, int] = {}
        self.changes = 0
        self.failing: list[Mapping[EndpointPlace, FailingRow]] = []
        self.suspects: list[SuspectRow] = []
        self.others = OtherReplicas(self.identity)
        self.sharing = self._shared()
        self.told: dict[str, tuple[str, Telling]] = {}

    def _shared(self) -> FleetSharing:
        model = msgspec.structs.replace(_MODEL, own_zone=OwnZone(Zone(self.zone), "flag"))
        ends = Ends(
            totals=lambda services: dict.fromkeys(services, int(self.requests)),
            answers=dict,
            model=lambda: model,
            use=self._use,
            memory=alone().among_replicas,
            failing=lambda: self.failing,
            suspect=self.suspects.extend,
            left=lambda: (),
            events=lambda _: None,
            flows=dict,
            places=lambda: (),
            crowded=lambda _: None,
            expired=lambda _: None,
        )
        return FleetSharing(ends, self.identity)

    def _use(self, traffic: tuple[tuple[str, ZoneTraffic], ...] | None, _: tuple[Zone, ...] | None) -> None:
        if traffic is not None:
            self.shares = {str(zone): share for _, shares in traffic for zone, share in shares}
            self.changes += 1

    def up(self, now: float) -> set[str]:
        """The identities of the others that are up."""
        return {identity for identity, _ in self.others.up(now + self.offset)}


class SimulatedFleet:
    """Replicas by their places. A link in `cut` carries nothing, and a replica in `frozen` does nothing."""

    def __init__(self, replicas: Iterable[Replica], *, loss: float = 0.0) -> None:
        self.now = 1000.0
        self.replicas = {each.place: each for each in replicas}
        self.cut: set[frozenset[str]] = set()
        self.frozen: set[str] = set()
        self._loss = loss
        self._chance = Random(30)
        self._number = 0

    def start_anew(self, *places: str) -> None:
        """The replicas at these places end, and others are there."""
        for place in places:
            old = self.replicas[place]
            self.replicas[place] = Replica(place, old.zone, old.rate, offset=old.offset, is_older=old.is_older)

    def run(self, seconds: float, each_step: Callable[[], None] = lambda: None) -> None:
        """Lets time pass."""
        for _ in range(round(seconds / STEP)):
            self.now += STEP
            each_step()
            awake = [each for each in self.replicas.values() if each.place not in self.frozen]
            for replica in awake:
                replica.requests += replica.rate * STEP
                now = self.now + replica.offset
                replica.others.forget(now)
                replica.sharing.turn(dict(replica.others.up(now)), now)
            for replica in awake:
                self._tell(replica)

    def _tell(self, replica: Replica) -> None:
        for place, other in self.replicas.items():
            if other is replica:
                continue
            identity, telling = replica.told.setdefault(place, ("", Telling(replica.sharing)))
            news = telling.due(self.now + replica.offset)
            if news is None:
                continue
            self._number += 1
            message = telling.message(self._number, news, name=replica.place, is_older=other.is_older)
            if self._arrives(replica, other, encode(message)):
                telling.arrived(other.zone)
                if other.identity != identity:
                    telling.forget()
                replica.told[place] = other.identity, telling
            else:
                telling.forget()

    def _arrives(self, replica: Replica, other: Replica, data: bytes) -> bool:
        is_cut = frozenset((replica.place, other.place)) in self.cut or other.place in self.frozen
        if is_cut or self._chance.random() < self._loss:
            return False
        now = self.now + other.offset
        try:
            member = other.others.hear(replica.identity, data, now)
        except MessageRefused:
            return False
        other.sharing.hear(replica.identity, member, now)
        return True
