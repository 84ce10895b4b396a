"""Shared limits as the control process sees them: totals, charges, and numbers that all replicas agree on."""

from __future__ import annotations

from balancer.model.limits import LimitScope, Rate, RateLimit
from balancer.sharing.books import number_of
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import SECRET_BYTES, begin_memory, counting_in, limits_in, memory_bytes
from balancer.sharing.spending import TENANT_SHIFT

LIMIT = RateLimit("shop/web", (Rate(60, 60, 5), Rate(10, 1, 5)), scope=LimitScope.FLEET)
SECOND = 10**9


class Memory:
    def __init__(self) -> None:
        self.now = 100 * SECOND
        buffer = bytearray(memory_bytes(1))
        begin_memory(buffer, bytes(SECRET_BYTES))
        counting = counting_in(buffer, seats=1, seat=0, guard=Unguarded(), now=lambda: self.now)
        self.zone = counting.fleet_rates(LIMIT.zone, LIMIT.rates, number=number_of(LIMIT))
        self.books = limits_in(buffer, seats=1, guard=Unguarded(), now=lambda: self.now)


def test_a_limit_has_one_number_until_its_rates_change() -> None:
    same = RateLimit("shop/web", (Rate(60, 60, 5), Rate(10, 1, 5)), exempt=("10.0.0.0/8",))
    other = RateLimit("shop/web", (Rate(60, 60, 5), Rate(11, 1, 5)))
    assert number_of(LIMIT) == number_of(same) != number_of(other)
    assert 0 < number_of(LIMIT) < 2**64
    beside, elsewhere = (number_of(RateLimit(zone, LIMIT.rates)) for zone in ("shop/other", "blog/web"))
    tenants = {number >> TENANT_SHIFT for number in (number_of(LIMIT), number_of(other), beside)}
    assert len(tenants) == 1, "all limits of a namespace"
    assert elsewhere >> TENANT_SHIFT not in tenants


def test_what_passed_elsewhere_counts_at_every_rate_for_a_short_time_at_most() -> None:
    memory = Memory()
    assert memory.zone.may_pass(b"a")
    (row,) = memory.books.rows()
    assert (row.asked, row.passed) == (1, 1)
    memory.books.charge(LIMIT, row.key, 1000.0)
    assert not memory.zone.may_pass(b"a")
    assert memory.zone.may_pass(b"b")
    memory.now += SECOND + SECOND // 2
    assert memory.zone.may_pass(b"a"), "a debt ends half a second after the rate itself allows"
    (row, _) = sorted(memory.books.rows(), key=lambda each: -each.asked)
    assert (row.asked, row.passed) == (3, 2)


def test_what_was_charged_too_much_is_given_back() -> None:
    memory = Memory()
    assert [memory.zone.may_pass(b"a") for _ in range(7)] == [True] * 6 + [False]
    (row,) = memory.books.rows()
    memory.books.charge(LIMIT, row.key, -2.0)
    assert [memory.zone.may_pass(b"a") for _ in range(3)] == [True] * 2 + [False]


def test_a_request_counts_as_often_as_it_weighs() -> None:
    memory = Memory()
    assert memory.zone.may_pass(b"a")
    (row,) = memory.books.rows()
    memory.books.weigh(row.limit, row.key, 2.0)
    assert [memory.zone.may_pass(b"a") for _ in range(4)] == [True] * 3 + [False]
    memory.books.weigh(row.limit, 99, 2.0)  # nobody's


def test_clients_that_have_left_are_not_told() -> None:
    memory = Memory()
    memory.zone.may_pass(b"a")
    memory.now += 11 * SECOND
    assert list(memory.books.rows()) == []


def test_a_client_that_was_forgotten_counts_as_a_new_one() -> None:
    memory = Memory()
    memory.books.weigh_new(2.0)
    arrivals = memory.books.arrivals()
    assert [memory.zone.may_pass(b"a") for _ in range(4)] == [True] * 3 + [False], "each request counts twice"
    assert memory.books.arrivals() != arrivals
    (row,) = memory.books.rows()
    memory.books.forget(row.limit, row.key)
    assert list(memory.books.rows()) == []
