"""Which endpoints a worker watches, and what it tells of them."""

from __future__ import annotations

from balancer.model.endpoints import BackendKey, Ejection
from balancer.picking.ejections import EjectionStep
from balancer.picking.endpoint_health import EndpointHealth
from balancer.picking.failing import FAILING_MOST, WATCHED_SECONDS, FailingEndpoints, FailingRow, FailingRows
from balancer.picking.health import BackendHealth
from balancer.picking.outcomes import Outcome

KEY = BackendKey("shop/cart:80")
PLACE = "10.0.0.1:80"


class One:
    """One of two endpoints, whose failures are watched."""

    def __init__(self) -> None:
        self.endpoint = EndpointHealth()
        self.health = BackendHealth(Ejection(consecutive_errors=5, seconds=10.0), [self.endpoint, EndpointHealth()])
        self.failing = FailingEndpoints()

    def fails(self, now: float) -> None:
        self.health.report(self.endpoint, Outcome.UNREACHED, now)
        self.failing.watch(KEY, PLACE, self.endpoint, now)

    def answers(self, now: float) -> None:
        self.health.report(self.endpoint, Outcome.ANSWERED, now)

    def news(self, now: float) -> list[FailingRow]:
        return self.failing.news(now)[0]


def test_failures_in_a_row_and_answers_are_told_when_they_change() -> None:
    one = One()
    one.fails(0.0)
    assert one.news(0.1) == [FailingRow(KEY, PLACE, 1, False)]
    assert one.news(0.2) == []
    one.fails(0.3)
    assert one.news(0.4) == [FailingRow(KEY, PLACE, 2, False)]
    one.answers(0.5)
    assert one.news(0.6) == [FailingRow(KEY, PLACE, 0, True)]


def test_an_endpoint_is_watched_until_it_was_well_for_some_time() -> None:
    one = One()
    one.fails(0.0)
    one.answers(0.1)
    assert one.failing.news(WATCHED_SECONDS - 0.1) == ([FailingRow(KEY, PLACE, 0, True)], True)
    assert one.failing.news(WATCHED_SECONDS) == ([FailingRow(KEY, PLACE, 0, False)], False)


def test_an_ejected_endpoint_is_watched_and_fails_until_it_returns() -> None:
    one = One()
    for _ in range(5):
        one.fails(0.0)
    assert one.news(WATCHED_SECONDS + 1.0) == [FailingRow(KEY, PLACE, 5, False)]
    assert one.health.take_probe(one.endpoint, 11.0)
    one.health.report(one.endpoint, Outcome.ANSWERED, 11.0, True)
    assert one.news(11.5) == [FailingRow(KEY, PLACE, 0, False, EjectionStep(11.0))]


def test_no_namespace_takes_all_places() -> None:
    failing = FailingEndpoints()
    greedy = [failing.watch(KEY, f"10.0.0.1:{port}", EndpointHealth(), 0.0) for port in range(FAILING_MOST)]
    assert sum(greedy) == FAILING_MOST // 2
    assert failing.watch(BackendKey("other/pay:80"), PLACE, EndpointHealth(), 0.0)


def test_whoever_wants_to_know_is_woken() -> None:
    failing, woken = FailingEndpoints(), list[int]()
    failing.watch(KEY, PLACE, EndpointHealth(), 0.0)
    failing.wake = lambda: woken.append(1)
    failing.watch(KEY, PLACE, EndpointHealth(), 0.0)
    assert woken == [1]


def test_what_was_told_is_kept_until_it_is_watched_no_longer() -> None:
    told = FailingRows()
    told.learn([FailingRow(KEY, PLACE, 2, False), FailingRow(KEY, "10.0.0.2:80", 0, True)])
    before = told.rows
    told.learn([FailingRow(KEY, PLACE, 0, False)])
    assert list(told.rows) == [(KEY, "10.0.0.2:80")]
    assert len(before) == 2
    told.learn(FailingRow(KEY, f"10.0.1.1:{port}", 1, False) for port in range(2 * FAILING_MOST))
    assert len(told.rows) == FAILING_MOST
