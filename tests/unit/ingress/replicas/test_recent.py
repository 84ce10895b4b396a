"""Rows of names that were told lately: how many, and which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingress.replicas.recent import EXCHANGES, NAMES_MOST, RecentRows, remembered

MOST = 6
MESSAGES = st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=MOST), max_size=4 * EXCHANGES)


@given(MESSAGES)
def test_memory_is_bounded_and_names_that_were_told_last_always_fit(messages: list[set[int]]) -> None:
    recent, newest = RecentRows[int, int](MOST), dict[int, int]()
    for number, names in enumerate(messages):
        recent.learn(dict.fromkeys(names, number))
        newest |= dict.fromkeys(names, number)
        assert len(recent.rows) <= MOST
        beyond = sorted(newest.values(), reverse=True)[MOST:]  # of names that were told together any may go
        since = max([number - EXCHANGES, *beyond])
        assert {place for place in newest.items() if place[1] > since} <= recent.rows.items()


def test_what_is_told_no_more_goes_and_what_is_told_with_each_20th_message_stays() -> None:
    recent = RecentRows[str, int]()
    recent.learn({"gone": 1, "rare": 1})
    for number in range(2 * EXCHANGES):
        recent.learn({"often": number} | ({"rare": number} if number % 20 == 19 else {}))
    assert recent.rows == {"often": 2 * EXCHANGES - 1, "rare": 119}


def test_a_message_without_rows_makes_nobody_forget() -> None:
    recent = RecentRows[str, int]()
    recent.learn({"a": 1})
    for _ in range(2 * EXCHANGES):
        recent.learn({})
    assert recent.rows == {"a": 1}


def test_of_more_names_than_others_remember_each_replica_takes_the_same_ones() -> None:
    names = [f"shop/{number:05}" for number in range(NAMES_MOST + 5)]
    assert remembered(names[:9]) == {*names[:9]}
    assert remembered(names) == remembered(names[::-1]) == {*names[:NAMES_MOST]}


def test_a_namespace_with_too_many_names_leaves_those_of_another() -> None:
    names = [f"greedy/{number:05}" for number in range(NAMES_MOST + 5)]
    known = remembered([*names, "modest/a", "modest/b"])
    assert known == {*names[: NAMES_MOST - 2], "modest/a", "modest/b"}
