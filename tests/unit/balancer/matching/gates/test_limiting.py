"""Limits by client: who is counted as whom, who is not, and what refused requests are answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.limiting import FlightGate, RateGate
from balancer.matching.gates.verdicts import Asked, Go, Reply, Verdict
from balancer.model.entry_points import HTTP
from balancer.model.limits import FlightLimit, Rate, RateLimit
from balancer.sharing.counting import Counting
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import begin_memory, counting_in, memory_bytes
from tests.questions import question_of

ONE = (Rate(1, 60, 0),)


@pytest.fixture
def counting() -> Counting:
    memory = bytearray(memory_bytes(1))
    begin_memory(memory, bytes(32))
    return counting_in(memory, seats=1, seat=0, guard=Unguarded(), now=lambda: 1_000_000_000)


def asked(client: str = "192.0.2.1", *fields: str) -> Asked:
    return Asked(question_of("http://shop.test/", fields).request, Origin(peer=client, entry_point=HTTP), secure=False)


def never(_: Verdict) -> None:
    raise AssertionError("limits never wait")


def verdicts(gate: RateGate, *requests: Asked) -> list[bool]:
    return [isinstance(gate.judge(each, never), Go) for each in requests]


def test_each_client_has_its_own_limit(counting: Counting) -> None:
    gate = RateGate(RateLimit("shop/web", ONE), counting)
    assert verdicts(gate, asked(), asked(), asked("192.0.2.2")) == [True, False, True]


def test_gates_of_one_zone_count_together(counting: Counting) -> None:
    first, second = (RateGate(RateLimit("shop/web", ONE), counting) for _ in range(2))
    other = RateGate(RateLimit("shop/other", ONE), counting)
    assert verdicts(first, asked()) == [True]
    assert verdicts(second, asked()) == [False]
    assert verdicts(other, asked()) == [True]


def test_refused_requests_get_the_status_that_is_set(counting: Counting) -> None:
    gate = RateGate(RateLimit("shop/web", ONE, status=429), counting)
    verdicts(gate, asked())
    assert gate.judge(asked(), never) == Reply(429, kind=ErrorKind.RATE_LIMITED)


def test_exempt_addresses_are_not_limited(counting: Counting) -> None:
    gate = RateGate(RateLimit("shop/web", ONE, exempt=("192.0.2.0/30",)), counting)
    assert verdicts(gate, *[asked("::ffff:192.0.2.1")] * 3) == [True] * 3
    assert verdicts(gate, *[asked("192.0.2.9")] * 2) == [True, False]


def test_an_address_that_cannot_be_read_is_a_client_like_others(counting: Counting) -> None:
    gate = RateGate(RateLimit("shop/web", ONE, exempt=("0.0.0.0/0", "::/0")), counting)
    assert verdicts(gate, asked("unknown"), asked("unknown"), asked(""), asked("")) == [True, False, True, False]


def test_clients_may_be_told_apart_by_something_else(counting: Counting) -> None:
    gate = RateGate(RateLimit("shop/web", ONE, key="$http_x_key"), counting)
    assert verdicts(gate, asked("192.0.2.1", "X-Key: a"), asked("192.0.2.2", "X-Key: a")) == [True, False]
    assert verdicts(gate, asked("192.0.2.1"), asked("192.0.2.1")) == [True, True]  # nginx: an empty key does not count


def test_a_request_in_flight_counts_until_it_is_released(counting: Counting) -> None:
    gate = FlightGate(FlightLimit("shop/web", 1), counting)
    first = gate.judge(asked(), never)
    assert isinstance(first, Go)
    assert gate.judge(asked(), never) == Reply(503, kind=ErrorKind.CONNECTIONS_LIMITED)
    assert first.release is not None
    first.release()
    assert isinstance(gate.judge(asked(), never), Go)


def test_exempt_requests_are_not_in_flight(counting: Counting) -> None:
    gate = FlightGate(FlightLimit("shop/web", 1, exempt=("192.0.2.1/32",)), counting)
    assert [gate.judge(asked(), never) for _ in range(2)] == [Go(), Go()]


@pytest.mark.parametrize(
    "make", [lambda: RateGate(RateLimit("a", ONE), None), lambda: FlightGate(FlightLimit("a", 9), None)]
)
def test_where_nobody_counts_every_request_is_refused(make: Callable[[], RateGate | FlightGate]) -> None:
    assert isinstance(make().judge(asked(), never), Reply)
