"""`adaptive` spills by load: within its bounds, for a reason, in proportion, and back when the strain is over."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.sharing.peer_table import PEER_ROWS, PeerTable
from balancer.sharing.peers import ALONE, Heard, Peers, Seen
from balancer.zones.adaptive import SpillController, cost, dearness
from balancer.zones.reasons import Reason
from tests.bench.zones.measures import changes_of_direction, measure, misses
from tests.bench.zones.routers import Adaptive, TwoChoices
from tests.bench.zones.scenarios import SCENARIOS, Phase, Scenario, least_leaving
from tests.bench.zones.simulation import replay, requests
from tests.properties import examples

pytestmark = pytest.mark.large

LOCAL, REMOTE = 0.020, 0.021
RATE = 400

Latency = Callable[[float], float]


def policy(*, budget: int = 100) -> ZonePolicy:
    return ZonePolicy(ZonePolicyName.ADAPTIVE, spill_budget_percent=budget)


class Course:
    """A controller and a clock. Requests come evenly, and are answered at once; latencies are what the test says."""

    def __init__(self, *, budget: int = 100, peers: Peers = ALONE) -> None:
        self.controller = SpillController(policy(budget=budget), peers=peers)
        self.now = 0.0
        self.shares = [0.0]

    def run(self, seconds: float, local: Latency, remote: Latency = lambda _: REMOTE, *, rate: int = RATE) -> Course:
        """`seconds` more, in which a latency follows from the share that leaves at that moment."""
        for _ in range(round(seconds * rate)):
            self.now += 1.0 / rate
            share = self.controller.share
            leaves = self.controller.next_leaves(self.now)
            self.controller.ended(is_local=not leaves, seconds=(remote if leaves else local)(share))
            if self.controller.share != self.shares[-1]:
                self.shares.append(self.controller.share)
        return self


def calm(_: float) -> float:
    return LOCAL


def full(share: float) -> float:
    """A zone that is twice as slow under everything, and as it was with a third less."""
    return LOCAL * (1.0 + max(0.0, 1.0 - share / 0.3))


def test_without_strain_nothing_leaves() -> None:
    assert Course().run(20, calm).shares == [0.0]


@given(st.floats(0.0001, 5.0), st.integers(10, 2000))
@examples(20)
def test_no_latency_is_a_strain_in_itself(seconds: float, rate: int) -> None:
    course = Course().run(1500 / rate, lambda _: seconds, rate=rate)
    assert course.shares == [0.0]


def test_a_strained_zone_gives_away_what_relieves_it_and_no_more() -> None:
    share = Course().run(6, calm).run(20, full).controller.share
    assert 0.2 < share < 0.35


def test_the_share_returns_to_0_when_the_strain_ends() -> None:
    course = Course().run(6, calm).run(10, full)
    assert course.controller.share > 0.2
    course.run(20, calm)
    assert course.controller.share == 0.0
    assert course.controller.basis_points == 0


def test_other_zones_that_are_no_quicker_are_left_alone_again() -> None:
    course = Course().run(6, calm).run(70, lambda _: 2 * LOCAL, lambda _: 2 * REMOTE)
    assert course.controller.share == 0.0
    tries = sum(after > 0.0 == before for before, after in zip(course.shares, course.shares[1:], strict=False))
    assert 1 <= tries <= 4


def test_a_little_stays_in_the_zone_however_slow_it_is() -> None:
    course = Course().run(6, calm).run(40, lambda _: 1.0)
    assert course.controller.share == pytest.approx(0.97)
    assert not course.controller.budget_exhausted


@pytest.mark.parametrize("budget", [0, 10, 50])
def test_the_budget_is_kept_and_named_when_it_binds(budget: int) -> None:
    course = Course(budget=budget).run(6, calm)
    assert course.controller.reason(leaves=False) is Reason.ZONE_LOCAL
    course.run(20, lambda _: 0.1)
    assert max(course.shares) <= budget / 100
    assert course.controller.share == pytest.approx(budget / 100)
    assert course.controller.reason(leaves=False) is Reason.SPILL_BUDGET_EXHAUSTED
    assert course.controller.reason(leaves=True) is Reason.SPILL_LOAD


@given(
    st.integers(0, 100),
    st.lists(
        st.tuples(st.floats(0.0, 3.0), st.integers(0, 60), st.integers(0, 60), st.floats(0, 30), st.floats(0, 30)),
        min_size=1,
        max_size=60,
    ),
)
@examples(200)
def test_the_share_stays_within_its_bounds_whatever_comes(
    budget: int, ticks: list[tuple[float, int, int, float, float]]
) -> None:
    controller, now = SpillController(policy(budget=budget)), 0.0
    for elapsed, local, remote, local_seconds, remote_seconds in ticks:
        now += elapsed
        for _ in range(local + remote):
            controller.next_leaves(now)
        for _ in range(local):
            controller.ended(is_local=True, seconds=local_seconds)
        for _ in range(remote):
            controller.ended(is_local=False, seconds=remote_seconds)
        controller.tick(now)
        assert 0.0 <= controller.share <= min(budget / 100, 0.97) + 1e-9
        assert controller.basis_points == round(controller.share * 10_000)


@given(st.floats(1.12, 1.45), st.floats(0.01, 0.2))
@examples(20)
def test_a_larger_gap_makes_no_smaller_step(strain: float, more: float) -> None:
    some, larger = (
        Course().run(6, calm).run(1.5, lambda _, slow=slow: LOCAL * slow).controller.share  # type: ignore[misc]
        for slow in (strain, strain + more)
    )
    assert larger >= some - 1e-9


def test_it_goes_up_more_quickly_than_down() -> None:
    course = Course().run(6, calm)
    start = course.now
    while course.controller.share < 0.25:
        course.run(0.05, lambda _: 2 * LOCAL)
    up, start = course.now - start, course.now
    while course.controller.share > 0.0:
        course.run(0.05, calm)
    assert up < (course.now - start) / 3


@pytest.mark.parametrize("seed", range(3))
def test_noise_changes_the_direction_twice_a_minute_at_most(seed: int) -> None:
    chance = random.Random(seed)
    course = Course().run(60, lambda _: LOCAL * chance.lognormvariate(-0.125, 0.5), rate=200)
    assert changes_of_direction(course.shares) <= 2


@given(st.floats(0.05, 0.8))
@examples(8)
def test_the_share_converges_where_latency_falls_with_it(need: float) -> None:
    """Above `need` the zone is as quick as ever, below it the slower the less leaves."""
    course = Course().run(6, calm).run(40, lambda share: LOCAL * (1.0 + max(0.0, 1.0 - share / need)))
    assert 0.8 * need < course.controller.share <= need
    before = course.controller.share
    assert course.run(10, lambda share: LOCAL * (1.0 + max(0.0, 1.0 - share / need))).controller.share == pytest.approx(
        before, abs=0.02
    )


@given(st.integers(0, 10_000), st.floats(0.1, 0.6))
@examples(8)
def test_constant_noise_turns_the_share_of_a_strained_zone_twice_a_minute_at_most(seed: int, need: float) -> None:
    chance = random.Random(seed)

    def noisy(seconds: float) -> float:
        return seconds * chance.lognormvariate(-0.125, 0.5)

    course = Course().run(6, lambda _: noisy(LOCAL), lambda _: noisy(REMOTE), rate=200)
    course.run(
        60,
        lambda share: noisy(LOCAL * (1.0 + max(0.0, 1.0 - share / need))),
        lambda _: noisy(REMOTE),
        rate=200,
    )
    assert changes_of_direction(course.shares) <= 2


def test_the_share_falls_by_what_endpoints_that_came_home_can_carry() -> None:
    course = Course()
    course.controller.follow(1)
    course.run(6, calm).run(10, full)
    before = course.controller.share
    course.controller.follow(2)
    course.run(1, full)
    assert course.controller.share > 0.5 * before, "what has just come is not believed yet"
    course.run(3, calm)
    assert course.controller.share == 0.0


def test_workers_agree_on_a_share_and_a_new_one_begins_with_it() -> None:
    memory = bytearray(PEER_ROWS.table_bytes(2))
    tables = [PeerTable(memory, start=0, seats=2, seat=seat) for seat in range(2)]
    one = Course(peers=tables[0].peers("shop/cart")).run(6, calm).run(20, full)
    share = one.controller.share
    assert share > 0.2
    new = Course(peers=tables[1].peers("shop/cart"))
    new.now = one.now
    new.run(0.2, full)
    assert new.controller.share == pytest.approx(share, abs=0.02)
    assert new.controller.overload_factor < 2.0, "it has the baseline of the other one"


class Says:
    """Another replica that holds a share, about which it told some time ago."""

    def __init__(self) -> None:
        self.held: float | None = None

    def exchange(self, _: Seen, *, share: float, baseline: float, now: float) -> Heard:
        return Heard(share=self.held, baseline=LOCAL)


@pytest.mark.parametrize(("apart", "left"), [(-0.015, 0.015), (-0.1, 0.02), (0.1, 0.02)])
def test_a_share_comes_near_to_those_of_others_and_a_difference_that_is_as_good_as_none_stays(
    apart: float, left: float
) -> None:
    other = Says()
    course = Course(peers=other).run(6, calm).run(20, full)
    share = course.controller.share
    other.held = share + apart
    for _ in range(200):  # nothing is seen, so nothing else moves the share
        course.now += 0.05
        course.controller.tick(course.now)
    assert abs(course.controller.share - other.held) == pytest.approx(left, abs=0.002)


def test_requests_that_leave_are_spread_evenly() -> None:
    course = Course().run(6, calm).run(20, full)
    controller, before = course.controller, course.controller.basis_points
    leaving = sum(controller.next_leaves(course.now) for _ in range(1000))
    assert controller.basis_points == before
    assert abs(leaving - before / 10) <= 1


def test_workers_that_start_elsewhere_spill_at_other_times() -> None:
    """The share is the same, the first request that leaves is not."""
    firsts = set()
    for start in (0, 3_000, 9_000):
        controller = SpillController(policy(), start=start)
        controller.basis_points = 2_000
        firsts.add([controller.next_leaves(0.0) for _ in range(5)].index(True))
    assert len(firsts) == 3


def test_an_end_without_a_latency_is_no_quick_answer() -> None:
    course = Course().run(6, calm)
    for _ in range(4000):
        course.now += 1 / RATE
        course.controller.next_leaves(course.now)
        course.controller.ended(is_local=True, seconds=None)
    assert course.run(6, calm).shares == [0.0]


def test_of_two_endpoints_the_less_busy_quicker_and_cheaper_costs_less() -> None:
    assert cost(0.02, 3) < cost(0.02, 4) < cost(0.03, 4)
    dear = dearness(0.02, dearest=0.02, toll_ratio=0.05)
    assert cost(0.02, 3, dear) == pytest.approx(1.05 * cost(0.02, 3, dearness(0.0, dearest=0.02, toll_ratio=0.05)))
    assert dearness(0.0, dearest=0.0, toll_ratio=0.05) == 1.0


@pytest.mark.parametrize(
    ("demands", "capacities", "least"),
    [
        ((46.08, 5.76, 5.76), (32, 32, 32), 18.88),
        ((19.2, 19.2, 19.2), (32, 32, 32), 0.0),
        ((19.2, 19.2, 19.2), (8, 40, 48), 12.4),
        ((16, 16, 16), (0, 32, 32), 16.0),
        ((30, 30, 30), (32, 32, 32), 0.0),
        ((90, 0, 0), (32, 32, 32), 60.0),
    ],
)
def test_the_least_possible_share_is_what_a_linear_programme_says(
    demands: tuple[float, ...], capacities: tuple[float, ...], least: float
) -> None:
    """The figures are those of a solver, which the project does not need otherwise."""
    assert least_leaving(demands, capacities) == pytest.approx(least)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("even", (Phase(0.0, 0.6),), seconds=8.0),
        Scenario("skewed", (Phase(0.0, 0.6, (0.8, 0.1, 0.1)),), seconds=12.0),
    ],
    ids=lambda scenario: scenario.name,
)
def test_in_simulated_time_no_zone_melts_and_nothing_leaves_in_vain(scenario: Scenario) -> None:
    asked = requests(scenario)
    adaptive, blind = (measure(scenario, replay(scenario, asked, make)) for make in (Adaptive, TwoChoices))
    missed = misses(scenario, adaptive, blind)
    assert [goal for goal in missed if "direction" not in goal] == []


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("30 replicas, 60/20/20, 60 %", 1),
        ("280 requests/s into one zone, 2-2-2, 40 ms", 1),
        ("latency noise, even, 20 %", 3),
    ],
    ids=["many replicas", "few requests", "noise"],
)
def test_few_requests_and_noise_alone_are_no_reason_to_leave_or_to_turn(name: str, run: int) -> None:
    scenario = next(replace(each, run=run) for each in SCENARIOS if each.name == name)
    asked = requests(scenario)
    adaptive, blind = (measure(scenario, replay(scenario, asked, make)) for make in (Adaptive, TwoChoices))
    assert misses(scenario, adaptive, blind) == []
