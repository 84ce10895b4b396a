"""Places for connections are divided among clients: who comes last takes a place of who has most."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.places import ClientPlaces

MOST = 100


def none(_: int) -> bool:
    return False


def every(_: int) -> bool:
    return True


def filled(*clients: tuple[str, int]) -> ClientPlaces:
    """Places of which each of `clients` has so many, with consecutive numbers."""
    places: ClientPlaces = ClientPlaces()
    for client, count in clients:
        for _ in range(count):
            places.enter(len(places), client)
    return places


def test_a_newcomer_takes_the_idle_place_of_who_has_most() -> None:
    places = filled(("modest", 10), ("greedy", 90))
    assert places.displaced_by("new", lambda member: member >= 12) == 12
    assert places.displaced_by("modest", lambda member: member >= 12) == 13
    assert len(places) == 98


def test_who_has_most_gets_no_place_of_others() -> None:
    places = filled(("modest", 10), ("greedy", 90))
    assert places.displaced_by("greedy", every) is None
    assert len(places) == 100


def test_without_an_idle_place_the_oldest_of_who_has_twice_as_many_goes() -> None:
    places = filled(("modest", 10), ("greedy", 22))
    assert places.displaced_by("modest", none) == 10
    assert places.displaced_by("other", none) == 11
    equal = filled(("modest", 11), ("greedy", 22))
    assert equal.displaced_by("modest", none) is None


def test_idle_places_behind_many_busy_ones_are_found_in_the_end() -> None:
    places = filled(("modest", 60), ("greedy", 100))
    found = [places.displaced_by("modest", lambda member: member == 159) for _ in range(4)]
    assert found == [None, None, None, 159]


def test_alike_clients_take_no_places_of_each_other() -> None:
    places = filled(("a", 5), ("b", 5), ("c", 6))
    assert places.displaced_by("a", every) is None
    assert places.displaced_by("new", every) == 10


def test_nobody_is_displaced_where_nobody_is() -> None:
    assert filled().displaced_by("new", every) is None


def test_a_member_that_enters_again_belongs_to_the_other_client() -> None:
    places = filled(("balancer", 3))
    places.enter(0, "client")
    places.leave(0)
    places.leave(0)
    assert len(places) == 2
    assert places.displaced_by("new", every) == 1


_STEPS = st.lists(st.tuples(st.sampled_from(["enter", "leave", "new"]), st.integers(0, 30), st.integers(0, 3)))


@given(_STEPS, st.sampled_from([none, every, lambda member: member % 2 == 0]))
def test_whoever_comes_and_goes_who_has_most_gives_way(
    steps: list[tuple[str, int, int]], is_idle: Callable[[int], bool]
) -> None:
    places: ClientPlaces = ClientPlaces()
    there: dict[int, str] = {}
    for step, member, number in steps:
        client = str(number)
        held = {each: list(there.values()).count(each) for each in "0123"}
        if step == "enter":
            places.enter(member, client)
            there[member] = client
        elif step == "leave":
            places.leave(member)
            there.pop(member, None)
        elif (gone := places.displaced_by(client, is_idle)) is not None:
            loser = there.pop(gone)
            assert held[loser] == max(held.values()) > held[client] + 1
            assert is_idle(gone) or held[loser] >= 2 * (held[client] + 1)
        elif max(held.values()) > held[client] + 1:
            assert max(held.values()) < 2 * (held[client] + 1)
        assert len(places) == len(there)
