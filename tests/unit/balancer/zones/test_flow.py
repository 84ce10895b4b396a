"""`ZoneFlow` measures rates without bias, and remembers what a zone carried while a queue stood."""

from __future__ import annotations

import random

import pytest

from balancer.sharing.peers import Seen
from balancer.zones.flow import ZoneFlow

TICK = 0.05


def ran(flow: ZoneFlow, seconds: float, *, picks: float, done: float) -> ZoneFlow:
    """`flow` after `seconds` with so many picks and answers a second."""
    for _ in range(round(seconds / TICK)):
        flow.learn(Seen(picks=picks * TICK, done=done * TICK), TICK)
    return flow


def queued(flow: ZoneFlow) -> ZoneFlow:
    """`flow` with a full queue."""
    flow.note_queue(grows=True, is_full=True)
    return flow


def test_rates_do_not_begin_at_0() -> None:
    flow = ran(ZoneFlow(), 2 * TICK, picks=400, done=0)
    assert flow.rate == pytest.approx(400)
    assert flow.long_rate == pytest.approx(400)
    ran(flow, TICK, picks=400, done=300)
    assert flow.done_rate == pytest.approx(300), "the time before the first answer is no throughput"


@pytest.mark.parametrize(
    ("factor", "has_changed"), [(1.0, False), (1.2, False), (3.0, True), (20.0, True), (0.2, True)]
)
def test_a_rate_has_changed_if_chance_does_not_explain_that(factor: float, has_changed: bool) -> None:
    """100 requests a window have a standard deviation of a tenth."""
    flow = ran(ZoneFlow(), 60, picks=100, done=100)
    assert not flow.has_changed
    ran(flow, 4.0 if factor < 1.0 else 2.0, picks=100 * factor, done=100 * factor)
    assert flow.has_changed is has_changed


def test_the_rate_follows_a_step_at_once_and_the_long_rate_later() -> None:
    flow = ran(ran(ZoneFlow(), 20, picks=1000, done=1000), 0.5, picks=2000, done=2000)
    assert flow.rate > 1900
    assert flow.long_rate < 1200


def test_without_a_queue_nothing_is_known_about_capacity() -> None:
    flow = ran(ZoneFlow(), 10, picks=400, done=400)
    assert flow.capacity == 0.0
    assert flow.share_beyond(0.8) == 1.0


def test_the_capacity_is_what_the_zone_carried_while_a_queue_was_full() -> None:
    flow = ran(queued(ran(ZoneFlow(), 5, picks=100, done=100)), 2, picks=400, done=200)
    flow.note_queue(grows=False, is_full=False)
    ran(flow, 5, picks=400, done=50)
    assert flow.capacity == pytest.approx(200)
    flow.end_queue()
    assert not flow.has_queue
    assert flow.share_beyond(0.8) == pytest.approx(1 - 0.8 * 200 / 400, abs=0.01)


def test_a_queue_is_not_full_before_one_grew() -> None:
    flow = ZoneFlow()
    flow.note_queue(grows=False, is_full=True)
    assert not flow.has_queue
    assert not flow.is_full


def test_arrivals_before_a_queue_are_not_compared_with_the_capacity() -> None:
    flow = ran(ran(ZoneFlow(), 20, picks=100, done=100), 1, picks=400, done=200)
    assert flow.long_rate < 200
    ran(queued(flow), 1, picks=400, done=200)
    assert flow.long_rate == pytest.approx(400, rel=0.1)


def test_an_uncertain_capacity_counts_for_less_by_its_errors() -> None:
    short = ran(queued(ran(ZoneFlow(), 5, picks=400, done=200)), 0.5, picks=400, done=200)
    sure = ran(queued(ran(ZoneFlow(), 5, picks=400, done=200)), 5, picks=400, done=200)
    careful = [flow.share_beyond(0.8, errors=1.0) for flow in (short, sure)]
    assert careful[0] > careful[1] + 0.01 > short.share_beyond(0.8) == pytest.approx(0.6)
    assert short.share_beyond(0.8) == pytest.approx(sure.share_beyond(0.8))


def test_endpoints_that_are_gone_carry_nothing() -> None:
    flow = ran(queued(ran(ZoneFlow(), 1, picks=400, done=200)), 1, picks=400, done=200)
    flow.shrink(0.5)
    assert flow.capacity == pytest.approx(100)


@pytest.mark.large
def test_only_more_than_chance_explains_is_a_queue_that_grows() -> None:
    chance = random.Random(1)
    flow, alarms = ZoneFlow(), 0
    for _ in range(2000):
        in_and_out = [sum(chance.random() < 0.1 for _ in range(200)) for _ in range(2)]
        flow.learn(Seen(picks=in_and_out[0], done=in_and_out[1]), TICK)
        alarms += flow.piles_up(share=0.0, seconds=0.1)
    assert alarms <= 20
    ran(flow, 1, picks=600, done=400)
    assert flow.piles_up(share=0.0, seconds=0.1)
    assert not flow.piles_up(share=0.4, seconds=0.1)
