"""A zone is weighed against those that receive its requests: by shares of failures, by clients, and by latency."""

from __future__ import annotations

import pytest

from balancer.zones.failures import FailureCount, FailureWindow
from balancer.zones.strain import Average
from balancer.zones.weighing import Weighing


def window(answers: int, failed: int, *, seconds: float = 0.02, clients: int = 16) -> FailureWindow:
    """A window of so many answers, whose failures are spread evenly over time and clients."""
    made, due = FailureWindow(), 0.0
    for number in range(answers):
        due += failed / answers
        made.note(failed=due >= 1.0 - 1e-9, seconds=seconds, place=number * 7 % clients)
        due -= due >= 1.0 - 1e-9
    made.pass_time(0.1)
    return made


def weighed(own: FailureWindow, *others: FailureWindow) -> Weighing:
    return Weighing(own, others)


def average(count: int, seconds: float) -> Average:
    made = Average()
    made.take(count, count * seconds, memory=10_000.0)
    return made


@pytest.mark.parametrize(
    ("own", "others", "is_sick", "is_worse", "is_alike"),
    [
        (window(100, 40), window(30, 0), True, True, False),
        (window(100, 40), window(5, 0), True, False, False),
        (window(100, 40), window(80, 32), True, False, True),
        (window(100, 2), window(100, 0), False, False, True),
        (window(7, 7), window(100, 0), False, False, False),  # too few to say anything
        (window(100, 0), window(100, 40), False, False, True),
    ],
)
def test_what_the_evidence_proves(
    own: FailureWindow, others: FailureWindow, is_sick: bool, is_worse: bool, is_alike: bool
) -> None:
    zone = weighed(own, others)
    assert (zone.is_sick, zone.is_worse, zone.is_alike) == (is_sick, is_worse, is_alike)


@pytest.mark.parametrize(
    ("own", "others"),
    [
        (window(6, 3), window(30, 0)),  # too few for another zone
        (window(40, 12), window(40, 2)),  # too little of a difference for another zone
    ],
)
def test_of_a_zone_that_is_said_to_go_away_less_evidence_is_enough(own: FailureWindow, others: FailureWindow) -> None:
    assert not Weighing(own, [others]).is_worse
    assert Weighing(own, [others], is_leaving=True).is_worse


@pytest.mark.parametrize("own", [window(100, 0), window(100, 2), window(3, 3), window(100, 40)])
def test_that_a_zone_is_said_to_go_away_proves_nothing(own: FailureWindow) -> None:
    assert not Weighing(own, [window(100, 40)], is_leaving=True).is_worse


def test_failures_that_one_client_meets_make_no_zone_sick() -> None:
    own = window(300, 0)
    for _ in range(200):
        own.note(failed=True, seconds=0.001, place=3)
    own.pass_time(0.1)
    zone = weighed(own, window(100, 0))
    assert zone.mine.ratio > 0.3
    assert not zone.is_sick and not zone.is_worse


def test_the_failures_of_the_only_client_count() -> None:
    assert weighed(window(100, 50, clients=1), window(30, 0)).is_worse


def test_several_zones_that_receive_are_one() -> None:
    zone = weighed(window(100, 100), window(10, 1, seconds=0.01), window(30, 2, seconds=0.05))
    assert zone.theirs == pytest.approx((40, 3))
    assert 0.03 < zone.latency.seconds < 0.05
    assert not zone.is_alone
    assert weighed(window(100, 100)).is_alone


@pytest.mark.parametrize(
    ("now", "before", "is_burden"),
    [
        (average(200, 0.06), average(200, 0.02), True),
        (average(200, 0.022), average(200, 0.02), False),
        (average(20, 0.06), average(200, 0.02), False),  # too few
        (average(200, 0.004), average(200, 0.001), False),  # a moment, and not the load
    ],
)
def test_a_latency_that_rises_is_a_burden(now: Average, before: Average, is_burden: bool) -> None:
    zone = weighed(window(100, 100), window(100, 0))
    zone.latency = now
    assert zone.is_burden(FailureCount(100, 0), before) is is_burden


def test_failures_that_come_with_the_requests_are_a_burden() -> None:
    zone = weighed(window(100, 100), window(100, 30))
    assert zone.may_be_burden(FailureCount(100, 0), Average())
    assert zone.is_burden(FailureCount(100, 0), Average())
    assert not zone.is_burden(FailureCount(100, 30), Average())
