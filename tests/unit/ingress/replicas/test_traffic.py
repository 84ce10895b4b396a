"""Requests by zone: from running totals to shares."""

from __future__ import annotations

import pytest

from balancer.model.zones import Zone
from ingress.replicas.traffic import Rates, differs, traffic_by_zone

A, B, C = Zone("zone-a"), Zone("zone-b"), Zone("zone-c")


def rates(per_second: float, *, seconds: int = 10) -> Rates:
    made = Rates()
    for second in range(seconds + 1):
        made.learn({"shop/cart": round(per_second * second)}, float(second))
    return made


def test_a_rate_is_known_from_the_second_total_on() -> None:
    made = Rates()
    made.learn({"shop/cart": 1000}, 5.0)
    assert made.of("shop/cart") is None
    made.learn({"shop/cart": 1050}, 6.0)
    assert made.of("shop/cart") == pytest.approx(50.0)
    made.learn({"shop/cart": 1050}, 6.0)  # no time has passed
    assert made.of("shop/cart") == pytest.approx(50.0)


def test_a_rate_follows_within_seconds_and_ends() -> None:
    made = rates(100.0)
    for second in range(1, 21):
        made.learn({"shop/cart": 1000}, 10.0 + second)
    assert made.of("shop/cart") == pytest.approx(0.0, abs=3.0)


def test_a_total_that_falls_begins_anew_and_a_service_that_is_gone_is_forgotten() -> None:
    made = rates(100.0)
    made.learn({"shop/cart": 3}, 11.0)
    assert made.of("shop/cart") is None
    made.learn({"shop/cart": 8}, 12.0)
    assert made.of("shop/cart") == pytest.approx(5.0)
    made.learn({}, 13.0)
    assert made.of("shop/cart") is None


def test_shares_are_those_of_all_replicas_of_a_zone() -> None:
    made = traffic_by_zone([(A, rates(50.0)), (A, rates(40.0)), (B, rates(10.0)), (C, rates(0.0))], ["shop/cart"])
    assert made == {"shop/cart": ((A, 9000), (B, 1000), (C, 1))}


def test_with_few_requests_or_an_unknown_rate_nothing_is_known() -> None:
    assert traffic_by_zone([(A, rates(1.0)), (B, rates(1.0))], ["shop/cart"]) == {}
    assert traffic_by_zone([(A, rates(90.0)), (B, Rates())], ["shop/cart"]) == {}
    assert traffic_by_zone([], ["shop/cart"]) == {}


@pytest.mark.parametrize(
    ("after", "is_worth"),
    [
        ({"shop/cart": ((A, 9000), (B, 1000))}, False),
        ({"shop/cart": ((A, 9150), (B, 850))}, False),
        ({"shop/cart": ((A, 9200), (B, 800))}, True),
        ({"shop/cart": ((A, 9000), (C, 1000))}, True),
        ({}, True),
    ],
)
def test_only_a_share_that_has_moved_is_worth_a_model(
    after: dict[str, tuple[tuple[Zone, int], ...]], is_worth: bool
) -> None:
    assert differs({"shop/cart": ((A, 9000), (B, 1000))}, after) is is_worth


def test_many_services_are_learnt_as_each_of_them_alone() -> None:
    """All at once while all are known for long, and one by one as soon as one of them is new, falls or is gone."""
    turns: list[dict[str, int]] = [{"a": 7 * turn, "b": turn * turn} for turn in range(12)]
    turns += [{**turns[-1], "c": 5}, {"a": 90, "b": 150, "c": 9}, {"a": 91, "b": 3, "c": 12}]
    turns += [{"b": 3 + turn, "c": 12 + 2 * turn} for turn in range(8)]
    together, alone = Rates(), {service: Rates() for service in "abc"}
    for turn, totals in enumerate(turns):
        together.learn(totals, float(turn))
        for service, rates_of in alone.items():
            rates_of.learn({service: totals[service]} if service in totals else {}, float(turn))
            assert together.of(service) == pytest.approx(rates_of.of(service)), (turn, service)
