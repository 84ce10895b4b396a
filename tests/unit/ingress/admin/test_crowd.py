"""Who leaves for a newcomer: a connection of the address that has most of them, the one silent for longest."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.admin.crowd import Crowd


def entered(crowd: Crowd[str], address: str, *names: str) -> list[str | None]:
    """Who left for each of `names`, which arrive in this order."""
    return [crowd.enter(name, address) for name in names]


def test_an_address_has_at_most_half_and_then_displaces_its_oldest() -> None:
    crowd = Crowd[str](4)
    assert entered(crowd, "a", "a1", "a2", "a3", "a4") == [None, None, "a1", "a2"]
    assert (len(crowd), crowd.held("a")) == (2, 2)


def test_a_crowd_of_one_address_displaces_only_itself() -> None:
    crowd = Crowd[str](4)
    entered(crowd, "probe", "p1")
    entered(crowd, "scrape", "s1")
    left = entered(crowd, "greedy", *(f"g{number}" for number in range(20)))
    assert {each for each in left if each is not None and not each.startswith("g")} == set()
    assert (crowd.held("probe"), crowd.held("scrape"), crowd.held("greedy")) == (1, 1, 2)


def test_a_newcomer_takes_the_place_of_the_greediest() -> None:
    crowd = Crowd[str](6)
    entered(crowd, "a", "a1", "a2", "a3")
    entered(crowd, "b", "b1", "b2")
    entered(crowd, "c", "c1")
    assert entered(crowd, "d", "d1") == ["a1"]


def test_among_equal_addresses_the_one_that_is_silent_for_longest_leaves() -> None:
    crowd = Crowd[str](3)
    for address in "abc":
        entered(crowd, address, f"{address}1")
    crowd.active("a1")
    assert entered(crowd, "d", "d1") == ["b1"]


def test_whoever_asks_stays_longer_than_who_does_not() -> None:
    crowd = Crowd[str](4)
    entered(crowd, "a", "a1", "a2")
    crowd.active("a1")
    assert entered(crowd, "a", "a3") == ["a2"]


def test_who_has_left_is_not_counted_and_may_leave_again() -> None:
    crowd = Crowd[str](4)
    entered(crowd, "a", "a1", "a2")
    for _ in range(2):
        crowd.leave("a1")
        crowd.active("a1")
    assert (len(crowd), crowd.held("a")) == (1, 1)
    assert entered(crowd, "a", "a3") == [None]


def test_the_first_to_leave_is_told_also_without_a_newcomer() -> None:
    crowd = Crowd[str](4)
    assert crowd.expel() is None
    entered(crowd, "a", "a1")
    entered(crowd, "b", "b1", "b2")
    assert [crowd.expel() for _ in range(4)] == ["b1", "a1", "b2", None]


@pytest.mark.parametrize("most", [2, 3, 4, 9])
@given(steps=st.lists(st.tuples(st.sampled_from(["enter", "active", "leave"]), st.integers(0, 5)), max_size=120))
def test_no_bound_is_ever_passed_and_a_newcomer_stays(most: int, steps: list[tuple[str, int]]) -> None:
    crowd, numbers, here = Crowd[int](most), count(), dict[int, str]()
    for step, choice in steps:
        if step == "enter":
            member, address = next(numbers), str(choice)
            held = {each: crowd.held(each) for each in here.values()}
            here[member] = address
            leaver = crowd.enter(member, address)
            assert leaver != member
            if leaver is not None:
                left = here.pop(leaver)
                assert left == address or held[left] == max(held.values())
        elif here:
            member = list(here)[choice % len(here)]
            if step == "active":
                crowd.active(member)
            else:
                crowd.leave(member)
                del here[member]
        assert len(crowd) == len(here) <= most
        assert all(crowd.held(each) <= max(1, most // 2) for each in here.values())
