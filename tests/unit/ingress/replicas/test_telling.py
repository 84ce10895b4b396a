"""When a replica is told something, and what."""

from __future__ import annotations

from ingress.replicas.messages import FailureRow, Message
from ingress.replicas.seen_columns import SeenColumns
from ingress.replicas.telling import Telling
from tests.bench.fleet.simulated import SERVICE, Replica


class Told:
    """What a replica in zone-a tells another one."""

    def __init__(self, zone: str) -> None:
        self.replica = Replica("zone-a 0", "zone-a", 20.0)
        self.telling = Telling(self.replica.sharing)
        self.zone = zone

    def messages(self, begin: float, end: float) -> list[tuple[float, Message]]:
        """All messages between these times, which arrive."""
        found = []
        for step in range(round(begin * 10), round(end * 10)):
            now = step / 10
            self.replica.requests = 20.0 * now
            self.replica.sharing.turn({}, now)
            news = self.telling.due(now)
            if news is not None:
                found.append((now, self.telling.message(step + 1, news, name="zonal-0", is_older=False)))
                self.telling.arrived(self.zone)
        return found


def test_the_own_zone_hears_each_second_and_of_requests_each_five_seconds() -> None:
    told = Told("zone-a")
    told.messages(0.0, 20.0)
    found = told.messages(20.0, 30.0)
    assert len(found) == 10
    assert [message.counted for _, message in found].count(True) == 2
    assert all(message.counted is bool(message.picks) for _, message in found)
    assert {row.service for _, message in found for row in message.picks} == {SERVICE}


def test_the_own_zone_hears_twice_a_second_while_workers_see_much() -> None:
    told, seen = Told("zone-a"), iter(range(1, 100))
    told.messages(0.0, 20.0)
    begun = told.telling.due(20.0)
    assert begun is not None
    for step in range(3):
        picks = float(next(seen))
        told.replica.sharing.loads.telling.read(SeenColumns((7,), ([picks],) * 6, ([0.1], [0.02])))
        now = 20.5 + step / 2
        assert told.telling.due(now - 0.1) is None
        news = told.telling.due(now)
        assert news is not None
        message = told.telling.message(1000 + step, news, name="", is_older=False)
        assert message.load_table is not None
        told.telling.arrived("zone-a")


def test_another_zone_hears_each_five_seconds() -> None:
    told = Told("zone-b")
    told.messages(0.0, 20.0)
    assert [message.counted for _, message in told.messages(20.0, 40.0)] == [True] * 4


def test_an_endpoint_that_fails_is_told_at_once_and_without_requests() -> None:
    told = Told("zone-b")
    told.messages(0.0, 21.0)
    ((_, last),) = told.messages(21.0, 26.0)
    assert last.counted
    row = FailureRow("shop/cart:80", "10.0.0.1:80", 2, False)
    told.replica.sharing.wholes = {**told.replica.sharing.wholes, "failing": (row,)}
    news = told.telling.due(26.0)
    assert news is not None
    message = told.telling.message(1000, news, name="", is_older=False)
    assert (message.failing, message.counted, message.picks) == ((row,), False, ())


def test_one_who_knows_nothing_is_told_all_requests() -> None:
    told = Told("zone-a")
    told.messages(0.0, 20.0)
    told.telling.forget()
    ((_, message), *_) = told.messages(20.0, 20.6)
    assert message.counted
