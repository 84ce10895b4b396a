"""Which process of isolated hooks answers which namespace: its own one, while there is room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.hook_hosts import START_SECONDS
from balancer.connections.hook_housing import (
    APART,
    APART_SECONDS,
    COMMON,
    IDLE_SECONDS,
    PLACE_SECONDS,
    HookHousing,
)
from zonal_hooks.declaring import TIMEOUT_SECONDS_MOST


def test_each_namespace_has_a_process_of_its_own() -> None:
    housing = HookHousing()
    assert [housing.home(namespace, 0.0) for namespace in ("shop", "blog", "shop", "")] == ["shop", "blog", "shop", ""]
    assert "shop" in housing
    assert "other" not in housing


def test_beyond_the_bound_late_comers_share_one() -> None:
    housing = HookHousing(2)
    assert [housing.home(namespace, 0.0) for namespace in "abcd"] == ["a", "b", COMMON, COMMON]
    assert housing.home("a", 1.0) == "a"


def test_the_process_that_nobody_asked_for_longest_makes_place() -> None:
    housing = HookHousing(2)
    for at, namespace in enumerate("aba"):
        housing.home(namespace, float(at))
    assert housing.home("c", PLACE_SECONDS) == COMMON
    assert housing.home("c", 1.0 + PLACE_SECONDS) == "c"
    assert "b" not in housing
    assert "a" in housing


class Counting(float):
    """A time that notes how often it was compared or subtracted."""

    asked = 0

    def __lt__(self, other: float) -> bool:
        Counting.asked += 1
        return super().__lt__(other)

    def __rsub__(self, other: float) -> float:
        Counting.asked += 1
        return super().__rsub__(other)


def test_a_call_beyond_the_bound_looks_at_one_process_however_many_there_are() -> None:
    housing = HookHousing(1000)
    for number in range(1000):
        housing.home(f"tenant-{number}", Counting(number / 1000))
    Counting.asked = 0
    assert housing.home("late", 2.0) == COMMON
    assert Counting.asked == 1


def test_no_process_makes_place_while_a_call_is_under_way() -> None:
    assert PLACE_SECONDS > START_SECONDS + TIMEOUT_SECONDS_MOST


def test_who_lost_a_process_shares_none_with_others_for_a_while() -> None:
    housing = HookHousing(1)
    housing.home("first", 0.0)
    assert housing.home("greedy", 0.0) == COMMON
    assert housing.lose("greedy", 1.0)
    assert not housing.lose("greedy", 2.0), "known already"
    assert (housing.home("greedy", 3.0), housing.home("modest", 3.0)) == (APART, COMMON)
    housing.home("first", 1.0 + APART_SECONDS)
    assert housing.home("greedy", 1.0 + APART_SECONDS) == APART
    assert housing.home("greedy", 2.0 + APART_SECONDS) == COMMON
    assert housing.lose("greedy", 2.0 + APART_SECONDS), "forgotten since"


def test_the_oldest_losers_are_forgotten_when_there_are_too_many() -> None:
    housing = HookHousing(1)
    housing.home("first", 0.0)
    for number in range(1025):
        housing.lose(f"loser-{number}", 0.0)
    assert [housing.home(f"loser-{number}", 0.0) for number in (0, 1)] == [COMMON, APART]


def test_processes_that_nobody_asks_end() -> None:
    housing = HookHousing(1)
    for namespace in ("own", "shares"):
        housing.home(namespace, 0.0)
    housing.home("own", 1.0)
    housing.end_idle(IDLE_SECONDS)
    assert ("own" in housing, COMMON in housing) == (True, False)
    housing.end_idle(1.0 + IDLE_SECONDS)
    assert "own" not in housing


def test_who_asked_lately_is_busy() -> None:
    housing = HookHousing(2)
    for at, namespace in enumerate(("idle", "busy", "shares")):
        housing.home(namespace, float(at))
    assert housing.busy(PLACE_SECONDS) == ("busy",)


MOST = 3
_SECONDS = st.sampled_from((0.0, 1.0, PLACE_SECONDS / 2, PLACE_SECONDS, IDLE_SECONDS, APART_SECONDS))
_STEPS = st.lists(st.tuples(st.sampled_from("abcde"), st.booleans(), _SECONDS), max_size=60)


@given(_STEPS)
def test_who_lost_a_process_never_meets_who_did_not_and_who_asked_lately_keeps_its_own(
    steps: list[tuple[str, bool, float]],
) -> None:
    housing, now = HookHousing(MOST), 0.0
    lost_at: dict[str, float] = {}
    asked_at: dict[str, float] = {}  # of those with a process of their own
    for namespace, loses, seconds in steps:
        now += seconds
        home = housing.home(namespace, now)
        recent = {each for each, at in asked_at.items() if now - at < PLACE_SECONDS}
        has_lost = namespace in lost_at and now < lost_at[namespace] + APART_SECONDS
        assert home in {namespace, APART if has_lost else COMMON}
        assert home == namespace or (len(recent) == MOST and namespace not in recent)
        if home == namespace:
            asked_at[namespace] = now
        assert all(each in housing for each in recent)
        assert sum(each in housing for each in "abcde") <= MOST
        if loses:
            assert housing.lose(namespace, now) != has_lost
            lost_at[namespace] = now
        housing.end_idle(now)


@given(_STEPS)
@pytest.mark.parametrize("most", [5, 6])
def test_namespaces_within_the_bound_never_share(most: int, steps: list[tuple[str, bool, float]]) -> None:
    housing, now = HookHousing(most), 0.0
    for namespace, loses, seconds in steps:
        now += seconds
        assert housing.home(namespace, now) == namespace
        if loses:
            housing.lose(namespace, now)
