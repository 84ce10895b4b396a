"""When a replica leaves load balancers because its links are sick, and when it must not."""

from __future__ import annotations

import pytest

from ingress.replicas.messages import HealthRow
from ingress.replicas.readiness import Health, LinkJudge, OtherHealth, health_rows


class Fleet:
    """This replica and others, each of which gets 20 answers each two seconds in each namespace."""

    def __init__(self, *, others: int = 3, namespaces: int = 5) -> None:
        self.own = Health()
        self.others = [Health() for _ in range(others)]
        self.away = [False] * others
        self.judge = LinkJudge("m")
        self.namespaces = [f"tenant-{number}" for number in range(namespaces)]
        self.totals: dict[tuple[int, str], tuple[int, int]] = {}
        self.now = 0.0

    def is_away(self) -> bool:
        return self.judge.is_away

    def passes(
        self, seconds: int, *, here: set[str] | None = None, there: set[str] | None = None, all_of: int = 1
    ) -> None:
        """`here` fail at this replica, `there` at `all_of` the others."""
        for _ in range(seconds // 2):
            self.now += 2.0
            for number, health in enumerate((self.own, *self.others)):
                failing = (here if number == 0 else there if number <= all_of else None) or set()
                if number == 0 and self.judge.is_away:
                    continue
                rows = []
                for namespace in self.namespaces:
                    answers, failed = self.totals.get((number, namespace), (0, 0))
                    total = answers + 20, failed + (20 if namespace in failing else 0)
                    self.totals[number, namespace] = total
                    rows.append(HealthRow(namespace, *total))
                health.learn(rows, self.now)
            others = [
                OtherHealth(chr(ord("n") + number), health, away)
                for number, (health, away) in enumerate(zip(self.others, self.away, strict=True))
            ]
            self.judge.turn(self.own, others, self.now)


def test_a_replica_for_which_all_fails_leaves_after_a_while_and_comes_back_to_try() -> None:
    fleet = Fleet()
    fleet.passes(20)
    assert not fleet.is_away()
    everything = set(fleet.namespaces)
    fleet.passes(4, here=everything)
    assert not fleet.is_away()
    fleet.passes(12, here=everything)
    assert fleet.is_away()
    assert (fleet.judge.compared, fleet.judge.sick) == (5, 5)
    fleet.passes(20)
    assert fleet.is_away()
    fleet.passes(16)
    assert not fleet.is_away()


def test_each_pause_is_twice_as_long_while_it_comes_back_sick() -> None:
    fleet = Fleet()
    everything, away = set(fleet.namespaces), []
    fleet.passes(10)
    for _ in range(250):
        fleet.passes(2, here=everything)
        away.append(fleet.is_away())
    spans = "".join("x" if each else " " for each in away).split()
    assert [len(span) for span in spans[:3]] == sorted(len(span) for span in spans[:3])
    assert len(spans[1]) > 1.5 * len(spans[0])


def test_a_tenant_whose_services_fail_makes_no_replica_leave() -> None:
    fleet = Fleet()
    fleet.passes(10)
    fleet.passes(60, here={"tenant-0"})
    assert not fleet.is_away()


@pytest.mark.parametrize("all_of", [2, 3])
def test_what_fails_for_others_as_well_is_no_link(all_of: int) -> None:
    fleet = Fleet()
    everything = set(fleet.namespaces)
    fleet.passes(10)
    fleet.passes(60, here=everything, there=everything, all_of=all_of)
    assert not fleet.is_away()


@pytest.mark.parametrize(
    ("others", "away", "leaves"),
    [
        (0, [], False),
        (1, [False], True),
        (3, [True, False, False], True),  # of two who left at one time, the first stays away
        (8, [True, False, False, False, False, False, False, False], True),
    ],
)
def test_only_a_part_of_the_replicas_leaves(others: int, away: list[bool], leaves: bool) -> None:
    fleet = Fleet(others=others)
    fleet.away = away
    fleet.passes(10)
    fleet.passes(20, here=set(fleet.namespaces))
    assert fleet.is_away() is leaves


def test_one_who_comes_later_in_the_order_stays() -> None:
    fleet = Fleet()
    fleet.judge = LinkJudge("z")
    fleet.away = [True, False, False]
    fleet.passes(10)
    fleet.passes(20, here=set(fleet.namespaces))
    assert not fleet.is_away()
    fleet.away = [False, False, False]
    fleet.passes(20, here=set(fleet.namespaces))
    assert fleet.is_away()


def test_a_replica_without_others_comes_back_at_once() -> None:
    fleet = Fleet()
    fleet.passes(10)
    fleet.passes(20, here=set(fleet.namespaces))
    assert fleet.is_away()
    fleet.judge.turn(fleet.own, (), fleet.now)
    assert not fleet.is_away()


def test_rows_have_the_totals_of_each_namespace() -> None:
    assert health_rows({"shop": (5, 2)}) == {"shop": HealthRow("shop", 5, 2)}
