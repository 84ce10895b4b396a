"""What was spent: running totals of each client of a limit, in memory that does not grow."""

from __future__ import annotations

from balancer.sharing.guards import Unguarded
from balancer.sharing.spending import SPENDING_BYTES, SPENDING_ROWS, TENANT_SHIFT, Spending, Spent


def spending() -> Spending:
    return Spending(bytearray(8 + SPENDING_BYTES), start=8, guard=Unguarded())


def test_totals_run_for_each_client_of_each_limit() -> None:
    counts = spending()
    for passed, now in ((True, 10), (False, 11), (True, 12)):
        counts.count(7, 5, passed=passed, now=now)
    counts.count(8, 5, passed=True, now=20)
    assert sorted(counts.rows(0)) == [Spent(7, 5, 3, 2, 12), Spent(8, 5, 1, 1, 20)]


def test_only_clients_who_came_lately_are_told() -> None:
    counts = spending()
    counts.count(7, 5, passed=True, now=10)
    counts.count(7, 6, passed=True, now=20)
    assert [row.key for row in counts.rows(11)] == [6]


def test_a_new_client_takes_the_row_that_was_asked_about_least_lately() -> None:
    counts = spending()
    same_set = [1 + 512 * number for number in range(9)]
    for now, key in enumerate(same_set[:8], 1):
        counts.count(7, key, passed=True, now=now)
    counts.count(7, same_set[0], passed=True, now=100)
    counts.count(7, same_set[8], passed=False, now=101)
    rows = {row.key: row for row in counts.rows(0)}
    assert same_set[1] not in rows
    assert rows[same_set[8]] == Spent(7, same_set[8], 1, 0, 101)
    assert rows[same_set[0]].asked == 2


def test_a_flood_at_the_limits_of_one_namespace_leaves_the_clients_of_another() -> None:
    counts, (modest, *greedy) = spending(), [(tenant << TENANT_SHIFT) + 1 for tenant in (1, 2, 2)]
    counts.count(modest, 5, passed=True, now=1)
    for number in range(1, 100):
        counts.count(greedy[number % 2] + number % 2, 5 + 512 * number, passed=True, now=1 + number)
    counts.count(modest, 5, passed=True, now=200)
    assert Spent(modest, 5, 2, 2, 200) in counts.rows(0)
    assert len(list(counts.rows(0))) == 8
    for number in range(100, 103):
        counts.count(modest, 5 + 512 * number, passed=True, now=200 + number)
    assert sum(row.limit == modest for row in counts.rows(0)) == 4, "who has two rows more gives way"
    counts.count(modest, 5 + 512 * 103, passed=True, now=400)
    assert sum(row.limit == modest for row in counts.rows(0)) == 4, "and then nobody but who comes"


def test_many_clients_stay_within_the_rows() -> None:
    counts = spending()
    for key in range(1, 10_000):
        counts.count(7, key, passed=True, now=key)
    assert len(list(counts.rows(0))) == SPENDING_ROWS


def test_a_factor_belongs_to_a_client_until_its_row_is_taken_over() -> None:
    counts = spending()
    counts.weigh(7, 5, 3.0)
    assert counts.factor(7, 5) == 1.0, "who has no row has no factor"
    counts.count(7, 5, passed=True, now=10)
    counts.weigh(7, 5, 3.5)
    counts.count(7, 5, passed=True, now=11)
    assert counts.factor(7, 5) == 3.5
    assert counts.factor(8, 5) == 1.0
    for number in range(1, 9):
        counts.count(7, 5 + 512 * number, passed=True, now=11 + number)
    counts.count(7, 5, passed=True, now=30)
    assert counts.factor(7, 5) == 1.0


def test_a_client_that_nobody_has_weighed_counts_as_new_clients_do() -> None:
    counts = spending()
    counts.count(7, 5, passed=True, now=10)
    counts.count(7, 6, passed=True, now=10)
    counts.weigh(7, 5, 1.5)
    counts.weigh_new(3.0)
    assert [counts.factor(7, key) for key in (5, 6, 99)] == [1.5, 3.0, 3.0]


def test_new_clients_are_noticed_and_others_are_not() -> None:
    counts = spending()
    before = counts.arrivals()
    counts.count(7, 5, passed=True, now=10)
    after = counts.arrivals()
    counts.count(7, 5, passed=True, now=11)
    assert before != after == counts.arrivals()


def test_a_client_that_was_forgotten_is_new() -> None:
    counts = spending()
    counts.count(7, 5, passed=True, now=10)
    counts.weigh(7, 5, 2.0)
    counts.forget(7, 5)
    counts.forget(7, 6)  # nobody's
    assert list(counts.rows(0)) == []
    counts.count(7, 5, passed=True, now=12)
    assert list(counts.rows(0)) == [Spent(7, 5, 1, 1, 12)]
