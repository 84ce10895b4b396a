"""Clients that are counted at one place are known to be several, as long as both come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.sharing.namesakes import TURN_SECONDS, Namesakes


def test_one_client_is_one_however_often_it_comes() -> None:
    namesakes = Namesakes()
    for number in range(10):
        namesakes.note(3, b"10.0.0.1", float(number))
    assert not namesakes.are_several(3)
    assert not namesakes.are_several(4), "nobody came there"


def test_two_at_one_place_are_several_until_one_of_them_is_forgotten() -> None:
    namesakes = Namesakes()
    namesakes.note(3, b"10.0.0.1", 0.0)
    namesakes.note(3, b"10.0.0.2", TURN_SECONDS + 1.0)
    namesakes.note(4, b"10.0.0.3", TURN_SECONDS + 1.0)
    assert (namesakes.are_several(3), namesakes.are_several(4)) == (True, False)
    namesakes.note(3, b"10.0.0.1", 2 * TURN_SECONDS + 2.0)
    assert namesakes.are_several(3)
    namesakes.note(3, b"10.0.0.1", 3 * TURN_SECONDS + 3.0)
    assert not namesakes.are_several(3)


def test_what_was_long_ago_does_not_count() -> None:
    namesakes = Namesakes()
    namesakes.note(3, b"10.0.0.1", 0.0)
    namesakes.note(3, b"10.0.0.2", 2 * TURN_SECONDS)
    assert not namesakes.are_several(3)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.floats(0.0, 30.0)), max_size=40))
def test_who_came_within_a_turn_is_known_and_nobody_is_invented(notes: list[tuple[int, str, float]]) -> None:
    namesakes, now, came = Namesakes(), 0.0, list[tuple[int, str, float]]()
    for place, name, seconds in notes:
        now += seconds
        namesakes.note(place, name.encode(), now)
        came.append((place, name, now))
    for place in range(3):
        ever = {name for at, name, _ in came if at == place}
        lately = {name for at, name, when in came if at == place and when > now - TURN_SECONDS}
        assert namesakes.are_several(place) <= (len(ever) > 1)
        assert namesakes.are_several(place) >= (len(lately) > 1)
