"""Workers hear what the others saw of the same backend, and nothing from rows that make no sense."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.sharing.peer_table import PEER_ROWS, PeerTable
from balancer.sharing.peers import Heard, Peers, Seen
from balancer.sharing.rows import vacate_rows
from tests.properties import examples

SEATS = 3
KEY = "shop/cart:80 zone-a"
SOME = Seen(picks=10, done=8, local=7, local_seconds=0.14, away=2, away_seconds=0.05)
NOTHING = Seen()


@pytest.fixture(scope="module")
def memory() -> bytearray:
    """Fresh for each module only, because it is large; each test uses keys of its own or vacates the seats."""
    return bytearray(PEER_ROWS.table_bytes(SEATS))


@pytest.fixture
def tables(memory: bytearray) -> list[PeerTable]:
    for seat in range(SEATS):
        vacate_rows(memory, PEER_ROWS, start=0, seats=SEATS, seat=seat)
    return [PeerTable(memory, start=0, seats=SEATS, seat=seat) for seat in range(SEATS)]


def say(peers: Peers, seen: Seen = NOTHING, *, share: float = 0.0, baseline: float = 0.0, now: float = 1.0) -> Heard:
    return peers.exchange(seen, share=share, baseline=baseline, now=now)


def test_each_hears_once_what_the_others_saw(tables: list[PeerTable]) -> None:
    one, two, three = (table.peers(KEY) for table in tables)
    for peers in (one, two, three):
        assert say(peers).share is None
    say(one, now=2.5)
    say(two, SOME, now=2.6)
    say(three, SOME, now=2.7)
    assert say(one, SOME, now=2.8).seen == pytest.approx([2 * value for value in SOME])
    assert say(one, now=2.9).seen == NOTHING


def test_what_was_seen_before_the_first_look_is_no_news(tables: list[PeerTable]) -> None:
    one, two = tables[0].peers(KEY), tables[1].peers(KEY)
    say(one, SOME)
    assert say(two).seen == NOTHING
    say(one, SOME, now=1.1)
    assert say(two, now=1.2).seen == pytest.approx(SOME)


def test_share_and_baseline_are_the_means_of_those_that_know_the_zone(tables: list[PeerTable]) -> None:
    one, two, three = (table.peers(KEY) for table in tables)
    say(one, share=0.2, baseline=0.02)
    say(two, share=0.4, baseline=0.04)
    assert say(three)[1:] == pytest.approx((0.3, 0.03))
    assert say(one, share=0.2, baseline=0.02, now=2.1)[1:] == pytest.approx((0.4, 0.04)), "three knows nothing yet"


def test_an_old_share_says_nothing(tables: list[PeerTable]) -> None:
    one, two = tables[0].peers(KEY), tables[1].peers(KEY)
    say(one, share=0.2, baseline=0.02, now=1.0)
    assert say(two, now=2.9).share == pytest.approx(0.2)
    assert say(two, now=3.1).share is None


def test_other_backends_are_not_heard(tables: list[PeerTable]) -> None:
    one, other = tables[0].peers(KEY), tables[1].peers("shop/pay:80 zone-a")
    say(one, SOME, share=0.2, baseline=0.02)
    say(other)
    say(one, SOME, now=1.1)
    assert say(other, now=3.0) == Heard()


def test_a_process_that_follows_in_a_seat_begins_anew(tables: list[PeerTable], memory: bytearray) -> None:
    one, two = tables[0].peers(KEY), tables[1].peers(KEY)
    for now in (1.0, 1.1):
        say(one, SOME, now=now)
        say(two, now=now)
    vacate_rows(memory, PEER_ROWS, start=0, seats=SEATS, seat=0)
    assert say(two, now=1.2) == Heard(NOTHING)
    follower = PeerTable(memory, start=0, seats=SEATS, seat=0).peers(KEY)
    say(follower, SOME, now=1.3)
    assert say(two, now=1.4).seen == NOTHING, "its totals are smaller than those of the process before"
    say(follower, SOME, now=1.5)
    assert say(two, now=1.6).seen == pytest.approx(SOME)


@pytest.mark.large
def test_without_room_a_controller_is_alone_until_another_one_is_gone() -> None:
    """A set has four rows for each seat. Of so many keys, some set gets more than four."""
    memory = bytearray(PEER_ROWS.table_bytes(2))
    one, two = (PeerTable(memory, start=0, seats=2, seat=seat) for seat in range(2))
    keys = [str(number) for number in range(8192)]
    speakers, listeners = [one.peers(key) for key in keys], [two.peers(key) for key in keys]
    for speaker in speakers:
        say(speaker, share=0.2, baseline=0.02)
    heard = [say(listener).share for listener in listeners]
    assert 1000 < heard.count(None) < 7000
    unheard = heard.index(None)
    say(speakers[unheard], share=0.2, baseline=0.02, now=100.0)
    assert say(listeners[unheard], now=100.0).share == pytest.approx(0.2)


@pytest.mark.large
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=10, max_size=10))
@examples(50)
def test_rows_that_make_no_sense_are_ignored(memory: bytearray, values: list[float]) -> None:
    for seat in range(SEATS):
        vacate_rows(memory, PEER_ROWS, start=0, seats=SEATS, seat=seat)
    one, two = (PeerTable(memory, start=0, seats=SEATS, seat=seat).peers(KEY) for seat in (0, 1))
    say(one, SOME, share=0.2, baseline=0.02)
    say(two)
    with memoryview(memory).cast("d") as words:
        row = next(place for place, word in enumerate(words) if word)
        words[row + 1 : row + 10] = memoryview(bytearray(72)).cast("d")
        for place, value in enumerate(values[1:], row + 1):
            words[place] = value
    heard = say(two, now=1.5)
    assert all(0.0 <= value < math.inf for value in heard.seen)
    assert heard.share is None or 0.0 <= heard.share <= 1.0
    assert 0.0 <= heard.baseline < math.inf


def test_memory_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        PeerTable(bytearray(PEER_ROWS.table_bytes(1) - 8), start=0, seats=1, seat=0)
