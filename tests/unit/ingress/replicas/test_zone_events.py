"""When a zone is sick for the fleet, and who must agree."""

from __future__ import annotations

import pytest

from ingress.replicas.messages import LEFT_MOST, LeftRow
from ingress.replicas.zone_events import LeavingView, LeftZone, ZoneEvent, ZoneEvents
from tests import builders as build

ZONES = ("zone-a", "zone-b", "zone-c")


def events(backends: int = 10) -> ZoneEvents:
    found = ZoneEvents()
    endpoints = [build.endpoint(f"10.0.0.{number}", zone=zone) for number, zone in enumerate(ZONES)]
    found.follow(build.model(*(build.backend(f"shop/s{number}:80", endpoints) for number in range(backends))))
    return found


def left(count: int, zone: str = "zone-a") -> frozenset[LeftZone]:
    return frozenset((f"shop/s{number}:80", zone) for number in range(count))


def test_three_of_ten_backends_make_a_zone_sick_and_one_of_ten_ends_that() -> None:
    found = events()
    for count, expected in ((2, 0), (3, 3), (5, 5), (2, 2), (1, 0)):
        found.turn(LeavingView("zone-a", left(count)), ())
        assert found.events == ((ZoneEvent("zone-a", expected, 10),) if expected else ())
    assert found.rows == (LeftRow("shop/s0:80", "zone-a"),)
    assert found.zones == ()


def test_one_backend_alone_makes_no_zone_sick() -> None:
    found = events(1)
    found.turn(LeavingView("zone-a", left(1)), ())
    assert found.events == ()


@pytest.mark.parametrize(
    ("tellers", "is_sick"),
    [
        (["zone-b"], False),  # may be its link
        (["zone-b", "zone-b"], False),
        (["zone-b", "zone-c"], True),
        (["zone-a"], True),
        (["zone-a", ""], True),
        (["", ""], False),
    ],
)
def test_replicas_of_the_zone_or_of_two_others_must_agree(tellers: list[str], is_sick: bool) -> None:
    found = events()
    found.turn(LeavingView("zone-b", ()), [LeavingView(zone, left(5)) for zone in tellers])
    assert bool(found.events) is is_sick
    assert found.rows == ()


def test_one_of_three_replicas_of_a_zone_is_not_enough() -> None:
    found = events()
    well = LeavingView("zone-a", ())
    found.turn(LeavingView("zone-a", left(9)), [well, well])
    assert found.events == ()


def test_a_namespace_that_leaves_thousands_of_zones_is_told_beside_another() -> None:
    found = events()
    greedy = {(f"greedy/s{number:05}:80", "zone-a") for number in range(2 * LEFT_MOST)}
    found.turn(LeavingView("zone-b", frozenset({*greedy, ("shop/s0:80", "zone-a")})), ())
    assert len(found.rows) == LEFT_MOST
    assert LeftRow("shop/s0:80", "zone-a") in found.rows
