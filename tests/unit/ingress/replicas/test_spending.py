"""One limit for several replicas: what passes in all, simulated with the real tables and a delay between replicas."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from balancer.model.limits import LimitScope, Rate, RateLimit
from balancer.sharing.books import number_of
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import SECRET_BYTES, begin_memory, counting_in, limits_in, memory_bytes
from balancer.sharing.spending import Spent
from ingress.replicas.spending import Charge, FleetSpending

STEP_NS = 2_000_000
TURN_STEPS = 250  # half a second
CLIENT = b"192.0.2.1"


class Replica:
    """A replica with its own memory, which gets `demand` requests a second of one client."""

    def __init__(self, limit: RateLimit, demand: float, chance: Random) -> None:
        self.now = 10**9
        self.limit, self.demand, self.chance = limit, demand, chance
        memory = bytearray(memory_bytes(1))
        begin_memory(memory, bytes(SECRET_BYTES))
        counting = counting_in(memory, seats=1, seat=0, guard=Unguarded(), now=lambda: self.now)
        self.zone = counting.fleet_rates(limit.zone, limit.rates, number=number_of(limit))
        self.books = limits_in(memory, seats=1, guard=Unguarded(), now=lambda: self.now)
        self.spending = FleetSpending()
        self.told: dict[tuple[int, int], Spent] = {}

    def step(self) -> int:
        self.now += STEP_NS
        comes = self.chance.random() < self.demand * STEP_NS / 1e9
        return comes and self.zone.may_pass(CLIENT)

    def turn(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Charges what was heard, and returns what is news for others."""
        rows = list(self.books.rows())
        for charge in self.spending.turn(rows, TURN_STEPS * STEP_NS / 1e9):
            self.books.charge(self.limit, charge.key, charge.passed)
            self.books.weigh(charge.limit, charge.key, charge.factor)
        news = {}
        for row in rows:
            before = self.told.get((row.limit, row.key))
            news[row.limit, row.key] = (
                (row.asked, row.passed) if before is None else (row.asked - before.asked, row.passed - before.passed)
            )
            self.told[row.limit, row.key] = row
        return news


def passed_by_second(demands: Sequence[float], rate: int, seconds: int, *, burst: int = 0, lost: int = 0) -> list[int]:
    """How many requests all replicas let pass in each second. Each message of `lost` replicas is lost."""
    limit = RateLimit("shop/web", (Rate(rate, 1, burst),), scope=LimitScope.FLEET)
    replicas = [Replica(limit, demand, Random(number)) for number, demand in enumerate(demands)]
    counts = [0] * seconds
    for step in range(seconds * 500):
        counts[step // 500] += sum(replica.step() for replica in replicas)
        if step % TURN_STEPS == TURN_STEPS - 1:
            told = [replica.turn() for replica in replicas]
            for number, news in enumerate(told):
                if number >= lost:
                    for other, replica in enumerate(replicas):
                        if other != number:
                            replica.spending.hear(news)
    return counts


def test_ten_replicas_let_one_rate_pass() -> None:
    counts = passed_by_second([100.0] * 10, 100, 12, burst=10)
    assert all(90 <= count <= 110 for count in counts[3:]), counts
    assert sum(counts[3:]) == pytest.approx(900, rel=0.04), counts
    assert counts[0] <= 10 * 110, "at first each of them knows itself alone"


@pytest.mark.parametrize("demands", [[40.0, 40.0], [72.0, 8.0], [30.0, 30.0, 30.0]])
def test_a_rate_of_twenty_is_one_of_twenty_for_all(demands: list[float]) -> None:
    counts = passed_by_second(demands, 20, 20, burst=5)
    assert sum(counts[3:]) == pytest.approx(20 * 17, rel=0.08), counts


def test_what_is_below_the_rate_passes_everywhere() -> None:
    counts = passed_by_second([6.0, 8.0], 20, 12, burst=20)
    chances = ((Random(0), 6.0 / 500), (Random(1), 8.0 / 500))
    assert sum(counts) == sum(chance.random() < share for chance, share in chances for _ in range(12 * 500))


def test_a_replica_that_nobody_hears_costs_no_more_than_alone() -> None:
    counts = passed_by_second([60.0, 60.0], 20, 12, burst=2, lost=2)
    assert all(30 <= count <= 42 for count in counts[1:]), counts


def test_a_client_that_left_leaves_nothing_behind() -> None:
    spending = FleetSpending()
    spending.hear({(1, 2): (50, 10)})
    first = spending.turn([Spent(1, 2, 5, 5, 0)], 0.5)
    assert first[0].passed == 10.0
    assert first[0].factor > 1.0
    seen: list[Charge] = []
    for _ in range(40):
        seen += spending.turn([], 0.5)
    assert seen[-1] == Charge(1, 2, 0.0, 1.0)
    assert spending.turn([], 0.5) == []


def test_a_row_that_was_taken_over_begins_anew() -> None:
    spending = FleetSpending()
    spending.turn([Spent(1, 2, 100, 90, 0)], 0.5)
    spending.hear({(1, 2): (10, 3)})
    assert spending.turn([Spent(1, 2, 1, 1, 0)], 0.5)[0].passed == pytest.approx(3.0, abs=0.5)


def test_others_cannot_make_it_grow_without_bound() -> None:
    spending = FleetSpending()
    spending.hear({(1, key): (1, 1) for key in range(1, 20_000)})
    assert len(spending.turn([], 0.5)) <= 8192
