"""What workers saw goes to other replicas, and what others saw comes to workers in parts."""

from __future__ import annotations

from balancer.sharing.peer_table import PeerTable, peer_table_bytes
from balancer.sharing.peers import Seen
from balancer.sharing.rows import tag_of

KEY = "shop/cart:80 zone-a"
TAG = tag_of(KEY)
SEATS = 3


def tables() -> list[PeerTable]:
    memory = bytearray(peer_table_bytes(SEATS))
    return [PeerTable(memory, start=0, seats=SEATS, seat=seat) for seat in range(SEATS)]


def test_what_all_workers_saw_is_read_as_running_totals() -> None:
    one, two, control = tables()
    relay = control.relay()
    relay.follow([KEY])
    workers = [one.peers(KEY), two.peers(KEY)]
    for now in (1.0, 2.5, 4.0):
        for number, worker in enumerate(workers, 1):
            worker.exchange(Seen(picks=number, local_seconds=0.5), share=0.25, baseline=0.01, now=now)
        totals = relay.read(now)
    assert list(totals[TAG]) == [6.0, 0.0, 0.0, 2.0, 0.0, 0.0], "what came before the first look is no news"
    assert [state for _, state in relay.states(TAG)] == [[0.25, 0.01], [0.25, 0.01]]


def test_workers_hear_what_others_saw_in_parts_and_once() -> None:
    one, _, control = tables()
    relay, worker = control.relay(), one.peers(KEY)
    relay.follow([KEY])
    relay.add(TAG, [0.0] * 6)
    relay.turn(1.0, {})
    worker.exchange(Seen(), share=0.0, baseline=0.0, now=1.0)
    relay.add(TAG, [10.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    heard = []
    for turn in range(8):
        relay.turn(3.0 + turn / 10, {TAG: (0.5, 0.02)})
        heard.append(worker.exchange(Seen(), share=0.0, baseline=0.0, now=3.0 + turn / 10))
    assert [each.seen.picks for each in heard] == [2.0] * 5 + [0.0] * 3
    assert sum(each.seen.away_seconds for each in heard) == 5.0
    assert heard[-1].share == 0.5


def test_what_comes_before_the_parts_have_ended_is_added() -> None:
    one, _, control = tables()
    relay, worker = control.relay(), one.peers(KEY)
    relay.follow([KEY])
    relay.add(TAG, [10.0] * 6)
    relay.turn(1.0, {})
    worker.exchange(Seen(), share=0.0, baseline=0.0, now=1.0)
    relay.add(TAG, [2.0] * 6)
    heard = 0.0
    for turn in range(6):
        relay.turn(2.0 + turn / 10, {})
        heard += worker.exchange(Seen(), share=0.0, baseline=0.0, now=2.0 + turn / 10).seen.picks
    assert heard == 10.0


def test_nothing_is_carried_about_what_is_not_followed() -> None:
    one, _, control = tables()
    relay = control.relay()
    one.peers("shop/pay:80 zone-a").exchange(Seen(picks=1), share=0.0, baseline=0.0, now=1.0)
    relay.follow([KEY])
    assert relay.tags == {TAG}
    assert relay.read(2.0) == {}
    relay.follow([])
    assert relay.tags == frozenset()
