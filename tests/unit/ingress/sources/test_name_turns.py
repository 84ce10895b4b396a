"""Whose look-up is next: namespaces take turns, and places stay free for those that hold fewer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingress.sources.name_turns import NameTurns


def taken(turns: NameTurns[str]) -> list[str]:
    found = []
    while (look_up := turns.take()) is not None:
        found.append(look_up)
    return found


def test_a_greedy_namespace_gets_half_of_the_places_and_a_modest_one_begins_at_once() -> None:
    turns: NameTurns[str] = NameTurns(10)
    for number in range(1000):
        turns.add("greedy", f"greedy-{number}")
    assert taken(turns) == [f"greedy-{number}" for number in range(5)]
    turns.add("modest", "modest-0")
    assert taken(turns) == ["modest-0"]


def test_namespaces_take_turns() -> None:
    turns: NameTurns[str] = NameTurns(2)
    for number in range(3):
        turns.add("greedy", f"greedy-{number}")
    assert taken(turns) == ["greedy-0"]
    turns.add("modest", "modest-0")
    turns.ended("greedy")
    assert taken(turns) == ["greedy-1"]
    turns.ended("greedy")
    assert taken(turns) == ["modest-0"]
    turns.ended("modest")
    assert taken(turns) == ["greedy-2"]


def test_who_is_removed_takes_no_place() -> None:
    turns: NameTurns[str] = NameTurns(2)
    turns.add("shop", "a")
    turns.add("shop", "b")
    turns.remove("shop", "a")
    turns.remove("shop", "unknown")
    turns.remove("other", "unknown")
    assert taken(turns) == ["b"]


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(2, 12))
def test_every_look_up_gets_its_place_once_if_places_come_back(owners: list[int], places: int) -> None:
    turns: NameTurns[tuple[str, int]] = NameTurns(places)
    for number, owner in enumerate(owners):
        turns.add(str(owner), (str(owner), number))
    found, running = [], []
    while True:
        while (look_up := turns.take()) is not None:
            running.append(look_up)
        if not running:
            break
        found.append(running.pop(0))
        turns.ended(found[-1][0])
    assert sorted(number for _, number in found) == list(range(len(owners)))
