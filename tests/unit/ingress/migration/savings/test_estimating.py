"""What bytes cost today and what zonal saves, by hand: zones, prices and months."""

from __future__ import annotations

import pytest

from balancer.model.endpoints import Backend
from balancer.model.zones import Zone, ZonePrices
from ingress.migration.savings.estimating import CountedBytes, Estimate, estimated
from tests import builders

GIGABYTE = 10**9
PRICES = ZonePrices(default=0.02)
A, B, C = Zone("zone-a"), Zone("zone-b"), Zone("zone-c")


def backend(zones: str) -> Backend:
    return builders.backend(of=builders.endpoints(zones))


def counted(sent: float, received: float, service: str = "cart", host: str = "shop.test") -> CountedBytes:
    return CountedBytes(host, "shop", service, sent * GIGABYTE, received * GIGABYTE)


def estimate(
    *rows: CountedBytes, backends: tuple[Backend, ...], zones: tuple[Zone, ...] = (), months: float = 1.0
) -> Estimate:
    return estimated(rows, backends, PRICES, zones, months=months)


def test_two_thirds_of_the_bytes_leave_three_even_zones_and_all_of_them_are_saved() -> None:
    found = estimate(counted(10, 90), backends=(backend("abc"),))
    assert found.gigabytes == pytest.approx(100.0)
    assert found.today == found.saved == pytest.approx(100 * 0.02 * 2 / 3)
    assert found.saved_most == pytest.approx(100 * 0.02 * 2 / 3 * 1.08)
    assert found.known_share == 1.0


def test_a_pod_without_endpoints_in_its_zone_saves_nothing() -> None:
    found = estimate(counted(0, 100), backends=(backend("bb"),), zones=(A, B))
    assert found.today == pytest.approx(1.0)
    assert found.saved == 0.0


def test_each_pod_counts_with_its_zone() -> None:
    found = estimate(counted(0, 100), backends=(backend("ab"),), zones=(A, A, C))
    assert found.today == pytest.approx(100 * 0.02 * (0.5 + 0.5 + 1.0) / 3)
    assert found.saved == pytest.approx(100 * 0.02 * (0.5 + 0.5) / 3)


def test_each_direction_has_its_price() -> None:
    prices = ZonePrices(default=0.0, pairs=((A, B, 0.1),))
    found = estimated([counted(10, 1000)], [backend("b")], prices, [A], months=1.0)
    assert found.today == pytest.approx(1.0)


def test_a_half_month_counts_twice() -> None:
    once = estimate(counted(0, 100), backends=(backend("abc"),))
    twice = estimate(counted(0, 100), backends=(backend("abc"),), months=0.5)
    assert once.today == pytest.approx(100 * 0.02 * 2 / 3)
    assert twice.today == pytest.approx(100 * 0.02 * 4 / 3)
    assert twice.gigabytes == pytest.approx(200.0)


def test_services_without_zones_are_unknown_and_count_in_the_upper_bound_alone() -> None:
    found = estimate(counted(0, 100), counted(0, 300, "gone"), backends=(backend("abc"),))
    assert found.known_share == pytest.approx(0.25)
    assert found.saved == pytest.approx(100 * 0.02 * 2 / 3)
    assert found.saved_most == pytest.approx(100 * 0.02 * 2 / 3 * 4 * 1.08)
    assert [(row.service, row.saved) for row in found.rows][1] == ("gone", None)


def test_the_largest_saving_comes_first() -> None:
    found = estimate(counted(0, 1, host="a.test"), counted(0, 2, host="b.test"), backends=(backend("abc"),))
    assert [row.host for row in found.rows] == ["b.test", "a.test"]


def test_no_bytes_are_no_dollars() -> None:
    found = estimate(backends=(backend("abc"),))
    assert (found.gigabytes, found.saved, found.saved_most, found.known_share) == (0.0, 0.0, 0.0, 0.0)


def test_without_any_zone_dollars_are_unknown_and_not_none_at_all() -> None:
    found = estimate(counted(0, 100, "gone"), backends=(backend("abc"),))
    assert (found.today, found.saved, found.saved_most, found.known_share) == (None, None, None, 0.0)
    assert found.gigabytes == pytest.approx(100.0)
