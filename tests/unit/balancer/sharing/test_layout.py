"""Where tables lie: none writes into another one, and a seat that is vacated leaves nothing behind."""

from __future__ import annotations

import pytest

from balancer.model.limits import Rate
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import (
    SECRET_BYTES,
    begin_memory,
    counting_in,
    limits_in,
    memory_bytes,
    others_in,
    vacate_seat,
)
from balancer.sharing.peers import Seen
from balancer.sharing.zone_peers import PLACES, STATE_WORDS, ZoneSeen

SEATS = 3


@pytest.fixture(scope="module")
def buffer() -> bytearray:
    memory = bytearray(memory_bytes(SEATS))
    begin_memory(memory, bytes(SECRET_BYTES))
    return memory


def test_tables_do_not_write_into_each_other(buffer: bytearray) -> None:
    counting = counting_in(buffer, seats=SEATS, seat=2, guard=Unguarded(), now=lambda: 10**9)
    slow, fast = counting.rates("a", [Rate(1, 60, 99)]), counting.rates("a", [Rate(1, 1, 99)])
    flights = counting.flights("a", 100)
    shared = counting.fleet_rates("b", [Rate(1, 60, 999)], number=1)
    told, heard = others_in(buffer, seats=SEATS, seat=2), others_in(buffer, seats=SEATS, seat=1)
    peers, hears = told.peers_of("a"), heard.peers_of("a")
    zone, same_zone = told.zone_peers_of("a"), heard.zone_peers_of("a")
    same_zone.exchange(ZoneSeen(), 1.0)
    hears.exchange(Seen(), share=0.0, baseline=0.0, now=1.0)
    for number in range(100):
        assert slow.may_pass(b"c")
        assert fast.may_pass(b"c")
        assert flights.enter(b"c") is not None
        assert shared.may_pass(b"%d" % number)
        peers.exchange(Seen(picks=1), share=0.5, baseline=0.1, now=1.0)
        zone.exchange(ZoneSeen(seconds=1.0), 1.0)
        zone.tell((float(number),) * STATE_WORDS, 1.0)
    assert not slow.may_pass(b"c")
    assert not fast.may_pass(b"c")
    assert flights.enter(b"c") is None
    assert len(list(limits_in(buffer, seats=SEATS, guard=Unguarded(), now=lambda: 10**9).rows())) == 100
    assert hears.exchange(Seen(), share=0.0, baseline=0.0, now=2.5).share == 0.5
    same_zone.exchange(ZoneSeen(), 2.5)
    assert same_zone.newest(2.5) == (99.0,) * STATE_WORDS
    vacate_seat(buffer, seats=SEATS, seat=2)
    assert same_zone.newest(2.5) is None
    assert counting_in(buffer, seats=SEATS, seat=0, guard=Unguarded(), now=lambda: 10**9).flights("a", 1).enter(b"c")
    assert hears.exchange(Seen(), share=0.0, baseline=0.0, now=2.6).share is None
    assert not slow.may_pass(b"c"), "what passed stays counted"


def test_a_client_has_one_place_in_all_processes_which_follows_from_the_secret(buffer: bytearray) -> None:
    clients = [b"10.0.0.%d" % number for number in range(100)]
    one, other = (others_in(buffer, seats=SEATS, seat=seat).place_of for seat in (0, 2))
    places = [one(client) for client in clients]
    assert places == [other(client) for client in clients]
    assert set(places) == set(range(PLACES))
    begin_memory(again := bytearray(memory_bytes(SEATS)), bytes(range(SECRET_BYTES)))
    assert places != [others_in(again, seats=SEATS, seat=0).place_of(client) for client in clients]


def test_a_secret_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        begin_memory(bytearray(64), b"short")
