"""What workers saw goes to other replicas, and what others saw comes to workers in parts."""

from __future__ import annotations

import pytest

from balancer.sharing.peer_table import PEER_ROWS, PeerTable
from balancer.sharing.peers import Seen
from balancer.sharing.relay import RowRelay, Sighted
from balancer.sharing.rows import tag_of

KEY = "shop/cart:80 zone-a"
TAG = tag_of(KEY)
SEATS = 3


def tables() -> list[PeerTable]:
    memory = bytearray(PEER_ROWS.table_bytes(SEATS))
    return [PeerTable(memory, start=0, seats=SEATS, seat=seat) for seat in range(SEATS)]


def read(relay: RowRelay) -> Sighted:
    sighted = relay.read()
    assert sighted is not None
    return sighted


def add(relay: RowRelay, news: list[float]) -> None:
    relay.add((TAG,), [[value] for value in news])


def test_what_all_workers_saw_is_read_as_running_totals() -> None:
    one, two, control = tables()
    relay = control.relay()
    relay.follow([KEY])
    workers = [one.peers(KEY), two.peers(KEY)]
    for now in (1.0, 2.5, 4.0):
        for number, worker in enumerate(workers, 1):
            worker.exchange(Seen(picks=number, local_seconds=0.5), share=0.25, baseline=0.01, now=now)
        sighted = read(relay)
    assert sighted.tags == (TAG,)
    totals = [*map(list, sighted.columns)]
    assert totals == [[6.0], [0.0], [0.0], [2.0], [0.0], [0.0]], "what came before the first look is no news"
    states = [(*layer.at, *(word for column in layer.state for word in column)) for layer in sighted.layers]
    assert states == [(4.0, 0.25, 0.01)] * 2, "one layer for each worker"


def test_workers_hear_what_others_saw_in_parts_and_once() -> None:
    one, _, control = tables()
    relay, worker = control.relay(), one.peers(KEY)
    relay.follow([KEY])
    add(relay, [0.0] * 6)
    relay.turn(1.0)
    worker.exchange(Seen(), share=0.0, baseline=0.0, now=1.0)
    add(relay, [12.0, 0.0, 0.0, 0.0, 0.0, 6.0])
    heard, states = [], ([0.5], [0.02])
    for turn in range(8):
        relay.turn(3.0 + turn / 10, states)
        heard.append(worker.exchange(Seen(), share=0.0, baseline=0.0, now=3.0 + turn / 10))
    assert [each.seen.picks for each in heard] == pytest.approx([6.0, 0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0])
    assert sum(each.seen.away_seconds for each in heard) == pytest.approx(6.0)
    assert heard[-1].share == 0.5


def test_what_comes_before_the_parts_have_ended_is_added() -> None:
    one, _, control = tables()
    relay, worker = control.relay(), one.peers(KEY)
    relay.follow([KEY])
    add(relay, [12.0] * 6)
    relay.turn(1.0)
    worker.exchange(Seen(), share=0.0, baseline=0.0, now=1.0)
    add(relay, [2.0] * 6)
    heard = 0.0
    for turn in range(6):
        relay.turn(2.0 + turn / 10)
        heard += worker.exchange(Seen(), share=0.0, baseline=0.0, now=2.0 + turn / 10).seen.picks
    assert heard == pytest.approx(8.0), "half of the first, and all of the second"


def test_nothing_is_carried_about_what_is_not_followed() -> None:
    one, _, control = tables()
    relay = control.relay()
    one.peers("shop/pay:80 zone-a").exchange(Seen(picks=1), share=0.0, baseline=0.0, now=1.0)
    relay.follow([KEY])
    assert relay.tags == {TAG}
    assert not any(map(any, read(relay).columns))
    relay.follow([])
    assert relay.tags == frozenset()


def test_totals_go_on_when_other_things_are_followed_as_well() -> None:
    one, _, control = tables()
    relay, others = control.relay(), "shop/pay:80 zone-a"
    relay.follow([KEY])
    worker, pay = one.peers(KEY), one.peers(others)
    for now in (1.0, 2.5):
        worker.exchange(Seen(picks=1), share=0.0, baseline=0.0, now=now)
        relay.read()
    relay.follow([others, KEY])
    for now in (4.0, 5.5):
        for each in (worker, pay):
            each.exchange(Seen(picks=1), share=0.0, baseline=0.0, now=now)
        sighted = read(relay)
    assert dict(zip(sighted.tags, sighted.columns[0], strict=True)) == {TAG: 2.0, tag_of(others): 1.0}


def test_all_replicas_have_the_same_order_of_things() -> None:
    keys = [f"shop/{name}:80 zone-a" for name in ("pay", "cart", "mail")]
    relay = tables()[-1].relay()
    relay.follow(keys)
    order = relay.order
    relay.follow([])
    relay.follow(reversed(keys))
    assert relay.order == order == read(relay).tags


def test_news_of_several_things_come_together() -> None:
    one, _, control = tables()
    relay = control.relay()
    keys = [f"shop/{name}:80 zone-a" for name in ("cart", "pay", "mail")]
    tags, workers = tuple(map(tag_of, keys)), [one.peers(key) for key in keys]
    relay.follow(keys)
    relay.add(tags, [[0] * 3] * 6)
    relay.turn(1.0)
    for worker in workers:
        worker.exchange(Seen(), share=0.0, baseline=0.0, now=1.0)
    relay.add(tags[:2], [[10, 20]] * 5 + [[1, 2]])
    relay.turn(1.2)
    relay.add(tags[1:], [[20, 30]] * 5 + [[2, 3]])
    heard = [[0.0, 0.0] for _ in keys]
    for turn in range(7):
        relay.turn(3.0 + turn / 10)
        for sums, worker in zip(heard, workers, strict=True):
            seen = worker.exchange(Seen(), share=0.0, baseline=0.0, now=3.0 + turn / 10).seen
            sums[:] = sums[0] + seen.picks, sums[1] + seen.away_seconds
    assert heard == [pytest.approx(each) for each in ([10.0, 1.0], [40.0, 4.0], [30.0, 3.0])]
