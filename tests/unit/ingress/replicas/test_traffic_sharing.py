"""When the requests of all replicas make shares, and when they do not."""

from __future__ import annotations

from balancer.model.zones import ZonePolicy, ZonePolicyName, ZoneTraffic
from ingress.replicas.messages import Picks
from ingress.replicas.traffic_sharing import TrafficSharing, services_by_traffic
from tests import builders as build

MODEL = build.model(
    build.backend("shop/cart:80", zone_policy=ZonePolicy(ZonePolicyName.PROPORTIONAL)), build.backend("shop/pay:80")
)
(SERVICE,) = services_by_traffic(MODEL)


class Told:
    def __init__(self) -> None:
        self.used: list[tuple[tuple[str, ZoneTraffic], ...]] = []
        self.total = 0
        self.rate = 90
        self.sharing = TrafficSharing(lambda services: dict.fromkeys(services, self.total), self.used.append)
        self.sharing.follow(MODEL)

    def turns(self, begin: int, end: int, *, up: dict[str, str]) -> None:
        for second in range(begin, end):
            self.total += self.rate
            self.sharing.hear("other", {SERVICE: 10 * second}, float(second))
            self.sharing.turn(float(second), up=up, own_zone="zone-a")


def test_shares_follow_the_requests_of_all_replicas() -> None:
    told = Told()
    told.turns(0, 5, up={"other": "zone-b"})
    ((service, shares),) = told.used[-1]
    assert (service, dict(shares)) == (SERVICE, {"zone-a": 9000, "zone-b": 1000})
    assert told.sharing.picks == {SERVICE: Picks(SERVICE, 450)}


def test_a_rate_that_has_moved_is_told_early() -> None:
    told = Told()
    told.turns(0, 5, up={})
    edition = told.sharing.edition
    assert edition > 0, "a rate that is new has moved"
    told.turns(5, 15, up={})
    assert told.sharing.edition == edition
    told.rate *= 2
    told.turns(15, 20, up={})
    assert told.sharing.edition > edition


def test_without_others_and_at_the_end_there_are_no_shares() -> None:
    told = Told()
    told.turns(0, 5, up={})
    assert told.used == []
    told.turns(5, 10, up={"other": "zone-b"})
    told.sharing.end()
    assert told.used[-1] == ()
