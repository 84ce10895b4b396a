"""What is replayed: who asks how much from which zone, which endpoints answer, and when that changes.

Responsible for facts and for the least possible share of requests between zones. It must not know policies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

ZONES = ("a", "b", "c")

UTILISATION_MAX = 0.85
"""What an endpoint may be loaded with in the least possible share."""

SLOWER_MAX = 1.1
"""An endpoint that takes so many times longer than others exceeds the usual toll, so requests may leave it."""

ENDPOINTS = (4, 4, 4)


@dataclass(frozen=True, slots=True)
class Service:
    """What an endpoint is like. It works on `slots` requests at a time; others wait in the order of their arrival.

    `seconds` is the mean time of a request; `sigma` the deviation of its logarithm. With 0.02 s and 0.5, one in a
    hundred takes 57 ms.
    """

    slots: int = 8
    seconds: float = 0.02
    sigma: float = 0.5


@dataclass(frozen=True, slots=True)
class Phase:
    """From `start` (seconds) on: the load as a share of all slots, split over the zones of the clients.

    `down` names endpoints by zone and number that are not ready; requests to `slow` ones take so many times longer.
    `lost` is how many slots an endpoint no longer has. In `failing` zones that share of the requests fails at once.
    """

    start: float
    load: float
    traffic: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)
    down: frozenset[tuple[int, int]] = frozenset()
    slow: tuple[tuple[int, int, float], ...] = ()
    lost: tuple[tuple[int, int, int], ...] = ()
    failing: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A course of events. `noise` is the deviation of the (log of the) factor that slows an endpoint for a second."""

    name: str
    phases: tuple[Phase, ...]
    seconds: float = 30.0
    endpoints: tuple[int, int, int] = ENDPOINTS
    proxies: tuple[int, int, int] = (2, 2, 2)
    noise: float = 0.0
    service: Service = Service()
    run: int = 1
    """The same again with other requests."""
    steps: tuple[float, ...] = field(default=())
    """When something changes at once that the goals allow 5 s for."""

    @property
    def seed(self) -> str:
        return f"{self.name}, run {self.run}"

    @property
    def slots(self) -> int:
        return sum(self.endpoints) * self.service.slots

    def spans(self) -> list[tuple[Phase, float]]:
        """Every phase with its seconds."""
        ends = [*(phase.start for phase in self.phases[1:]), self.seconds]
        return [(phase, end - phase.start) for phase, end in zip(self.phases, ends, strict=True)]


SKEWED = (0.8, 0.1, 0.1)
ZONE_A = frozenset((0, number) for number in range(4))


ROLLING_START_SECONDS = 12.0


