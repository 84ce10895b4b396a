"""What replicas do while some of them are cut off, frozen, start anew or have other clocks, in simulated time.

Eight of ten requests come in at zone-a. Whatever happens, each replica knows the shares of those that it hears, or
nothing and acts as it does alone. Shares that count do not go to and fro.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import pytest

from balancer.picking.failing import FailingRow
from tests.bench.fleet.simulated import Replica, SimulatedFleet

ZONES = {"zone-a": 80.0, "zone-b": 10.0, "zone-c": 10.0}
ALL = {"zone-a": 8000, "zone-b": 1000, "zone-c": 1000}
NEAR = 400
"""Basis points: a change of two points makes no new model, and what comes every 5 s is that much older."""


def replicas(each: int, **more: float) -> list[Replica]:
    """So many replicas in each zone."""
    return [
        Replica(f"{zone} {number}", zone, rate / each, **more)  # type: ignore[arg-type]
        for zone, rate in ZONES.items()
        for number in range(each)
    ]


def settled(made: Iterable[Replica], *, loss: float = 0.0) -> SimulatedFleet:
    """A fleet in which everybody knows the requests of all."""
    fleet = SimulatedFleet(made, loss=loss)
    fleet.run(20.0)
    know(fleet.replicas.values(), ALL)
    return fleet


def know(made: Iterable[Replica], shares: dict[str, int]) -> None:
    for each in made:
        assert each.shares == pytest.approx(shares, abs=NEAR), each.place


def changes(fleet: SimulatedFleet) -> dict[str, int]:
    return {each.identity: each.changes for each in fleet.replicas.values()}


def changed(fleet: SimulatedFleet, before: dict[str, int]) -> int:
    """How often the shares of a replica have changed at most."""
    return max(each.changes - before.get(each.identity, 0) for each in fleet.replicas.values())


def test_half_of_the_replicas_cut_off_know_each_other_and_all_again_when_the_link_heals() -> None:
    fleet = settled(replicas(2))
    halves = (
        [each for each in fleet.replicas if each.startswith("zone-a")],
        [each for each in fleet.replicas if not each.startswith("zone-a")],
    )
    before = changes(fleet)
    fleet.cut = {frozenset((one, other)) for one in halves[0] for other in halves[1]}
    fleet.run(30.0)
    know((fleet.replicas[each] for each in halves[1]), {"zone-b": 5000, "zone-c": 5000})
    know((fleet.replicas[each] for each in halves[0]), {"zone-a": 10_000})
    fleet.cut = set()
    fleet.run(30.0)
    know(fleet.replicas.values(), ALL)
    assert changed(fleet, before) <= 6


def test_shares_that_do_not_change_make_no_new_models() -> None:
    fleet = settled(replicas(3))
    before = changes(fleet)
    fleet.run(60.0)
    assert changed(fleet, before) == 0


def test_one_whose_links_are_all_cut_acts_as_alone() -> None:
    fleet = settled(replicas(1))
    fleet.cut = {frozenset(pair) for pair in combinations(fleet.replicas, 2) if "zone-c 0" in pair}
    fleet.run(20.0)
    know([fleet.replicas["zone-c 0"]], {})
    know([fleet.replicas["zone-a 0"], fleet.replicas["zone-b 0"]], {"zone-a": 8889, "zone-b": 1111})


def test_a_frozen_replica_is_left_out_and_comes_back() -> None:
    fleet = settled(replicas(2))
    before = changes(fleet)
    fleet.frozen = {"zone-c 1"}
    fleet.run(30.0)
    know((each for each in fleet.replicas.values() if each.place != "zone-c 1"), ALL | {"zone-a": 8400, "zone-c": 530})
    fleet.frozen = set()
    fleet.run(30.0)
    know(fleet.replicas.values(), ALL)
    assert changed(fleet, before) <= 6


@pytest.mark.parametrize("life_seconds", [1.0, 4.0, 10.0])
def test_one_that_starts_anew_again_and_again_makes_nobody_forget_the_others(life_seconds: float) -> None:
    fleet = settled(replicas(2))
    stay = [each for each in fleet.replicas.values() if each.place != "zone-b 1"]
    before, born = changes(fleet), fleet.now
    left_out = False

    def step() -> None:
        nonlocal born, left_out
        left_out = left_out or any(not each.shares for each in stay)
        if fleet.now - born >= life_seconds:
            born = fleet.now
            fleet.start_anew("zone-b 1")

    fleet.run(60.0, step)
    assert not left_out, "shares count all the time"
    for each in stay:
        assert each.shares["zone-a"] == pytest.approx(8000, abs=1200), "those that ended count for some seconds more"
        assert each.changes - before[each.identity] <= 6, "each change is a new model"
        assert len(each.up(fleet.now)) <= 4 + 5


@pytest.mark.large
def test_of_thirty_replicas_fifteen_start_anew_at_once_and_know_all_again() -> None:
    fleet = settled(replicas(10))
    before = changes(fleet)
    again = [place for number, place in enumerate(fleet.replicas) if number % 2]
    fleet.start_anew(*again)
    fleet.run(30.0)
    know(fleet.replicas.values(), ALL)
    everybody = {each.identity for each in fleet.replicas.values()}
    for each in fleet.replicas.values():
        assert each.up(fleet.now) == everybody - {each.identity}
        assert not each.others.refused
    assert changed(fleet, before) <= 8


def test_clocks_that_differ_by_an_hour_and_messages_that_are_lost_change_nothing() -> None:
    made = [
        Replica(f"{zone} {offset}", zone, rate / 3, offset=offset)
        for zone, rate in ZONES.items()
        for offset in (-3600.0, 0.0, 3600.0)
    ]
    fleet = settled(made, loss=0.05)
    before = changes(fleet)
    fleet.run(60.0)
    know(fleet.replicas.values(), ALL)
    assert changed(fleet, before) <= 4


def test_replicas_of_an_older_version_are_replaced_one_by_one() -> None:
    fleet = settled(replicas(2, is_older=True))
    for place, old in list(fleet.replicas.items()):
        fleet.replicas[place] = Replica(place, old.zone, old.rate)
        fleet.run(10.0)
        assert all(each.shares for each in fleet.replicas.values() if each.place != place)
    fleet.run(20.0)
    know(fleet.replicas.values(), ALL)
    assert not any(each.others.refused for each in fleet.replicas.values())


def test_endpoints_that_fail_for_one_replica_are_told_while_half_of_the_links_lose_messages() -> None:
    fleet = SimulatedFleet(replicas(2), loss=0.5)
    fleet.run(10.0)
    place = ("shop/cart:80", "10.0.0.1:80")
    for name in ("zone-a 0", "zone-b 0"):
        fleet.replicas[name].failing = [{place: FailingRow(*place, 2, False)}]
    fleet.run(10.0)
    for each in fleet.replicas.values():
        if not each.failing:
            assert any(row.ejects for row in each.suspects), each.place


def test_a_dead_endpoint_of_ten_is_left_by_ten_replicas_within_three_seconds_at_twenty_requests_a_second() -> None:
    """Every tenth request goes there, so one fails each half second, at another replica each time."""
    made = [Replica(f"{zone} {number}", zone, 2.0) for number in range(4) for zone in ZONES][:10]
    fleet, place = SimulatedFleet(made), ("shop/cart:80", "10.0.0.1:80")
    fleet.run(10.0)
    began, attempts, left_at = fleet.now, 0, dict[str, float]()

    def step() -> None:
        nonlocal attempts
        for each in made:
            if any(row.ejects for row in each.suspects):
                left_at.setdefault(each.place, fleet.now - began)
        if (fleet.now - began) % 0.5 == 0.0:
            asked = made[attempts % len(made)]
            if asked.place not in left_at:
                failures = asked.failing[0][place].failures if asked.failing else 0
                asked.failing = [{place: FailingRow(*place, failures + 1, False)}]
            attempts += 1

    fleet.run(5.0, step)
    assert len(left_at) == len(made), left_at
    assert max(left_at.values()) <= 3.0, left_at
