"""A bound is divided among tenants: a greedy one never takes what a modest one needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.runtime.shares import FairShares


def take_all(shares: FairShares, *tenants: str) -> dict[str, int]:
    """Each tenant in turn takes one unit until nobody gets another."""
    taken = dict.fromkeys(tenants, 0)
    while any(grants := [shares.take(tenant) for tenant in tenants]):
        for tenant, granted in zip(tenants, grants, strict=True):
            taken[tenant] += granted
    return taken


@pytest.mark.parametrize("count", [1, 2, 4])
def test_greedy_tenants_leave_a_share_like_theirs(count: int) -> None:
    shares = FairShares(60)
    taken = take_all(shares, *map(str, range(count)))
    assert set(taken.values()) == {60 // (count + 1)}
    assert shares.free == 60 // (count + 1)


def test_a_modest_tenant_gets_units_beside_a_greedy_one() -> None:
    shares = FairShares(8)
    take_all(shares, "greedy")
    assert shares.take("modest")
    assert shares.take("modest")


def test_units_that_come_back_can_be_taken_again() -> None:
    shares = FairShares(4)
    assert shares.take("shop", 2)
    assert not shares.take("shop")
    shares.give_back("shop", 2)
    assert shares.held("shop") == 0
    assert shares.take("shop", 2)


def test_what_is_larger_than_a_share_is_refused_whole() -> None:
    shares = FairShares(10)
    assert not shares.take("shop", 6)
    assert (shares.free, shares.held("shop")) == (10, 0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5), st.booleans())))
def test_no_unit_is_lost_and_nobody_holds_more_than_was_free(steps: list[tuple[str, int, bool]]) -> None:
    shares = FairShares(20)
    held: dict[str, int] = {"a": 0, "b": 0, "c": 0}
    for tenant, units, takes in steps:
        if takes:
            assert shares.has_room(tenant, units) == (units + held[tenant] <= shares.free - units)
            if shares.take(tenant, units):
                held[tenant] += units
                assert held[tenant] <= shares.free
        elif held[tenant] >= units:
            shares.give_back(tenant, units)
            held[tenant] -= units
        assert shares.free + sum(held.values()) == 20
        assert all(shares.held(each) == held[each] for each in held)
