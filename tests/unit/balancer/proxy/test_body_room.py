"""What kept bodies take of a worker is divided among tenants, counted to the unit, and given back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.proxy.body_room import FILES_MOST, BodyRoom, Held, files_for
from balancer.runtime.shares import FairShares


@given(st.lists(st.integers(0, 40), max_size=20))
def test_a_tenant_holds_half_at_most_and_gives_all_of_it_back(units: list[int]) -> None:
    shares = FairShares(100)
    held = Held(shares, "shop")
    taken = sum(each for each in units if held.take(each))
    assert held.units == shares.held("shop") == taken <= 50
    held.end()
    held.end()
    assert shares.free == 100


def test_the_last_reference_gives_back() -> None:
    shares = FairShares(100)
    held = Held(shares, "shop")
    assert held.take(30)
    del held
    assert shares.free == 100


@pytest.mark.parametrize(
    ("descriptors", "files"), [(64, 32), (1024, 51), (10_000, 500), (1_048_576, FILES_MOST), (2**63 - 1, FILES_MOST)]
)
def test_files_are_half_of_the_descriptors_that_no_client_needs(descriptors: int, files: int) -> None:
    assert files_for(descriptors) == files


def test_there_is_one_warning_in_ten_seconds_and_it_counts_the_others() -> None:
    room = BodyRoom()
    assert [room.warns(now) for now in (5.0, 6.0, 14.9, 15.0, 15.1, 40.0)] == [1, None, None, 3, None, 2]
