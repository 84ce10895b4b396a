"""Body bytes are priced by zone pair and direction, beside what a proxy that knows no zones would pay on average."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given

from balancer.metrics.slots import Key, SlotTable
from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, Zone, ZonePrices
from balancer.zones.cost import FREE, Tariff, price, tariffs
from tests import builders as build
from tests.unit.balancer import strategies

A, B, C = (Zone(f"zone-{letter}") for letter in "abc")
GIGABYTE = 10**9
PAIRS = ZonePrices(default=0.02, pairs=((A, B, 0.01), (B, A, 0.05)))


@pytest.mark.parametrize(
    ("from_zone", "to_zone", "expected"),
    [
        (A, A, 0.0),
        (A, B, 0.01),
        (B, A, 0.05),
        (A, C, 0.02),
        (C, A, 0.02),
        (None, B, 0.0),
        (A, None, 0.0),
        (None, None, 0),
    ],
)
def test_the_price_of_a_gigabyte(from_zone: Zone | None, to_zone: Zone | None, expected: float) -> None:
    assert price(PAIRS, from_zone, to_zone) == expected


def test_inside_a_zone_even_a_price_of_its_own_is_nothing() -> None:
    assert price(ZonePrices(pairs=((A, A, 1.0),)), A, A) == 0.0


def test_each_direction_has_its_own_price() -> None:
    tariff = tariffs(PAIRS, A, build.endpoints("b"))[B]
    assert tariff.dollars(GIGABYTE, 0) == pytest.approx(0.01)
    assert tariff.dollars(0, GIGABYTE) == pytest.approx(0.05)
    assert tariff.dollars(GIGABYTE, 2 * GIGABYTE) == pytest.approx(0.11)


def test_the_blind_price_is_the_average_over_ready_endpoints() -> None:
    gone = build.endpoint("10.0.0.9", zone="zone-c", ready=False)
    made = tariffs(PAIRS, A, (*build.endpoints("aab"), gone))
    for zone in (A, B, C):
        assert made[zone].blind_dollars(GIGABYTE, 0) == pytest.approx(0.01 / 3)
        assert made[zone].blind_dollars(0, GIGABYTE) == pytest.approx(0.05 / 3)


def test_where_none_is_ready_the_average_is_over_those_that_still_serve() -> None:
    terminating = build.endpoint("10.0.0.1", zone="zone-b", ready=False, serving_terminating=True)
    gone = build.endpoint("10.0.0.2", zone="zone-a", ready=False)
    assert tariffs(PAIRS, A, (terminating, gone))[B].blind_dollars(GIGABYTE, 0) == pytest.approx(0.01)


@pytest.mark.parametrize(("own", "zones"), [(None, "abc"), (A, "--")])
def test_an_unknown_zone_costs_nothing_either_way(own: Zone | None, zones: str) -> None:
    assert set(tariffs(PAIRS, own, build.endpoints(zones)).values()) == {FREE}


def test_a_tariff_without_prices_is_the_free_one() -> None:
    assert tariffs(ZonePrices(default=0.0), A, build.endpoints("ab"))[B] is FREE


def test_without_endpoints_there_is_no_tariff() -> None:
    assert tariffs(PAIRS, A, ()) == {}


@given(strategies.any_endpoints, strategies.own_zones)
def test_a_proxy_that_takes_all_in_turn_pays_what_the_blind_one_does(
    endpoints: tuple[Endpoint, ...], own: OwnZone
) -> None:
    made = tariffs(PAIRS, own.zone, endpoints)
    assert set(made) == {endpoint.zone for endpoint in endpoints}
    ready = [made[endpoint.zone] for endpoint in endpoints if endpoint.ready]
    paid = sum(tariff.dollars(GIGABYTE, GIGABYTE) for tariff in ready)
    assert sum(tariff.blind_dollars(GIGABYTE, GIGABYTE) for tariff in ready) == pytest.approx(paid)


@pytest.mark.large
def test_a_million_requests_add_up_to_the_cent() -> None:
    """In the slots that requests are counted in, against exact arithmetic: from bytes to gigabytes in one series."""
    table = SlotTable(bytearray(64 * 1024))
    values, slot = table.values, table.slot(Key(0, ("shop", "cart")), 2)
    tariff = Tariff(sent=0.01 / 1e9, received=0.02 / 1e9, blind_sent=0.0075 / 1e9, blind_received=0.015 / 1e9)
    chance = random.Random(1)
    sizes = [(chance.randrange(10 ** chance.randrange(1, 10)), chance.randrange(10_000)) for _ in range(1000)]
    for _ in range(1000):
        for sent, received in sizes:
            values[slot] += tariff.dollars(sent, received)
            values[slot + 1] += tariff.blind_dollars(sent, received)
    exact = (
        1000 * sum((Fraction(sent, 100) + Fraction(received, 50) for sent, received in sizes), Fraction()) / GIGABYTE
    )
    assert exact > 100
    assert abs(Fraction(values[slot]) - exact) < Fraction(1, 10_000)
    assert abs(Fraction(values[slot + 1]) - exact * 3 / 4) < Fraction(1, 10_000)
