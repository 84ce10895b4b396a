"""How a replica and others are answered is compared while there are others."""

from __future__ import annotations

from ingress.replicas.links import LinkSharing
from ingress.replicas.messages import HealthRow
from ingress.replicas.other_replica import OtherReplica


class Told:
    """A replica with answers that all fail, and another one with answers that are all good."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = 0
        self.links = LinkSharing(self.own, "own")
        self.other = OtherReplica()

    def own(self) -> dict[str, tuple[int, int]]:
        self.asked += 1
        return {"shop": (self.answers, self.answers)}

    def turns(self, begin: int, end: int, *, alone: bool = False) -> None:
        for second in range(begin, end):
            self.answers = 20 * second
            self.other.health.learn([HealthRow("shop", self.answers, 0)], float(second))
            self.links.turn({} if alone else {"other": self.other}, float(second))


def test_links_are_sick_if_what_fails_here_answers_others() -> None:
    told = Told()
    told.turns(0, 20)
    assert told.links.judge.is_away
    assert told.asked == 10, "own answers are counted each two seconds"
    assert told.links.rows == {"shop": HealthRow("shop", 360, 360)}


def test_without_others_nothing_is_counted_or_told_and_the_replica_comes_back() -> None:
    told = Told()
    told.turns(0, 20)
    asked = told.asked
    told.turns(20, 24, alone=True)
    assert not told.links.judge.is_away
    assert told.links.rows == {}
    assert told.asked == asked
