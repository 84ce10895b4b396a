"""Counting clients: whose requests count together, in memory that does not grow."""

from __future__ import annotations

import pytest

from balancer.model.limits import Rate
from balancer.sharing.counting import Counting, FlightZone, RateZone
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import SECRET_BYTES, begin_memory, counting_in, memory_bytes, vacate_seat

SECOND = 1_000_000_000
MINUTELY = Rate(1, 60, 0)


class Replica:
    """The memory of a replica on a clock that stands until it is set."""

    def __init__(self, seats: int = 2, secret: bytes = bytes(range(SECRET_BYTES))) -> None:
        self.now = 10 * SECOND
        self.seats = seats
        self.buffer = bytearray(memory_bytes(seats))
        begin_memory(self.buffer, secret)

    def worker(self, seat: int = 0) -> Counting:
        return counting_in(self.buffer, seats=self.seats, seat=seat, guard=Unguarded(), now=lambda: self.now)

    def rates(self, *rates: Rate, zone: str = "shop/web", seat: int = 0) -> RateZone:
        return self.worker(seat).rates(zone, rates or (MINUTELY,))

    def flights(self, most: int = 1, seat: int = 0) -> FlightZone:
        return self.worker(seat).flights("shop/web", most)


def test_workers_count_together_and_zones_apart() -> None:
    replica = Replica()
    assert replica.rates().may_pass(b"a")
    assert not replica.rates(seat=1).may_pass(b"a")
    assert replica.rates(seat=1).may_pass(b"b")
    assert replica.rates(zone="shop/other").may_pass(b"a")
    replica.now += 60 * SECOND
    assert replica.rates().may_pass(b"a")


def test_a_request_counts_at_both_rates_or_at_none() -> None:
    replica = Replica()
    zone = replica.rates(Rate(1, 60, 5), Rate(2, 1, 1))
    assert [zone.may_pass(b"a") for _ in range(5)] == [True] * 2 + [False] * 3
    passed = 2
    for _ in range(8):
        replica.now += SECOND // 2
        passed += zone.may_pass(b"a")
    assert passed == 6  # what the fast rate refused was given back to the slow one


def test_requests_in_flight_are_given_back_and_dropped_with_their_worker() -> None:
    replica = Replica()
    first, second = replica.flights(), replica.flights(seat=1)
    place = first.enter(b"a")
    assert place is not None
    assert second.enter(b"a") is None
    first.leave(place)
    assert second.enter(b"a") is not None
    assert first.enter(b"a") is None
    vacate_seat(replica.buffer, seats=2, seat=1)
    assert first.enter(b"a") is not None


@pytest.mark.large
@pytest.mark.parametrize("rate", [MINUTELY, Rate(1, 1, 0)], ids=["minute", "second"])
def test_fifty_thousand_addresses_are_limited_each_in_memory_that_does_not_grow(rate: Rate) -> None:
    replica = Replica()
    zone, size = replica.rates(rate), len(replica.buffer)
    clients = [b"%d" % number for number in range(50_000)]
    assert size < 16 * 1024 * 1024
    assert sum(zone.may_pass(each) for each in clients) >= 49_900  # a set in ten thousand is full
    assert not any(zone.may_pass(each) for each in clients)
    assert len(replica.buffer) == size
