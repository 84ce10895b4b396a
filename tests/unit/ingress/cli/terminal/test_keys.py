"""The keys of the live view: each changes one thing about how the traffic is looked at."""

from __future__ import annotations

import pytest

from ingress.cli.terminal.keys import HELP, TopSight, pressed
from ingress.cli.terminal.ranking import Order

SIGHT = TopSight(order=Order.REQUESTS, interval_seconds=1.0)


def after(*keys: str, sight: TopSight = SIGHT) -> TopSight:
    for key in keys:
        sight = pressed(sight, key)
    return sight


def test_q_ends_and_no_other_key_does() -> None:
    assert after("q").ended
    assert not after("s", "S", "j", "k", " ", "+", "-", "x").ended


def test_s_goes_through_every_order_and_comes_back() -> None:
    orders = list(Order)
    assert [after(*["s"] * count).order for count in range(len(orders) + 1)] == [*orders, orders[0]]
    assert after("S").order is orders[-1]
    assert after("s", "S") == SIGHT


def test_scrolling_stops_at_the_first_service_and_a_new_order_begins_there() -> None:
    assert after("j", "j", "\x1b[B", "k").first == 2
    assert after("\x1b[6~", "\x1b[5~", "\x1b[A").first == 0
    assert after("j", "s").first == 0


def test_space_holds_and_lets_go() -> None:
    assert after(" ").holds
    assert after(" ", " ") == SIGHT


@pytest.mark.parametrize(("keys", "seconds"), [("+", 0.5), ("-", 2.0), ("++++++", 0.2), ("-" * 20, 3600.0)])
def test_the_pace_stays_within_what_the_option_takes(keys: str, seconds: float) -> None:
    assert after(*keys).interval_seconds == seconds


def test_f_shows_the_fleet_and_the_services_again() -> None:
    assert pressed(SIGHT, "f").shows_fleet
    assert pressed(pressed(SIGHT, "f"), "f") == SIGHT


def test_other_keys_do_nothing() -> None:
    for key in ("x", "\x1b", "\x1b[C", "é"):
        assert after(key) == SIGHT


def test_the_help_names_the_keys() -> None:
    assert all(key in HELP for key in ("q ", "f ", "s ", "j/k", "space", "+/-"))
