"""The zones of one backend are judged by each other, while something fails, and never all of them are left."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.runtime.absences import Absences
from balancer.sharing.layout import memory_bytes, others_in
from balancer.zones.departure import DepartureStep
from balancer.zones.evacuation import ZONES_MOST, Evacuation, ZoneChange, ZoneTurn
from tests.bench.zones.scenarios import Scenario
from tests.bench.zones.sickness import POLICIES, SICK, measure_sickness, misses_of
from tests.properties import examples

pytestmark = pytest.mark.large

RATE = 100
Failing = Mapping[str, float]


class Traffic:
    """Clients of a proxy in zone a. Requests avoid zones as they are left, and go to any other zone alike."""

    def __init__(self, zones: str = "abc", *, seed: int = 1, evacuation: Evacuation | None = None) -> None:
        self.evacuation = Evacuation() if evacuation is None else evacuation
        self.evacuation.follow(zones)
        self.now = 0.0
        self.seconds = 0.02  # that an answer takes
        self.news: list[ZoneChange] = []
        self._zones, self._chance = zones, random.Random(seed)

    def run(
        self, seconds: float, failing: Failing, home: str = "a", *, check: Callable[[], None] | None = None
    ) -> float:
        """`seconds` more, in which these shares of the answers of zones fail. Returns the share of errors."""
        errors = 0
        for _ in range(round(seconds * RATE)):
            self.now += 1.0 / RATE
            zone = self._zone(home)
            failed = self._chance.random() < failing.get(zone, 0.0)
            errors += failed
            if failed or self.evacuation.is_awake:
                self.evacuation.ended(zone, failed=failed, seconds=self.seconds, now=self.now)
            while (news := self.evacuation.news()) is not None:
                self.news.append(news)
            if check is not None:
                check()
        return errors / max(1, round(seconds * RATE))

    def _zone(self, home: str) -> str:
        left, drawn = self.evacuation.left, self._chance.randrange(10_000)
        avoided = {zone for zone, points in left.items() if drawn < points}
        open_zones = [zone for zone in self._zones if zone not in avoided]
        assert open_zones, "never all zones are left"
        return home if home in open_zones else self._chance.choice(open_zones)

    def share(self, zone: str = "a") -> float:
        return self.evacuation.left.get(zone, 0) / 10_000


def test_nothing_is_counted_while_nothing_fails() -> None:
    traffic = Traffic()
    traffic.run(5.0, {})
    assert not traffic.evacuation.is_awake
    assert traffic.evacuation.states(traffic.now) == ()


def test_a_sick_zone_is_left_and_returned_to_and_both_are_told_with_their_figures() -> None:
    traffic = Traffic()
    traffic.run(5.0, {"a": 0.4})
    assert traffic.share() == pytest.approx(0.97)
    assert traffic.run(10.0, {"a": 0.4}) < 0.02
    traffic.run(15.0, {})
    assert traffic.evacuation.left == {}
    begun, ended = traffic.news
    assert (begun.zone, begun.turn, ended.turn) == ("a", ZoneTurn.BEGUN, ZoneTurn.ENDED)
    assert begun.own.ratio > 0.3 and begun.others.failed == 0.0
    assert ended.own.failed == 0.0 and ended.seconds > 10.0
    traffic.run(30.0, {})
    assert not traffic.evacuation.is_awake


def test_of_two_sick_zones_both_are_left_for_the_third() -> None:
    traffic = Traffic()
    traffic.run(20.0, {"a": 0.6, "b": 0.6})
    assert traffic.share("a") > 0.9 and traffic.share("b") >= 0.1
    assert traffic.run(10.0, {"a": 0.6, "b": 0.6}) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("scenario", SICK, ids=lambda scenario: scenario.name)
def test_the_goals_hold_in_the_simulation(scenario: Scenario, policy: str) -> None:
    assert list(misses_of(scenario, measure_sickness(scenario, POLICIES[policy]))) == []


@pytest.mark.parametrize("starves", [False, True])
def test_answers_take_longer_where_requests_go_but_not_because_the_own_process_starves(starves: bool) -> None:
    absences = Absences()
    traffic = Traffic(evacuation=Evacuation(absences=absences))

    def goes_on() -> None:
        if starves:
            absences.beat(traffic.now, 0.8 * traffic.now)
        traffic.seconds = 0.2 if traffic.share() > 0.2 else 0.02

    traffic.run(10.0, {"a": 0.6}, check=goes_on)
    assert (traffic.share() > 0.9) is starves


def test_zones_that_are_alike_are_not_left() -> None:
    traffic = Traffic()
    traffic.run(60.0, dict.fromkeys("abc", 0.4))
    assert traffic.share() <= 0.1


@given(st.integers(0, 100), st.lists(st.tuples(*[st.floats(0, 1)] * 3), max_size=4))
@examples(25)
def test_whatever_fails_some_zone_is_always_open(seed: int, phases: list[tuple[float, float, float]]) -> None:
    traffic = Traffic(seed=seed)
    for failing in phases:
        traffic.run(10.0, dict(zip("abc", failing, strict=True)))
    assert all(0 < points <= 9700 for points in traffic.evacuation.left.values())


def test_a_client_whose_requests_fail_in_every_zone_moves_nobody() -> None:
    """Half of all requests are those of a client that provokes errors, wherever they go."""
    traffic = Traffic()
    highest = 0.0

    def note() -> None:
        nonlocal highest
        highest = max(highest, traffic.share())

    traffic.run(120.0, dict.fromkeys("abc", 0.5), check=note)
    assert highest <= 0.1


def test_what_is_known_is_told_while_something_fails() -> None:
    traffic = Traffic()
    traffic.run(10.0, {"a": 1.0})
    (a, b, c) = traffic.evacuation.states(traffic.now)
    assert (a.zone, a.step, a.share) == ("a", DepartureStep.LEAVING, 0.97)
    assert a.own.ratio == 1.0 and a.others.ratio == 0.0
    assert 5.0 < a.seconds < 10.0
    assert {b.step, c.step} == {DepartureStep.WELL}


def test_a_zone_without_endpoints_is_forgotten_and_a_single_zone_is_not_judged() -> None:
    traffic = Traffic()
    traffic.run(10.0, {"a": 1.0})
    left = traffic.evacuation.left
    version = traffic.evacuation.version
    traffic.evacuation.follow("bc")
    assert traffic.evacuation.left is left and left == {}
    assert traffic.evacuation.version > version
    traffic.evacuation.ended("a", failed=True, seconds=0.1, now=traffic.now)
    traffic.evacuation.follow("b")
    assert not traffic.evacuation.is_on


@pytest.mark.parametrize("meanwhile", ["", "a"], ids=["no zone", "one zone"])
def test_zones_that_come_back_while_something_fails_are_judged_again(meanwhile: str) -> None:
    """As where leaving was forbidden for a while, or where every endpoint was away."""
    traffic = Traffic()
    traffic.run(5.0, {"a": 0.4})
    assert traffic.share() > 0.9
    traffic.evacuation.follow(meanwhile)
    assert traffic.evacuation.left == {}
    traffic.run(5.0, {"a": 0.4})
    traffic.evacuation.follow("abc")
    traffic.run(5.0, {"a": 0.4})
    assert traffic.share() > 0.9


def test_without_zones_nothing_is_judged() -> None:
    evacuation = Evacuation()
    evacuation.ended("a", failed=True, seconds=0.1, now=1.0)
    assert not evacuation.is_awake and evacuation.news() is None


def test_a_zone_that_is_said_to_go_away_is_left_sooner_and_never_without_failures() -> None:
    plain, hinted = Traffic(), Traffic()
    hinted.evacuation.follow("abc", leaving="a")
    for traffic in (plain, hinted):
        for zone in "abc":
            for _ in range(30):
                traffic.run(0.02, {"a": 0.2}, home=zone)
    assert hinted.share() > 0.0
    calm = Traffic()
    calm.evacuation.follow("abc", leaving="a")
    calm.run(10.0, {})
    assert (calm.share(), calm.news) == (0.0, [])


def workers(count: int) -> list[Traffic]:
    """The clients of several workers of one replica."""
    memory = bytearray(memory_bytes(count))
    sharing = (others_in(memory, seats=count, seat=seat) for seat in range(count))
    return [Traffic(seed=seat, evacuation=Evacuation("shop/cart:80", each)) for seat, each in enumerate(sharing)]


def test_a_worker_that_had_no_requests_leaves_a_zone_with_its_first_failure() -> None:
    busy, idle = workers(2)
    busy.run(10.0, {"a": 0.4})
    idle.now = busy.now
    assert idle.run(5.0, {"a": 0.4}) < 0.03
    assert idle.share() == pytest.approx(0.97)
    (told,) = [state for state in idle.evacuation.states(idle.now) if state.zone == "a"]
    assert told.begun is not None and told.begun.own.ratio > 0.3
    assert [change.turn for change in busy.news + idle.news] == [ZoneTurn.BEGUN], "one replica tells it once"


def test_workers_that_take_turns_leave_a_zone_and_return_together() -> None:
    """One connection, which moves from worker to worker with each second."""
    both = workers(2)

    def take_turns(seconds: int, failing: Failing) -> float:
        errors = 0.0
        for second in range(seconds):
            here, there = both[second % 2], both[(second + 1) % 2]
            errors += here.run(1.0, failing)
            there.now = here.now
        return errors / seconds

    take_turns(5, {"a": 0.4})
    assert take_turns(10, {"a": 0.4}) < 0.02
    take_turns(25, {})
    assert [each.evacuation.left for each in both] == [{}, {}]
    turns = sorted(change.turn.value for each in both for change in each.news)
    assert turns == [ZoneTurn.BEGUN.value, ZoneTurn.ENDED.value]


def test_many_workers_with_few_requests_each_know_what_they_know_together() -> None:
    every = workers(8)
    errors = 0.0
    for turn in range(2400):
        here = every[turn % len(every)]
        if turn >= 1600:
            errors += here.run(0.01, {"a": 0.4})
        else:
            here.run(0.01, {"a": 0.4})
        every[(turn + 1) % len(every)].now = here.now
    assert errors / 800 < 0.03


def test_where_all_zones_are_alike_workers_stay_together_too() -> None:
    both = workers(2)
    for turn in range(60):
        here, there = both[turn % 2], both[(turn + 1) % 2]
        here.run(1.0, dict.fromkeys("abc", 0.4))
        there.now = here.now
    assert max(each.share() for each in both) <= 0.1


def test_a_worker_that_comes_after_the_repair_does_not_leave() -> None:
    busy, idle = workers(2)
    busy.run(10.0, {"a": 0.4})
    busy.run(120.0, {})
    idle.now = busy.now
    idle.run(5.0, {"a": 0.02})
    assert idle.share() == 0.0


def test_with_more_zones_than_any_cloud_has_nothing_is_judged() -> None:
    evacuation = Evacuation()
    names = [f"zone-{number}" for number in range(ZONES_MOST + 1)]
    evacuation.follow(names[1:])
    evacuation.ended("zone-1", failed=True, seconds=0.1, now=1.0)
    assert len(evacuation.states(1.0)) == ZONES_MOST
    evacuation.follow(names)
    evacuation.ended("zone-1", failed=True, seconds=0.1, now=2.0)
    assert (evacuation.is_on, evacuation.is_awake, evacuation.states(2.0)) == (False, False, ())