def _rolling_update() -> tuple[Phase, ...]:
    """Two endpoints a zone, replaced one after the other; each is away for three seconds."""
    phases = [Phase(0.0, 0.55)]
    for place in range(6):
        start = ROLLING_START_SECONDS + 4.0 * place
        phases += [Phase(start, 0.55, down=frozenset({(place // 2, place % 2)})), Phase(start + 3.0, 0.55)]
    return tuple(phases)


ROLLING = _rolling_update()


def _losing_slots() -> tuple[Phase, ...]:
    """Every two seconds another endpoint of zone a loses a slot, until half of all are gone."""
    phases = [Phase(0.0, 0.6)]
    for count in range(1, 17):
        lost = tuple((0, number, (count + 3 - number) // 4) for number in range(4))
        phases.append(Phase(8.0 + 2.0 * count, 0.6, lost=lost))
    return tuple(phases)


def _getting_slower() -> tuple[Phase, ...]:
    """Requests in zone a take 1 % longer every second, until they take half as long again."""
    phases = [Phase(0.0, 0.5)]
    for percent in range(1, 51):
        slow = tuple((0, number, 1.0 + percent / 100) for number in range(4))
        phases.append(Phase(9.0 + percent, 0.5, slow=slow))
    return tuple(phases)


def _in_turn() -> tuple[Phase, ...]:
    """Half a minute most requests come from zone a, then from zone b, then from zone a again."""
    to_a, to_b = (0.7, 0.15, 0.15), (0.15, 0.7, 0.15)
    return (Phase(0.0, 0.6, to_a), Phase(30.0, 0.6, to_b), Phase(60.0, 0.6, to_a))


def _bursts() -> tuple[Phase, ...]:
    """Once a minute, twice the requests for ten seconds."""
    from_a = (0.6, 0.2, 0.2)
    starts = ((0.0, 0.35), (20.0, 0.7), (30.0, 0.35), (80.0, 0.7), (90.0, 0.35))
    return tuple(Phase(start, load, from_a) for start, load in starts)


SCENARIOS = (
    Scenario("even, 60 %", (Phase(0.0, 0.6),)),
    Scenario("80/10/10, 60 %", (Phase(0.0, 0.6, SKEWED),), seconds=40.0),
    Scenario("50/25/25, 70 %", (Phase(0.0, 0.7, (0.5, 0.25, 0.25)),), seconds=40.0),
    Scenario("80/10/10, 20 %", (Phase(0.0, 0.2, SKEWED),)),
    Scenario("small zone 1-5-6, 60 %", (Phase(0.0, 0.6),), seconds=40.0, endpoints=(1, 5, 6)),
    Scenario(
        "zone lost for 15 of 40 s, 50 %",
        (Phase(0.0, 0.5), Phase(10.0, 0.5, down=ZONE_A), Phase(25.0, 0.5)),
        seconds=40.0,
        steps=(10.0, 25.0),
    ),
    Scenario(
        "rolling update 2-2-2, 55 %",
        ROLLING,
        seconds=48.0,
        endpoints=(2, 2, 2),
        steps=tuple(phase.start for phase in ROLLING[1:]),
    ),
    Scenario("one endpoint 10 times slower, 60 %", (Phase(0.0, 0.6, slow=((0, 0, 10.0),)),)),
    Scenario("30 replicas, 60/20/20, 60 %", (Phase(0.0, 0.6, (0.6, 0.2, 0.2)),), seconds=40.0, proxies=(10, 10, 10)),
    Scenario(
        "three times the load at once, 80/10/10, 20 → 60 %",
        (Phase(0.0, 0.2, SKEWED), Phase(10.0, 0.6, SKEWED)),
        seconds=35.0,
        steps=(10.0,),
    ),
    Scenario("latency noise, even, 20 %", (Phase(0.0, 0.2),), seconds=40.0, noise=0.3),
    # The next ones were written down before the controller was tuned for calm, by the hand that then tuned it.
    Scenario("zone slowly loses half its slots, 60 %", _losing_slots(), seconds=60.0),
    Scenario("zone slowly becomes 1.5 times slower, 50 %", _getting_slower(), seconds=80.0),
    Scenario("two zones strained in turn, 70/15/15, 60 %", _in_turn(), seconds=90.0, steps=(30.0, 60.0)),
    Scenario(
        "a burst every minute, 60/20/20, 35 → 70 %",
        _bursts(),
        seconds=130.0,
        steps=(20.0, 30.0, 80.0, 90.0),
    ),
    Scenario(
        "280 requests/s into one zone, 2-2-2, 40 ms",
        (Phase(0.0, 280 * 0.04 / 24, (1.0, 0.0, 0.0)),),
        seconds=60.0,
        endpoints=(2, 2, 2),
        proxies=(1, 1, 1),
        service=Service(slots=4, seconds=0.04),
    ),
)


def least_share(scenario: Scenario) -> float:
    """The least share of requests that must leave their zone, each phase for itself, weighted by its requests."""
    return _leaving_share(scenario, slower_max=math.inf)


def paying_share(scenario: Scenario) -> float:
    """The same if requests also leave endpoints that are slower than others by more than the toll."""
    return _leaving_share(scenario, slower_max=SLOWER_MAX)


def _leaving_share(scenario: Scenario, *, slower_max: float) -> float:
    leaving = asked = 0.0
    for phase, seconds in scenario.spans():
        demands = [phase.load * scenario.slots * part for part in phase.traffic]
        leaving += seconds * least_leaving(demands, _capacities(scenario, phase, slower_max))
        asked += seconds * sum(demands)
    return leaving / asked


def least_leaving(demands: Sequence[float], capacities: Sequence[float]) -> float:
    """The optimum of the linear programme "serve every demand, none above the limit, move as little as possible".

    Every move costs the same wherever it goes, so what must leave a zone is what exceeds its limit, and there is room
    for it elsewhere as soon as there is room for everything. Where there is not, the limit is what all together need.
    """
    limit = max(UTILISATION_MAX, sum(demands) / sum(capacities))
    return sum(max(0.0, demand - limit * capacity) for demand, capacity in zip(demands, capacities, strict=True))


def _capacities(scenario: Scenario, phase: Phase, slower_max: float) -> list[float]:
    """Slots of each zone that count: of endpoints that are ready and not too slow."""
    slow = {(zone, number): factor for zone, number, factor in phase.slow}
    lost = {(zone, number): count for zone, number, count in phase.lost}

    def capacity(place: tuple[int, int]) -> float:
        factor = slow.get(place, 1.0)
        if place in phase.down or factor > slower_max:
            return 0.0
        return (scenario.service.slots - lost.get(place, 0)) / factor

    return [sum(capacity((zone, number)) for number in range(count)) for zone, count in enumerate(scenario.endpoints)]
