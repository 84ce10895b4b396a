"""One limit for several replicas: what passes in all, simulated with the real tables and a delay between replicas."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from balancer.model.limits import LimitScope, Rate, RateLimit
from balancer.sharing.books import number_of
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import SECRET_BYTES, begin_memory, counting_in, limits_in, memory_bytes
from balancer.sharing.spending import TENANT_SHIFT, Spent
from ingress.replicas.spending import Charge, FleetSpending

STEP_NS = 2_000_000
TURN_STEPS = 250  # half a second
YOUNG_STEPS = 50  # a tenth of a second, while a client is new
CLIENT = b"192.0.2.1"


class Replica:
    """A replica with its own memory, which gets `demand` requests a second of one client."""

    def __init__(self, limit: RateLimit, demand: float, chance: Random) -> None:
        self.now = 10**9
        self.limit = limit
        self.demand = demand
        self.chance = chance
        memory = bytearray(memory_bytes(1))
        begin_memory(memory, bytes(SECRET_BYTES))
        counting = counting_in(memory, seats=1, seat=0, guard=Unguarded(), now=lambda: self.now)
        self.zone = counting.fleet_rates(limit.zone, limit.rates, number=number_of(limit))
        self.books = limits_in(memory, seats=1, guard=Unguarded(), now=lambda: self.now)
        self.spending = FleetSpending()
        self.told: dict[tuple[int, int], Spent] = {}
        self.heard: list[tuple[str, dict[tuple[int, int], tuple[int, int]]]] = []
        self.turned_at = self.now
        self.told_at = self.now
        self.arrivals = 0

    def step(self) -> int:
        self.now += STEP_NS
        comes = self.chance.random() < self.demand * STEP_NS / 1e9
        return comes and self.zone.may_pass(CLIENT)

    def turn(self, others: int) -> dict[tuple[int, int], tuple[int, int]]:
        """Charges what was heard, and returns what is news for others; as the conversation does at a tick."""
        for teller, news in self.heard:
            self.spending.hear(teller, news)
        self.heard.clear()
        self.books.weigh_new(1.0 + others)
        arrivals = self.books.arrivals()
        elapsed = self.now - self.turned_at
        is_due = self.now - self.told_at >= TURN_STEPS * STEP_NS
        if not is_due and arrivals == self.arrivals and not self.spending.has_young:
            return {}
        rows = list(self.books.rows())
        told = rows if is_due else self.spending.new_clients(rows)
        self.turned_at = self.now
        self.arrivals = arrivals
        for charge in self.spending.turn(rows, elapsed / 1e9, others=others):
            self.books.charge(self.limit, charge.key, charge.passed)
            if charge.factor is None:
                self.books.forget(charge.limit, charge.key)
            else:
                self.books.weigh(charge.limit, charge.key, charge.factor)
        if is_due:
            self.told_at = self.now
        news = {}
        for row in told:
            before = self.told.get((row.limit, row.key))
            news[row.limit, row.key] = (
                (row.asked, row.passed) if before is None else (row.asked - before.asked, row.passed - before.passed)
            )
            self.told[row.limit, row.key] = row
        return news


def passed_by_second(
    demands: Sequence[float],
    rate: int,
    seconds: int,
    *,
    burst: int = 0,
    lost: int = 0,
    then: tuple[int, Sequence[float]] | None = None,
    dead: frozenset[int] = frozenset(),
) -> list[int]:
    """How many requests all replicas let pass in each second. Each message of `lost` replicas is lost. From the second
    `then[0]` on the demands are `then[1]`, and those that are `dead` do nothing any more; they still count as up.
    """
    limit = RateLimit("shop/web", (Rate(rate, 1, burst),), scope=LimitScope.FLEET)
    replicas = [Replica(limit, demand, Random(number)) for number, demand in enumerate(demands)]
    for replica in replicas:
        replica.books.weigh_new(float(len(replicas) - lost))  # as long as they are up
    counts = [0] * seconds
    for step in range(seconds * 500):
        if then is not None and step == then[0] * 500:
            for replica, demand in zip(replicas, then[1], strict=True):
                replica.demand = demand
        gone = dead if then is not None and step >= then[0] * 500 else frozenset()
        counts[step // 500] += sum(replica.step() for number, replica in enumerate(replicas) if number not in gone)
        for number, replica in enumerate(replicas):
            if (step + 7 * number) % YOUNG_STEPS == 0 and number not in gone:  # replicas tick at different times
                news = replica.turn(others=len(replicas) - 1 - lost)
                if number >= lost:
                    for other in replicas:
                        if other is not replica and news:
                            other.heard.append((str(number), news))
    return counts


@pytest.mark.large
@pytest.mark.parametrize(("replicas", "rate"), [(10, 100), (12, 60)])
def test_many_replicas_let_one_rate_pass(replicas: int, rate: int) -> None:
    """Each of them alone is asked as often as all of them together may let pass."""
    counts = passed_by_second([float(rate)] * replicas, rate, 12, burst=10)
    assert counts[0] <= rate + 10 + replicas, "the rate, its burst, and one request of each replica"
    assert all(0.95 * rate <= count <= 1.1 * rate for count in counts[1:]), counts


@pytest.mark.large
@pytest.mark.parametrize("demands", [[40.0, 40.0], [72.0, 8.0], [30.0, 30.0, 30.0]])
def test_a_rate_of_twenty_is_one_of_twenty_for_all(demands: list[float]) -> None:
    counts = passed_by_second(demands, 20, 20, burst=5)
    assert sum(counts[3:]) == pytest.approx(20 * 17, rel=0.08), counts


@pytest.mark.large
@pytest.mark.parametrize("count", [2, 3])
def test_requests_that_move_to_another_replica_are_expected_at_the_first_one_for_a_second_at_most(count: int) -> None:
    quiet = [0.0] * (count - 1)
    counts = passed_by_second([100.0, *quiet], 20, 12, burst=20, then=(6, [*quiet, 100.0]))
    assert counts[0] <= 40
    assert sum(counts[2:6]) == pytest.approx(80, rel=0.05), counts
    assert 20 <= sum(counts[6:8]) <= 40 + (count - 1) * 10, counts
    assert sum(counts[8:]) == pytest.approx(80, rel=0.08), counts


@pytest.mark.large
@pytest.mark.parametrize("before", [[40.0, 40.0], [8.0, 72.0]])
def test_when_a_replica_dies_the_other_one_lets_the_whole_rate_pass_after_a_second(before: list[float]) -> None:
    """Long before it counts as silent. What was expected there is given back."""
    counts = passed_by_second(before, 20, 14, burst=20, then=(6, [80.0, 0.0]), dead=frozenset((1,)))
    assert sum(counts[2:6]) == pytest.approx(80, rel=0.1), counts
    assert 20 <= sum(counts[6:8]) <= 50, counts
    assert sum(counts[8:]) == pytest.approx(120, rel=0.05), counts


@pytest.mark.large
def test_requests_that_go_to_and_fro_pass_as_often_as_they_may() -> None:
    """Nine in ten come in at one of two replicas for six seconds, and at the other one after that."""
    counts = passed_by_second([72.0, 8.0], 20, 12, burst=20, then=(6, [8.0, 72.0]))
    assert all(20 * 0.8 <= count <= 20 * 1.2 for count in counts[2:6]), counts
    assert 20 <= sum(counts[6:8]) <= 50, counts
    assert sum(counts[8:]) == pytest.approx(80, rel=0.1), counts


def test_a_client_who_comes_back_pays_an_even_part_and_not_as_one_who_never_comes() -> None:
    """While nobody asks here, all that others let pass is charged here, and a request counts once for each replica."""
    spending = FleetSpending()
    asked, charges = 0, list[Charge]()
    for turn in range(30):
        asked += 10 if turn < 10 else 0
        spending.hear("1", {(1, 2): (60, 10)})
        charges = spending.turn([Spent(1, 2, asked, asked, 0)], 0.5, others=1)
    assert charges == [Charge(1, 2, 10.0, 2.0)]


@pytest.mark.large
@pytest.mark.parametrize("count", [2, 3])
def test_what_passes_too_much_when_a_client_spreads_is_bounded_by_the_delay(count: int) -> None:
    quiet = [0.0] * (count - 1)
    counts = passed_by_second([100.0, *quiet], 20, 12, burst=20, then=(6, [100.0] * count))
    assert sum(counts[6:9]) <= 60 + (count - 1) * 20 * 0.5 + count, counts
    assert sum(counts[9:]) == pytest.approx(60, rel=0.08), counts


def test_what_is_below_the_rate_passes_everywhere() -> None:
    counts = passed_by_second([6.0, 8.0], 20, 12, burst=20)
    chances = ((Random(0), 6.0 / 500), (Random(1), 8.0 / 500))
    assert sum(counts) == sum(chance.random() < share for chance, share in chances for _ in range(12 * 500))


def test_a_replica_that_nobody_hears_costs_no_more_than_alone() -> None:
    counts = passed_by_second([60.0, 60.0], 20, 12, burst=2, lost=2)
    assert all(30 <= count <= 42 for count in counts[1:]), counts


def known(row: Spent) -> FleetSpending:
    """A client whom nobody else knew for a second."""
    spending = FleetSpending()
    for _ in range(10):
        spending.turn([row], 0.1)
    return spending


def test_a_client_that_left_leaves_nothing_behind() -> None:
    spending = known(Spent(1, 2, 5, 5, 0))
    spending.hear("1", {(1, 2): (50, 10)})
    (first,) = spending.turn([Spent(1, 2, 5, 5, 0)], 0.5, others=1)
    assert first.passed == 10.0, "nobody had expected that"
    assert first.factor is not None
    assert first.factor > 1.0
    seen: list[Charge] = []
    for _ in range(40):
        seen += spending.turn([], 0.5)
    assert seen[-1] == Charge(1, 2, 0.0, None)
    assert spending.turn([], 0.5) == []


def test_a_row_that_was_taken_over_begins_anew() -> None:
    spending = known(Spent(1, 2, 100, 90, 0))
    spending.hear("1", {(1, 2): (10, 3)})
    assert spending.turn([Spent(1, 2, 1, 1, 0)], 0.5)[0].passed == pytest.approx(3.0, abs=0.5)


def test_a_new_client_gets_an_even_part_until_others_had_time_to_tell() -> None:
    spending, row = FleetSpending(), Spent(1, 2, 10, 5, 0)
    assert spending.new_clients([row]) == [row]
    assert spending.turn([row], 0.1, others=3) == [Charge(1, 2, 0.0, 4.0)]
    assert spending.has_young
    assert spending.new_clients([row]) == []
    seen = [charge for _ in range(6) for charge in spending.turn([row], 0.1, others=3)]
    assert seen == [Charge(1, 2, -15.0, 1.0)], "nobody else knows it: what was withheld is given back"
    assert not spending.has_young


def test_others_cannot_make_it_grow_without_bound() -> None:
    spending = FleetSpending()
    spending.hear("1", {(1, key): (1, 1) for key in range(1, 20_000)})
    assert len(spending.turn([], 0.5)) <= 8192


def test_clients_of_one_namespace_leave_room_for_those_of_another() -> None:
    spending, modest, greedy = FleetSpending(), 1 << TENANT_SHIFT, 2 << TENANT_SHIFT
    spending.hear("b", {(greedy + key % 2, key): (1, 1) for key in range(1, 20_000)})
    told = spending.turn([Spent(modest, 5, 3, 3, 1)], 0.5, others=1)
    assert [each for each in told if each.limit == modest] == [Charge(modest, 5, 0.0, 2.0)]
    for _ in range(30):
        spending.turn([], 0.5, others=1)
    spending.hear("b", {(greedy, 1): (1, 1)})
    assert [each.limit for each in spending.turn([], 0.5, others=1)] == [greedy], "who is quiet gives room back"
