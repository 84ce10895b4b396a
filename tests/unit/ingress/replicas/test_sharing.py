"""Which facts are told and count, by the keys of the ConfigMap; and that keys are those of workers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import pytest

from balancer.model.publication import RoutingModel
from balancer.model.zones import FleetUse, OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName, ZoneTraffic
from balancer.picking.backend import BackendRuntime
from balancer.picking.failing import EndpointPlace, FailingRow
from balancer.sharing.memory import alone
from balancer.sharing.peers import ALONE, Others, Peers
from balancer.sharing.rows import tag_of
from balancer.workers.messages import SuspectRow
from ingress.replicas.messages import HealthRow, LeftRow, Message, SeenRow, encode
from ingress.replicas.others import OtherReplicas
from ingress.replicas.sharing import Ends, FleetSharing, load_keys, zone_keys
from ingress.replicas.zone_events import LeftZone, ZoneEvent
from tests import builders as build

ADAPTIVE = ZonePolicy(ZonePolicyName.ADAPTIVE)
ENDPOINTS = [build.endpoint("10.0.0.1", zone="zone-a"), build.endpoint("10.0.0.2", zone="zone-b")]
PLACE = ("shop/s0:80", "10.0.0.1:80")


def model(**uses: Any) -> RoutingModel:
    backends = [build.backend(f"shop/s{number}:80", ENDPOINTS, zone_policy=ADAPTIVE) for number in range(3)]
    return msgspec.structs.replace(
        build.model(*backends), own_zone=OwnZone(Zone("zone-a"), "flag"), zones=ZoneFacts(**uses)
    )


class One:
    """A replica in zone-a whose workers have told something, and another replica in that zone."""

    def __init__(self, **uses: FleetUse) -> None:
        self.model = model(**uses)
        self.failing: list[Mapping[EndpointPlace, FailingRow]] = []
        self.left: Collection[LeftZone] = ()
        self.answers: dict[str, tuple[int, int]] = {}
        self.events: list[tuple[ZoneEvent, ...]] = []
        self.suspects: list[SuspectRow] = []
        self.members = OtherReplicas("own")
        self.number = 0
        ends = Ends(
            totals=lambda services: dict.fromkeys(services, 0),
            answers=lambda: self.answers,
            model=lambda: self.model,
            use=self._use,
            memory=alone().among_replicas,
            failing=lambda: self.failing,
            suspect=self.suspects.extend,
            left=lambda: self.left,
            events=self.events.append,
            flows=dict,
            places=lambda: (),
            crowded=lambda _: None,
            expired=lambda _: None,
        )
        self.sharing = FleetSharing(ends, "own")

    def _use(self, traffic: tuple[tuple[str, ZoneTraffic], ...] | None, sick: tuple[Zone, ...] | None) -> None:
        if sick is not None:
            zones = msgspec.structs.replace(self.model.zones, sick=sick)
            self.model = msgspec.structs.replace(self.model, zones=zones)

    def hears(self, now: float, **said: object) -> None:
        self.number += 1
        message = Message(number=self.number, zone="zone-a", seconds=5.0, **said)  # type: ignore[arg-type]
        self.sharing.hear("other", self.members.hear("other", encode(message), now), now)

    def turn(self, now: float) -> None:
        self.sharing.turn(dict(self.members.up(now)), now)


@pytest.mark.parametrize(
    ("use", "sick", "told"),
    [(FleetUse.ON, (Zone("zone-a"),), 1), (FleetUse.DRY_RUN, (), 1), (FleetUse.OFF, (), 0)],
)
def test_a_zone_that_is_sick_for_all_counts_as_the_key_says(use: FleetUse, sick: tuple[Zone, ...], told: int) -> None:
    one = One(fleet_zones=use)
    one.hears(1.0, left=tuple(LeftRow(f"shop/s{number}:80", "zone-a") for number in range(2)))
    one.left = frozenset((f"shop/s{number}:80", "zone-a") for number in range(2))
    one.turn(1.0)
    assert one.model.zones.sick == sick
    assert [[event.zone for event in events] for events in one.events] == [["zone-a"]] * told
    assert len(one.sharing.wholes["left"]) == 2 * told
    one.left = ()
    one.hears(1.2, left=())
    one.turn(1.2)
    assert one.model.zones.sick == ()


@pytest.mark.parametrize(("use", "count"), [(FleetUse.ON, 3), (FleetUse.DRY_RUN, 3), (FleetUse.OFF, 0)])
def test_backends_under_adaptive_are_followed(use: FleetUse, count: int) -> None:
    one = One(fleet_loads=use)
    one.turn(1.0)
    assert len(list(load_keys(one.model))) == 3
    assert len(one.sharing._ends.memory.relays.loads.tags) == count


@pytest.mark.parametrize(("use", "count"), [(FleetUse.ON, 2), (FleetUse.OFF, 0)])
def test_zones_of_backends_that_fail_are_followed(use: FleetUse, count: int) -> None:
    one = One(fleet_zones=use)
    one.failing = [{PLACE: FailingRow(*PLACE, 1, False)}]
    one.turn(1.0)
    assert len(one.sharing._ends.memory.relays.zones.tags) == count
    assert one.sharing.wholes["failing"] != ()
    one.failing = []
    one.turn(1.2)
    assert not one.sharing._ends.memory.relays.zones.tags


@pytest.mark.parametrize(("use", "away", "sick"), [("on", True, True), ("dry-run", False, True), ("off", False, False)])
def test_a_replica_with_sick_links_is_away_as_the_key_says(use: str, away: bool, sick: bool) -> None:
    one = One(fleet_readiness=FleetUse(use))
    for turn in range(10):
        now = 1.0 + 2.0 * turn
        one.answers = {"shop": (turn * 20, turn * 20)}
        one.hears(now, health=(HealthRow("shop", turn * 20, 0),))
        one.turn(now)
    assert one.sharing.links.judge.is_away is sick
    assert one.sharing.is_away is away
    assert one.sharing.wholes["away"] is away


def test_keys_are_those_of_workers() -> None:
    """The backends under `adaptive`, and the zones of a backend, as a balancer asks for them."""
    asked: set[str] = set()

    def peers_of(key: str) -> Peers:
        asked.add(key)
        return ALONE

    known = model()
    for backend in known.backends:
        runtime = BackendRuntime.fresh(
            backend, own_zone=known.own_zone, random_below=lambda _: 0, others=Others(peers_of=peers_of)
        )
        runtime.balancer(now=0.0)
    assert asked == set(load_keys(known))
    assert set(zone_keys(known, ["shop/s0:80"])) == {"shop/s0:80 zone-a", "shop/s0:80 zone-b"}


@pytest.mark.parametrize(("use", "dry"), [(FleetUse.ON, False), (FleetUse.DRY_RUN, True)])
def test_what_others_told_about_a_service_is_said(use: FleetUse, dry: bool) -> None:
    one = One(fleet_loads=use)
    one.turn(1.0)
    tag = min(tag_of(key) for key in load_keys(one.model) if key.startswith("shop/s0:"))
    for number, now in ((5, 1.1), (12, 1.6)):
        one.hears(now, loads=(SeenRow(tag, (number,) * 6),))
        one.turn(now)
    others = [other for _, other in one.members.up(1.6)]
    (told,) = one.sharing.told_about("shop/s0", others)
    assert "12 times" in told
    assert ("dry run" in told) is dry
    assert one.sharing.told_about("shop/s1", others) == []
