"""Processes tell each other states and running totals in rows that only one of them writes."""

from __future__ import annotations

import pytest

from balancer.sharing.rows import RowShape, RowTable, Talk, vacate_rows

SHAPE = RowShape(sets=4, state=2, totals=3)
SEATS = 3


@pytest.fixture
def memory() -> bytearray:
    return bytearray(SHAPE.table_bytes(SEATS))


@pytest.fixture
def talks(memory: bytearray) -> list[Talk]:
    """What the process of each seat says about one thing; all have looked for each other."""
    found = [talk_of(memory, seat) for seat in range(SEATS)]
    for now in (1.0, 3.0):
        for talk in found:
            talk.tell((0.0, 0.0), now)
            talk.hear(now)
    return found


def talk_of(memory: bytearray, seat: int, key: str = "shop/cart:80") -> Talk:
    return RowTable(memory, SHAPE, start=0, seats=SEATS, seat=seat).talk(key)


def test_news_are_heard_once_by_each_in_sum(talks: list[Talk]) -> None:
    one, two, three = talks
    one.tell((0.0, 0.0), 3.1, (1.0, 2.0, 3.0))
    two.tell((0.0, 0.0), 3.1, (1.0, 0.0, 0.5))
    assert three.hear(3.2) == [2.0, 2.0, 3.5]
    assert three.hear(3.3) == [0.0, 0.0, 0.0]
    assert one.hear(3.3) == [1.0, 0.0, 0.5]


def test_states_are_those_that_were_told_last(talks: list[Talk]) -> None:
    one, two, three = talks
    one.tell((1.0, 2.0), 3.1)
    two.tell((3.0, 4.0), 3.2)
    two.tell((5.0, 6.0), 3.3, (1.0, 1.0, 1.0))
    assert sorted(three.states()) == [(3.1, [1.0, 2.0]), (3.3, [5.0, 6.0])]


def test_other_things_are_not_heard(memory: bytearray, talks: list[Talk]) -> None:
    other = talk_of(memory, 1, "shop/pay:80")
    talks[0].tell((1.0, 2.0), 3.1, (1.0, 1.0, 1.0))
    assert other.hear(3.1) == [0.0, 0.0, 0.0]
    assert other.states() == []


def test_a_seat_that_is_vacated_is_silent(memory: bytearray, talks: list[Talk]) -> None:
    talks[0].tell((1.0, 2.0), 3.1, (1.0, 1.0, 1.0))
    vacate_rows(memory, SHAPE, start=0, seats=SEATS, seat=0)
    assert talks[1].hear(3.2) == [0.0, 0.0, 0.0]
    assert [at for at, _ in talks[1].states()] == [3.0], "that of the third seat"


def test_who_has_no_row_hears_and_is_not_heard(memory: bytearray) -> None:
    speakers = [talk_of(memory, 0, str(number)) for number in range(64)]
    listeners = [talk_of(memory, 1, str(number)) for number in range(64)]
    for speaker, listener in zip(speakers, listeners, strict=True):
        speaker.tell((1.0, 1.0), 1.0)
        listener.tell((2.0, 2.0), 1.0)
        listener.hear(1.0)
        speaker.hear(1.0)
    silent = [place for place, listener in enumerate(listeners) if not listener.states()]
    assert len(silent) == 64 - 4 * 4, "four sets of four rows for each seat"
    speakers[silent[0]].tell((1.0, 1.0), 100.0)
    listeners[silent[0]].hear(100.0)
    assert listeners[silent[0]].states(), "a row that nobody wrote for a minute is free"


def test_a_namespace_that_talks_of_everything_leaves_a_row_to_each_other(memory: bytearray) -> None:
    table = RowTable(memory, SHAPE, start=0, seats=SEATS, seat=0, secret=b"s")
    greedy = [table.talk(f"greedy/{number}") for number in range(1000)]
    modest = [table.talk(f"{name}/cart:80") for name in ("shop", "blog", "mail")]
    hearing = RowTable(memory, SHAPE, start=0, seats=SEATS, seat=1, secret=b"s")
    for now in (1.0, 2.0, 3.0):
        for talk in (*greedy, *modest, *greedy):
            talk.tell((now, 0.0), now)
    for name in ("shop", "blog", "mail"):
        heard = hearing.talk(f"{name}/cart:80")
        heard.hear(3.0)
        assert heard.states() == [(3.0, [3.0, 0.0])]


def test_a_row_that_changes_hands_is_no_news_of_who_had_it(memory: bytearray) -> None:
    table = RowTable(memory, SHAPE, start=0, seats=SEATS, seat=0)
    hearing = RowTable(memory, SHAPE, start=0, seats=SEATS, seat=1)
    greedy, heard = [[each.talk(f"greedy/{number}") for number in range(64)] for each in (table, hearing)]
    for talk in greedy:
        talk.tell((0.0, 0.0), 1.0)
    for talk in heard:
        talk.hear(1.0)
    for number in range(64):
        table.talk(f"other-{number}/cart:80").tell((0.0, 0.0), 1.1, (5.0, 5.0, 5.0))
    assert {tuple(talk.hear(1.2)) for talk in heard} == {(0.0, 0.0, 0.0)}


def test_where_a_thing_has_its_rows_follows_from_the_secret(memory: bytearray) -> None:
    one, other = (RowTable(memory, SHAPE, start=0, seats=SEATS, seat=seat, secret=b"%d" % seat) for seat in (0, 1))
    one.talk("shop/cart:80").tell((1.0, 1.0), 1.0)
    stranger = other.talk("shop/cart:80")
    stranger.hear(1.0)
    assert stranger.states() == []


def test_memory_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        RowTable(bytearray(SHAPE.table_bytes(1) - 8), SHAPE, start=0, seats=1, seat=0)
