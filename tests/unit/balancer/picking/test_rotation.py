"""Round robin that is fair over every window, whatever happens to what it rotates over."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.picking.rotation import Rotation


class Item(msgspec.Struct, frozen=True):
    """The same item for a rotation if `name` is, whatever `version` says."""

    name: str
    version: int = 0


def named(names: str) -> list[Item]:
    return [Item(name) for name in names]


def picks(rotation: Rotation, count: int) -> str:
    return "".join(item.name for item in (rotation.next() for _ in range(count)) if item is not None)


def resized(rotation: Rotation, names: str, *, start: int = 0) -> Rotation:
    return rotation.resized(named(names), key=attrgetter("name"), start=start)


def test_items_come_in_turn_and_again_from_the_first() -> None:
    assert picks(Rotation(named("abc")), 7) == "abcabca"


@pytest.mark.parametrize(("start", "expected"), [(0, "abc"), (1, "bca"), (2, "cab"), (3, "abc"), (7, "bca")])
def test_the_first_turn_is_where_the_caller_says(start: int, expected: str) -> None:
    assert picks(Rotation(named("abc"), start=start), 3) == expected


def test_a_rotation_over_nothing_gives_nothing() -> None:
    rotation = Rotation((), start=5)
    assert rotation.next() is None
    assert rotation.next_where(lambda _: True) is None
    assert rotation.upcoming() == ()


@given(size=st.integers(1, 9), start=st.integers(0, 100), skipped=st.integers(0, 30), rounds=st.integers(1, 4))
def test_over_any_window_each_item_comes_as_often_as_every_other(
    size: int, start: int, skipped: int, rounds: int
) -> None:
    rotation = Rotation(range(size), start=start)
    for _ in range(skipped):
        rotation.next()
    assert Counter(rotation.next() for _ in range(rounds * size)) == dict.fromkeys(range(size), rounds)


def test_upcoming_shows_the_next_turns_and_uses_none_up() -> None:
    rotation = Rotation(named("abc"), start=1)
    assert [item.name for item in rotation.upcoming()] == ["b", "c", "a"]
    assert picks(rotation, 3) == "bca"


def test_an_item_that_is_passed_over_keeps_its_turn() -> None:
    rotation = Rotation(named("abcd"))
    accepted = rotation.next_where(lambda item: item.name not in "ab")
    assert accepted == Item("c")
    assert picks(rotation, 4) == "abdc"


def test_nothing_is_used_up_when_nothing_is_accepted() -> None:
    rotation = Rotation(named("abc"), start=2)
    assert rotation.next_where(lambda _: False) is None
    assert picks(rotation, 3) == "cab"


@given(st.integers(1, 6), st.lists(st.sets(st.integers(0, 5)), max_size=30))
def test_always_the_one_that_has_waited_longest_of_those_accepted(size: int, exclusions: list[set[int]]) -> None:
    rotation = Rotation(range(size))
    waiting = list(range(size))
    for excluded in exclusions:
        expected = next((item for item in waiting if item not in excluded), None)
        found = rotation.next_where(lambda item, excluded=excluded: item not in excluded)  # type: ignore[misc]
        assert found == expected
        if expected is not None:
            waiting.remove(expected)
            waiting.append(expected)


def test_after_a_change_those_that_stay_keep_their_turn_and_new_ones_join_behind() -> None:
    rotation = Rotation(named("abcd"))
    assert picks(rotation, 2) == "ab"
    assert picks(resized(rotation, "axcdby"), 6) == "cdabxy"


def test_new_ones_begin_where_the_caller_says() -> None:
    rotation = Rotation(named("a"))
    assert picks(resized(rotation, "axyz", start=1), 4) == "ayzx"
    assert picks(resized(Rotation(named("")), "xyz", start=2), 3) == "zxy"


def test_a_change_leaves_the_rotation_in_use_as_it_is() -> None:
    rotation = Rotation(named("abc"))
    rotation.next()
    after = resized(rotation, "bx")
    assert picks(after, 3) == "bxb"
    assert picks(rotation, 3) == "bca"


def test_an_item_made_anew_takes_the_turn_of_the_old_one() -> None:
    rotation = Rotation(named("ab"))
    rotation.next()
    after = rotation.resized([Item("a", version=1), Item("b", version=1)], key=attrgetter("name"))
    assert [after.next(), after.next()] == [Item("b", version=1), Item("a", version=1)]


def test_what_left_and_came_back_queues_again() -> None:
    rotation = resized(resized(Rotation(named("abc")), "bc"), "abc")
    assert picks(rotation, 3) == "bca"


changes = st.lists(st.one_of(st.just(None), st.tuples(st.sets(st.sampled_from("abcdefg")), st.integers(0, 9))))


@given(changes)
def test_across_changes_nobody_is_served_twice_while_another_waits(
    steps: list[tuple[set[str], int] | None],
) -> None:
    """None is a pick; anything else is a change of the items."""
    rotation = Rotation(named("abc"))
    waiting_since = dict.fromkeys("abc", 0)
    for now, step in enumerate(steps, start=1):
        if step is None:
            item = rotation.next()
            assert (item is None) == (not waiting_since)
            if item is not None:
                assert waiting_since[item.name] == min(waiting_since.values())
                waiting_since[item.name] = now
        else:
            names, start = step
            rotation = resized(rotation, "".join(sorted(names)), start=start)
            waiting_since = {name: waiting_since.get(name, now) for name in names}


def test_its_items_are_those_it_was_made_of_whoever_is_next() -> None:
    rotation = Rotation("abc")
    rotation.next()
    assert sorted(rotation.items) == ["a", "b", "c"]
