"""Timeouts and retries of a rule become a policy."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.model.policies import RoutePolicy
from ingress.translation.gateway.times import timed
from tests.unit.ingress.translation.gateway.objects import http_route, read


def policy(**rule: Any) -> RoutePolicy:
    return timed(RoutePolicy(), http_route(rules=[rule]).spec.rules[0])


PLAIN = RoutePolicy(calls_in_http2=True)


def test_what_a_rule_does_not_say_is_as_it_was_and_calls_go_on_in_http_2() -> None:
    assert policy() == PLAIN
    assert timed(RoutePolicy(), read("GRPCRoute", "calls", rules=[{}]).spec.rules[0]) == RoutePolicy()


def test_times_are_bounds_and_the_time_of_an_attempt_is_no_reason_for_another() -> None:
    found = policy(timeouts={"request": "1s", "backendRequest": "500ms"})
    assert (found.request_seconds, found.attempt_seconds, found.retry_on) == (1.0, 0.5, ("error",))
    assert policy(timeouts={"backendRequest": "0s"}) == PLAIN


@pytest.mark.parametrize("before", [("error", "timeout"), ("error",), ("off",)])
def test_who_asks_for_retries_gets_them_for_broken_connections_and_times_too(before: tuple[str, ...]) -> None:
    (rule,) = http_route(rules=[{"timeouts": {"backendRequest": "1s"}, "retry": {}}]).spec.rules
    found = timed(RoutePolicy(retry_on=before), rule)
    assert (found.attempt_seconds, found.retry_on, found.tries) == (1.0, ("error", "timeout"), 2)


def test_attempts_count_repetitions() -> None:
    found = policy(retry={"codes": [503, 500], "attempts": 3, "backoff": "100ms"})
    assert (found.tries, found.retry_codes, found.retry_pause_seconds) == (4, (500, 503), 0.1)
    assert found.repeats_endpoints
