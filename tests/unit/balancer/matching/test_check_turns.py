"""Tenants take turns, then their paths; a thread stays free for another tenant; memory is lost by who has most."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.check_turns import CheckTurns, Remembered


class Check(NamedTuple):
    tenant: str
    asker: str
    number: int = 0


def test_paths_of_a_tenant_take_turns_within_its_own() -> None:
    turns = CheckTurns[Check](1)
    waiting = [Check("a", "x", 1), Check("a", "x", 2), Check("a", "y"), Check("b", "z", 1), Check("b", "z", 2)]
    for each in waiting:
        turns.add(each)
    order = []
    while (check := turns.take()) is not None:
        order.append(check)
        turns.ended(check)
    assert order == [waiting[0], waiting[3], waiting[2], waiting[4], waiting[1]]


def test_what_is_removed_gets_no_turn() -> None:
    turns = CheckTurns[Check](2)
    turns.add(Check("a", "x"))
    turns.remove(Check("a", "x"))
    assert turns.take() is None


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 4))
def test_no_tenant_takes_all_threads_and_all_get_their_turn(tenants: list[str], threads: int) -> None:
    turns = CheckTurns[Check](threads)
    for number, tenant in enumerate(tenants):
        turns.add(Check(tenant, "path", number))
    running: list[Check] = []
    ended = 0
    while True:
        while (check := turns.take()) is not None:
            running.append(check)
        if not running:
            break
        assert len(running) <= threads
        assert all(sum(each.tenant == tenant for each in running) <= max(1, threads - 1) for tenant in "abc")
        turns.ended(running.pop(0))
        ended += 1
    assert ended == len(tenants)


def test_who_remembers_most_forgets_first_and_what_was_used_longest_ago() -> None:
    memory = Remembered(3)
    memory.add("modest", b"m")
    for name in (b"1", b"2"):
        memory.add("greedy", name)
    assert memory.knows("greedy", b"1")
    memory.add("greedy", b"3")
    assert [memory.knows("greedy", name) for name in (b"1", b"2", b"3")] == [True, False, True]
    assert memory.knows("modest", b"m")
    assert not memory.knows("modest", b"1")
