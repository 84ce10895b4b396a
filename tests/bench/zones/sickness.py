"""Sick zones in the simulation: zones that are ready and answer with errors, and routers that leave them by evidence.

Responsible for the scenarios, for their goals and for what the page says about them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from balancer.model.endpoints import Endpoint
from balancer.zones.evacuation import Evacuation
from balancer.zones.verdicts import ALL_BASIS_POINTS, Surroundings
from tests.bench.zones.measures import changes_of_direction, p99
from tests.bench.zones.routers import Adaptive, RandomBelow, Turns
from tests.bench.zones.scenarios import ZONES, Phase, Scenario
from tests.bench.zones.simulation import SAMPLE_SECONDS, Member, Record, Router, replay, requests

SETTLED_SECONDS = 5.0
"""After a fault begins, what the errors afterwards leave out."""

ERRORS_MOST, TURNS_MOST, SLOWER_MOST, FLAPPING_MOST, STAY_LEAST = 0.02, 2.0, 1.2, 0.5, 0.9

LOAD, FULL = 0.6, 0.9
BEGIN, END = 10.0, 50.0


def _fault(load: float, *failing: tuple[int, float], end: float = END) -> tuple[Phase, ...]:
    return (Phase(0.0, load), Phase(BEGIN, load, failing=failing), Phase(end, load))


def _flapping(load: float, seconds: float) -> tuple[Phase, ...]:
    """20 s sick and 20 s well, again and again."""
    count = round(seconds / 20.0)
    return tuple(Phase(20.0 * turn, load, failing=((0, 1.0),) if turn % 2 else ()) for turn in range(count))


SICK = (
    Scenario("a zone fails in 40 %, 60 % load", _fault(LOAD, (0, 0.4)), seconds=90.0),
    Scenario("a zone fails in 100 %, 60 % load", _fault(LOAD, (0, 1.0)), seconds=90.0),
    Scenario("a zone fails in 2 %, 60 % load", _fault(LOAD, (0, 0.02)), seconds=60.0),
    Scenario("every zone fails in 40 %, 60 % load", _fault(LOAD, (0, 0.4), (1, 0.4), (2, 0.4)), seconds=60.0),
    Scenario("a zone flaps, 20 s sick and 20 s well, 30 % load", _flapping(0.3, 320.0), seconds=320.0),
    Scenario("a zone fails in 100 %, 90 % load", _fault(FULL, (0, 1.0)), seconds=70.0),
)


class Leaving:
    """A router that lets requests avoid zones which fail, as balancers do, around the router of a policy.

    `leaves` False: it only counts, for the comparison.
    """

    def __init__(self, inner: Router, random_below: RandomBelow, *, leaves: bool) -> None:
        self._inner, self._random_below, self._leaves = inner, random_below, leaves
        self._evacuation = Evacuation()

    def place(self, ready: dict[Endpoint, Member], around: Surroundings) -> None:
        self._inner.place(ready, around)
        self._members = list(ready.values())
        self._home = str(around.own.zone)
        self._evacuation.follow(ZONES)

    def pick(self, now: float) -> Member:
        if self._leaves and self._evacuation.left:
            drawn = self._random_below(ALL_BASIS_POINTS)
            avoided = {zone for zone, points in self._evacuation.left.items() if points > drawn}
            if self._home in avoided:
                others = [each for each in self._members if ZONES[each.site.zone] not in avoided]
                return others[self._random_below(len(others))]
        return self._inner.pick(now)

    def ended(self, member: Member, seconds: float, now: float) -> None:
        self._inner.ended(member, seconds, now)
        if self._evacuation.is_awake:
            self._evacuation.ended(ZONES[member.site.zone], failed=False, seconds=seconds, now=now)

    def failed(self, member: Member, now: float) -> None:
        self._inner.failed(member, now)
        self._evacuation.ended(ZONES[member.site.zone], failed=True, seconds=0.0, now=now)

    def share(self) -> float:
        return self._evacuation.left.get(self._home, 0) / ALL_BASIS_POINTS if self._leaves else 0.0


MakeInner = Callable[[RandomBelow], Router]


@dataclass(frozen=True, slots=True)
class Sickness:
    """What a replay with a sick zone a shows. `staying` is the same without leaving.

    `errors` is the share of zone a's clients who met one from five seconds after the fault to its end; `shares` the
    mean share that left in the fault, and 30 s after it.
    """

    errors: float
    errors_whole: float
    staying_whole: float
    share_in_fault: float
    share_after: float
    turns: float
    slower: float


def measure_sickness(scenario: Scenario, make: MakeInner) -> Sickness:
    """The figures of one scenario under one policy, with leaving and without."""
    asked = requests(scenario)
    records = {
        leaves: replay(scenario, asked, lambda below, leaves=leaves: Leaving(make(below), below, leaves=leaves))  # type: ignore[misc]
        for leaves in (True, False)
    }
    left, stayed = records[True], records[False]
    fault_ends = scenario.phases[-1].start if len(scenario.phases) == 3 else scenario.seconds
    proxies = left.shares[: scenario.proxies[0]]  # those of zone a
    others = [p99([*each.seconds_in[1], *each.seconds_in[2]]) for each in (left, stayed)]
    return Sickness(
        errors=_error_share(left, len(asked), scenario, BEGIN + SETTLED_SECONDS, fault_ends),
        errors_whole=len(left.errors) / (len(asked) / len(ZONES)),
        staying_whole=len(stayed.errors) / (len(asked) / len(ZONES)),
        share_in_fault=_mean_share(proxies, BEGIN + SETTLED_SECONDS, fault_ends),
        share_after=_mean_share(proxies, fault_ends + 30.0, scenario.seconds),
        turns=max(map(changes_of_direction, proxies)) * 60.0 / scenario.seconds,
        slower=others[0] / others[1],
    )


def _error_share(record: Record, asked: int, scenario: Scenario, begin: float, end: float) -> float:
    rate = asked / len(ZONES) / scenario.seconds
    return sum(begin <= at < end for at in record.errors) / max(1.0, rate * (end - begin))


def _mean_share(proxies: list[list[float]], begin: float, end: float) -> float:
    shares = [share for each in proxies for share in each[round(begin / SAMPLE_SECONDS) : round(end / SAMPLE_SECONDS)]]
    return sum(shares) / len(shares) if shares else 0.0
