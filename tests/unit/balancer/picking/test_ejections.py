"""What one worker has ejected is ejected by the others, unless what they met there says otherwise."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from balancer.model.endpoints import BackendKey, Ejection
from balancer.picking.ejections import Cause, Ejected, EjectionStep, State, cause_of
from balancer.picking.endpoint_health import Change, EndpointHealth
from balancer.picking.failing import WEIGHED_SECONDS, FailingEndpoints
from balancer.picking.health import BackendHealth
from balancer.picking.outcomes import Outcome
from tests.unit.balancer.picking.clients import Client, place_of

KEY = BackendKey("shop/cart:80")
RULES = Ejection(consecutive_errors=5, seconds=10.0)
ATTACKER = Client("10.0.9.9")
CLIENTS = [Client(f"10.0.0.{number}") for number in range(8)]


class OneWorker:
    """What one worker knows of three endpoints, and what it tells."""

    def __init__(self, rules: Ejection = RULES) -> None:
        self.endpoints = [EndpointHealth() for _ in range(3)]
        self.health = BackendHealth(rules, self.endpoints, place_of)
        self.failing = FailingEndpoints()
        self.heard: list[EjectionStep] = []

    @property
    def states(self) -> list[State]:
        return [each.state for each in self.endpoints]

    def report(
        self, number: int, outcome: Outcome, now: float, client: Client, *, probe: bool = False
    ) -> Change | None:
        endpoint = self.endpoints[number]
        change = self.health.report(endpoint, outcome, now, probe, client)
        if outcome is not Outcome.ANSWERED:
            self.failing.watch(KEY, str(number), endpoint, now)
        return change

    def hear(self, teller: OneWorker, now: float) -> None:
        """Hears what the teller has to tell at `now`, as `hearsay.hear` does."""
        for row in teller.failing.news(now)[0]:
            endpoint = self.endpoints[int(row.endpoint)]
            if self.health.hear(endpoint, row.step, now, fails=row.failures > 0) and row.step is not None:
                self.heard.append(row.step)


def fails_all(
    worker: OneWorker, *, clients: list[Client], outcome: Outcome = Outcome.ANSWERED_5XX, requests: int = 20
) -> None:
    """The first endpoint fails whoever comes, and the others answer. Within a second it is ejected."""
    for number in range(requests):
        client, now = clients[number % len(clients)], (number + 1) / requests
        worker.report(1 + number % 2, Outcome.ANSWERED, now, client)
        worker.report(0, outcome, now, client)
    assert worker.states == [State.EJECTED, State.WELL, State.WELL]


def told_after(teller: OneWorker, hearer: OneWorker, meanwhile: Iterable[tuple[Client, Outcome]] = ()) -> float:
    """The hearer hears of failures, meets something at the first endpoint meanwhile, and hears the rest."""
    hearer.hear(teller, 1.1)
    assert hearer.states[0] is State.WELL, "what it has met decides, too"
    for client, outcome in meanwhile:
        hearer.report(0, outcome, 1.2, client)
    later = 1.15 + WEIGHED_SECONDS
    hearer.hear(teller, later)
    return later


@pytest.mark.parametrize("outcome", [Outcome.ANSWERED_5XX, Outcome.UNREACHED])
def test_a_worker_without_requests_ejects_what_another_one_has_ejected(outcome: Outcome) -> None:
    one, idle = OneWorker(), OneWorker()
    fails_all(one, clients=CLIENTS, outcome=outcome)
    told_after(one, idle)
    assert idle.states == [State.EJECTED, State.WELL, State.WELL]
    assert cause_of(idle.endpoints[0].why) == cause_of(one.endpoints[0].why)
    assert len(idle.heard) == 1


def test_what_both_met_decides_together_and_a_failure_more_may_decide_later() -> None:
    one, other = OneWorker(), OneWorker()
    fails_all(one, clients=CLIENTS)
    later = told_after(one, other, [(CLIENTS[0], Outcome.ANSWERED_5XX), (CLIENTS[1], Outcome.ANSWERED)])
    changes = [other.report(0, Outcome.ANSWERED_5XX, later + 0.1, client) for client in CLIENTS[:4]]
    assert Change.EJECTED in changes or other.heard, "alone it would need some ten failures and answers of others"
    assert other.states[0] is State.EJECTED
    why = other.endpoints[0].why
    assert why is not None and why.comparison is not None
    assert why.comparison.own.answers > 8


def test_a_client_that_is_alone_with_one_worker_takes_no_endpoint_from_the_clients_of_the_others() -> None:
    one, busy = OneWorker(), OneWorker()
    fails_all(one, clients=[ATTACKER])
    told_after(one, busy, [(each, Outcome.ANSWERED) for each in CLIENTS])
    assert busy.states[0] is State.WELL


def test_failures_in_a_row_elsewhere_eject_nothing_that_answers_here() -> None:
    one, busy = OneWorker(), OneWorker()
    fails_all(one, clients=[ATTACKER], outcome=Outcome.UNREACHED)
    told_after(one, busy, [(CLIENTS[0], Outcome.ANSWERED)])
    assert busy.states[0] is State.WELL


def test_an_endpoint_that_comes_back_for_one_worker_comes_back_for_all() -> None:
    one, other = OneWorker(), OneWorker()
    fails_all(one, clients=CLIENTS)
    told_after(one, other)
    assert one.health.take_probe(one.endpoints[0], 11.0)
    assert not other.health.take_probe(other.endpoints[0], 11.0), "one probe is enough"
    assert one.report(0, Outcome.ANSWERED, 11.1, CLIENTS[0], probe=True) is Change.RETURNED
    other.hear(one, 11.2)
    assert other.states[0] is State.WELL
    assert not other.health.impaired


def test_a_probe_that_fails_keeps_the_endpoint_out_for_all_and_for_as_long() -> None:
    one, other = OneWorker(), OneWorker()
    fails_all(one, clients=CLIENTS)
    told_after(one, other)
    before = other.endpoints[0].ejected_until
    assert one.health.take_probe(one.endpoints[0], 11.0)
    one.report(0, Outcome.ANSWERED_5XX, 11.0, CLIENTS[0], probe=True)
    other.hear(one, 11.1)
    after, its_own = other.endpoints[0].ejected_until, one.endpoints[0].ejected_until
    assert before is not None and after is not None and its_own is not None
    assert its_own <= after > before + 10.0
    assert other.endpoints[0].record().ejections == one.endpoints[0].record().ejections


def test_whoever_took_over_an_ejection_probes_by_itself_if_it_hears_no_more() -> None:
    one, other = OneWorker(), OneWorker()
    fails_all(one, clients=CLIENTS)
    told_after(one, other)
    assert other.health.take_probe(other.endpoints[0], 12.5)


def test_an_older_step_changes_nothing() -> None:
    one, other = OneWorker(), OneWorker()
    fails_all(one, clients=CLIENTS)
    step = one.endpoints[0].step
    assert step is not None
    endpoint = other.endpoints[0]
    assert other.health.hear(endpoint, EjectionStep(1.2), 1.3, fails=False), "it came back later"
    other.health.hear(endpoint, step, 1.4, fails=True)
    assert endpoint.is_well
    other.health.hear(endpoint, EjectionStep(2.0, 3.0), 4.0, fails=True)  # its time is over
    assert endpoint.is_well


def test_the_bound_of_ejected_endpoints_holds_for_what_others_say() -> None:
    worker = OneWorker(Ejection(consecutive_errors=5, seconds=10.0, max_percent=34))
    for number, endpoint in enumerate(worker.endpoints):
        worker.health.hear(endpoint, EjectionStep(0.1 + number, 20.0, Cause.SILENCE), 5.0, fails=True)
    assert worker.health.ejected() == 1


def test_what_other_replicas_say_is_no_news_for_workers() -> None:
    worker = OneWorker()
    endpoint = worker.endpoints[0]
    assert endpoint.step is None
    assert worker.health.eject(endpoint, 1.0, Ejected(Cause.REPLICAS))
    assert endpoint.step is None
