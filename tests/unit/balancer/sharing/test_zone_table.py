"""Workers hear what others saw of a zone, and the newest state, unless it is old or makes no sense."""

from __future__ import annotations

import pytest

from balancer.sharing.rows import vacate_rows
from balancer.sharing.zone_peers import PLACES, STATE_WORDS, ZonePeers, ZoneSeen
from balancer.sharing.zone_table import ZONE_ROWS, ZoneTable

SEATS = 3
KEY = "shop/cart:80 zone-a"
SOME = ZoneSeen(tuple(map(float, range(PLACES))), (0.0,) * (PLACES - 1) + (2.0,), 0.25)


def state(stepped_at: float) -> tuple[float, ...]:
    return (stepped_at, *map(float, range(1, STATE_WORDS)))


@pytest.fixture(scope="module")
def memory() -> bytearray:
    """Fresh for each module only, because it is large."""
    return bytearray(ZONE_ROWS.table_bytes(SEATS))


@pytest.fixture
def workers(memory: bytearray) -> list[ZonePeers]:
    """One for each seat; all have looked for each other."""
    for seat in range(SEATS):
        vacate_rows(memory, ZONE_ROWS, start=0, seats=SEATS, seat=seat)
    found = [ZoneTable(memory, start=0, seats=SEATS, seat=seat).peers(KEY) for seat in range(SEATS)]
    for now in (1.0, 3.0):
        for peers in found:
            peers.exchange(ZoneSeen(), now)
    return found


def test_each_hears_what_the_others_saw(workers: list[ZonePeers]) -> None:
    one, two, three = workers
    one.exchange(SOME, 3.1)
    two.exchange(SOME, 3.1)
    heard = three.exchange(ZoneSeen(), 3.2)
    assert heard.answers == tuple(2.0 * count for count in SOME.answers)
    assert heard.failed == tuple(2.0 * count for count in SOME.failed)
    assert heard.seconds == pytest.approx(0.5)
    assert three.exchange(ZoneSeen(), 3.3) == ZoneSeen()


def test_the_newest_state_is_that_of_the_latest_step_whoever_told_it_last(workers: list[ZonePeers]) -> None:
    one, two, three = workers
    one.tell(state(2.5), 3.1)
    two.tell(state(2.0), 3.2)
    assert three.newest(3.3) == state(2.5)


def test_a_state_that_nobody_told_lately_says_nothing(workers: list[ZonePeers]) -> None:
    workers[0].tell(state(2.5), 3.1)
    assert workers[1].newest(13.0) == state(2.5)
    assert workers[1].newest(13.2) is None


def test_words_that_do_not_belong_together_are_ignored(memory: bytearray, workers: list[ZonePeers]) -> None:
    workers[0].tell(state(2.5), 3.1)
    with memoryview(memory).cast("d") as words:
        place = next(place for place, word in enumerate(words) if word == 2.5)
        words[place] = 2.75
        assert workers[1].newest(3.2) != (2.75, *state(2.5)[1:])
        words[place] = float("nan")
        assert workers[1].newest(3.2) != state(2.5)


def test_memory_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        ZoneTable(bytearray(ZONE_ROWS.table_bytes(1) - 8), start=0, seats=1, seat=0)
