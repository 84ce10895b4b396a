"""The table of due times: exact while there is room, and stricter, never laxer, where there is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.sharing.guards import Unguarded
from balancer.sharing.rate_table import SET_BYTES, RateTable
from balancer.sharing.rates import Schedule, due_after
from tests.properties import examples

SLOW, FAST = Schedule(100, 500), Schedule(10, 50)


def table(sets: int = 1) -> RateTable:
    return RateTable(bytearray(sets * SET_BYTES), start=0, sets=sets, guard=Unguarded())


def test_a_key_has_its_own_count() -> None:
    rates = table()
    assert [rates.take(1, SLOW, 0) for _ in range(7)] == [True] * 6 + [False]
    assert rates.take(2, SLOW, 0)
    assert rates.take(1, SLOW, 100)
    assert not rates.take(1, SLOW, 199)


def test_what_is_given_back_never_counted() -> None:
    rates = table()
    for _ in range(50):
        assert rates.take(1, SLOW, 0)
        rates.give_back(1, SLOW)
    rates.give_back(2, SLOW)
    assert [rates.take(1, SLOW, 0) for _ in range(7)] == [True] * 6 + [False]


def test_what_has_passed_makes_room() -> None:
    rates = table()
    for key in range(1, 9):
        assert rates.take(key, FAST, 0)
    assert rates.take(9, FAST, 10)
    assert [rates.take(9, FAST, 10) for _ in range(6)] == [True] * 5 + [False]


def test_a_full_set_gives_a_new_key_the_times_of_the_one_it_displaces() -> None:
    rates = table()
    for key in range(1, 9):
        assert all(rates.take(key, SLOW, 0) for _ in range(6))
    assert not rates.take(9, SLOW, 0)  # due at 600, as all others
    assert rates.take(9, SLOW, 100)
    assert not rates.take(9, SLOW, 100)


KEYS = st.integers(1, 24)
STEPS = st.lists(st.tuples(KEYS, st.integers(0, 30)), max_size=300)


@examples(60)
@given(STEPS)
def test_no_flood_of_keys_gives_a_key_more_than_it_would_have_alone(steps: list[tuple[int, int]]) -> None:
    rates, alone, now = table(), dict[int, int](), 0
    for key, pause in steps:
        now += pause
        schedule = SLOW if key % 2 else FAST
        if rates.take(key, schedule, now):
            due = due_after(schedule, alone.get(key, 0), now)
            assert due is not None
            alone[key] = due


@examples(40)
@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 30)), max_size=200))
def test_with_room_for_all_the_table_is_exact(steps: list[tuple[int, int]]) -> None:
    rates, alone, now = table(), dict[int, int](), 0
    for key, pause in steps:
        now += pause
        due = due_after(SLOW, alone.get(key, 0), now)
        assert rates.take(key, SLOW, now) is (due is not None)
        alone[key] = due if due is not None else alone[key]


def test_what_passed_elsewhere_counts_here() -> None:
    rates = table()
    rates.charge(1, SLOW, 4, 0, ahead=0)
    assert [rates.take(1, SLOW, 0) for _ in range(3)] == [True] * 2 + [False]


def test_a_debt_of_what_passed_elsewhere_ends_soon() -> None:
    rates = table()
    rates.charge(1, SLOW, 10**9, 0, ahead=250)
    assert not rates.take(1, SLOW, 249)
    assert rates.take(1, SLOW, 250)


def test_a_charge_never_lowers_a_debt() -> None:
    rates = table()
    rates.charge(1, SLOW, 100, 0, ahead=1000)
    rates.charge(1, SLOW, 1, 0, ahead=0)
    assert not rates.take(1, SLOW, 999)
    assert rates.take(1, SLOW, 1000)
