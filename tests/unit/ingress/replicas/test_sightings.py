"""Replicas of one zone see what all of them saw, as long as they hear each other."""

from __future__ import annotations

import pytest

from balancer.sharing.memory import alone
from balancer.sharing.peers import Heard, Peers, Seen
from balancer.sharing.rows import tag_of
from balancer.sharing.zone_peers import PLACES, ZoneSeen
from ingress.replicas.messages import SeenTable
from ingress.replicas.other_replica import KnownTotals, SeenNews
from ingress.replicas.plausibility import seen_news
from ingress.replicas.seen_columns import LOADS, ZONES, SeenColumns, unpacked
from ingress.replicas.sightings import SightingSharing

KEY = "shop/cart:80 zone-a"
TAG = tag_of(KEY)
MOST = 1_000_000.0


def news_of(seen: SeenColumns) -> SeenNews:
    """All of it is news."""
    return SeenNews(seen, seen.totals)


def told(sharing: SightingSharing) -> SeenTable | None:
    """What a replica is told that knows the reading before."""
    return sharing.telling.table_since(sharing.telling.edition - 1)


class Replica:
    """One worker, and what its replica tells."""

    def __init__(self) -> None:
        self.memory = alone()
        self.sharing = SightingSharing(self.memory.among_replicas.relays.loads, LOADS)
        self.sharing.follow([KEY])
        self.worker: Peers = self.memory.others.peers_of(KEY)
        self.known = KnownTotals()

    def sees(self, picks: int, now: float) -> Heard:
        return self.worker.exchange(Seen(picks=picks, local_seconds=picks / 100), share=0.5, baseline=0.02, now=now)

    def hears(self, table: SeenTable | None, now: float) -> None:
        if table is not None:
            self.sharing.hear("other", seen_news(self.known, unpacked(table), LOADS, MOST), now)


def conversation(one: Replica, other: Replica, seconds: int, *, counts: bool = True) -> list[Heard]:
    """What the worker of `one` hears while that of `other` sees ten requests each half second."""
    heard = []
    for turn in range(seconds * 10):
        now = 1.0 + turn / 10
        if turn % 5 == 0:
            other.sees(20, now)
        for replica in (one, other):
            replica.sharing.turn(now, up={"other"}, counts=counts)
        if turn % 5 == 0:
            one.hears(told(other.sharing), now)
        heard.append(one.sees(0, now))
    return heard


def test_a_worker_hears_what_the_workers_of_another_replica_saw() -> None:
    heard = conversation(Replica(), Replica(), 10)
    picks = [each.seen.picks for each in heard]
    assert sum(picks[-50:]) == pytest.approx(200.0, abs=20.0), "a part more or less"
    assert max(picks[-50:]) < 40.0, "what came in a second is told in parts"
    assert sum(each.seen.local_seconds for each in heard[-50:]) == pytest.approx(2.0, abs=0.2)
    assert heard[-1].share == 0.5
    assert heard[-1].baseline == 0.02


def test_in_a_dry_run_workers_hear_nothing() -> None:
    one, other = Replica(), Replica()
    assert {each.seen for each in conversation(one, other, 5, counts=False)} == {Seen()}
    assert told(other.sharing) is not None, "it is told all the same"


def test_the_state_of_one_who_is_silent_counts_no_longer() -> None:
    one, other = Replica(), Replica()
    conversation(one, other, 5)
    for turn in range(40):
        now = 6.0 + turn / 10
        one.sharing.turn(now, up={"third"}, counts=True)
        heard = one.sees(0, now)
    assert heard.share is None


def test_without_others_in_the_zone_nothing_is_read_or_told() -> None:
    one = Replica()
    for now in (1.0, 2.5, 4.0):
        one.sees(5, now)
        one.sharing.turn(now, up=(), counts=True)
    assert told(one.sharing) is None


def test_what_nobody_follows_is_not_taken() -> None:
    one = Replica()
    one.sharing.hear("other", news_of(SeenColumns((7,), ([1.0],) * 6, ([0.1], [0.02]))), 1.0)
    one.sharing.turn(1.0, up={"other"}, counts=True)
    assert one.sees(0, 1.0) == Heard()


def test_answers_of_a_zone_are_carried_as_well() -> None:
    memory = alone()
    sharing = SightingSharing(memory.among_replicas.relays.zones, ZONES)
    sharing.follow([KEY])
    worker = memory.others.zone_peers_of(KEY)
    seen = ZoneSeen((3.0,) + (0.0,) * (PLACES - 1), (1.0,) + (0.0,) * (PLACES - 1), 0.25)
    for now in (1.0, 2.5):
        worker.exchange(seen, now)
        sharing.turn(now, up={"other"}, counts=True)
    table = told(sharing)
    assert table is not None
    zones = unpacked(table)
    assert zones.tags == (TAG,)
    assert [*zones.totals[0]] == [3.0]
    assert [*zones.totals[-1]] == [0.25]
    assert zones.state == ()
    sharing.hear("other", news_of(zones), 3.0)
    sharing.turn(3.0, up={"other"}, counts=True)
    assert worker.exchange(ZoneSeen(), 4.0) == ZoneSeen(), "a row is found when it has something to tell"
    sharing.hear("other", news_of(zones), 5.0)
    sharing.turn(5.0, up={"other"}, counts=True)
    assert worker.exchange(ZoneSeen(), 5.1) == seen
    assert worker.newest(5.1) is not None


def test_the_mean_state_of_others_counts_whatever_each_of_them_told_last() -> None:
    """Two other replicas: one tells both things each time, the other tells of one only when it had requests."""
    keys = [KEY, "shop/pay:80 zone-a"]
    memory = alone()
    sharing = SightingSharing(memory.among_replicas.relays.loads, LOADS)
    sharing.follow(keys)
    workers = {key: memory.others.peers_of(key) for key in keys}
    both = tuple(map(tag_of, sorted(keys)))
    for turn in range(4):
        now = 1.0 + turn / 2
        sharing.hear("b", news_of(SeenColumns(both, ([1.0] * 2,) * 6, ([0.2] * 2, [0.02] * 2))), now)
        tag = tag_of(keys[turn % 2])
        sharing.hear("c", news_of(SeenColumns((tag,), ([1.0],) * 6, ([0.4], [0.04]))), now)
        sharing.turn(now, up={"b", "c"}, counts=True)
        heard = {key: each.exchange(Seen(), share=0.0, baseline=0.0, now=now) for key, each in workers.items()}
    assert [each.share for each in heard.values()] == pytest.approx([0.3, 0.3])
    assert [each.baseline for each in heard.values()] == pytest.approx([0.03, 0.03])
