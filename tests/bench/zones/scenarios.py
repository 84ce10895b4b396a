"""What is replayed: who asks how much from which zone, which endpoints answer, and when that changes.

Responsible for facts and for the least possible share of requests between zones. It must not know policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ZONES = ("a", "b", "c")

SLOTS = 8
"""Requests that an endpoint works on at a time; the others wait in the order of their arrival."""

SERVICE_SECONDS = 0.02
"""Mean time of an endpoint for one request; log-normal, so that one in a hundred takes 57 ms."""

UTILISATION_MAX = 0.85
"""What an endpoint may be loaded with in the least possible share."""

ENDPOINTS = (4, 4, 4)


@dataclass(frozen=True, slots=True)
class Phase:
    """From `start` (seconds) on: the load as a share of all slots, split over the zones of the clients.

    `down` names endpoints by zone and number that are not ready; requests to `slow` ones take so many times longer.
    """

    start: float
    load: float
    traffic: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)
    down: frozenset[tuple[int, int]] = frozenset()
    slow: tuple[tuple[int, int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A course of events. `noise` is the deviation of the (log of the) factor that slows an endpoint for a second."""

    name: str
    phases: tuple[Phase, ...]
    seconds: float = 30.0
    endpoints: tuple[int, int, int] = ENDPOINTS
    proxies: tuple[int, int, int] = (2, 2, 2)
    noise: float = 0.0
    run: int = 1
    """The same again with other requests."""
    steps: tuple[float, ...] = field(default=())
    """When something changes at once that the goals allow 5 s for."""

    @property
    def seed(self) -> str:
        return f"{self.name}, run {self.run}"

    @property
    def slots(self) -> int:
        return sum(self.endpoints) * SLOTS

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
)


def least_share(scenario: Scenario) -> float:
    """The least share of requests that must leave their zone, each phase for itself, weighted by its requests."""
    leaving = asked = 0.0
    for phase, seconds in scenario.spans():
        demands = [phase.load * scenario.slots * part for part in phase.traffic]
        leaving += seconds * least_leaving(demands, _capacities(scenario, phase))
        asked += seconds * sum(demands)
    return leaving / asked


def least_leaving(demands: Sequence[float], capacities: Sequence[float]) -> float:
    """The optimum of the linear programme "serve every demand, none above the limit, move as little as possible".

    Every move costs the same wherever it goes, so what must leave a zone is what exceeds its limit, and there is room
    for it elsewhere as soon as there is room for everything. Where there is not, the limit is what all together need.
    """
    limit = max(UTILISATION_MAX, sum(demands) / sum(capacities))
    return sum(max(0.0, demand - limit * capacity) for demand, capacity in zip(demands, capacities, strict=True))


def _capacities(scenario: Scenario, phase: Phase) -> list[float]:
    """Slots of each zone that are ready, a slow one counting for what it gets done."""
    slow = {(zone, number): factor for zone, number, factor in phase.slow}
    return [
        sum(SLOTS / slow.get((zone, number), 1.0) for number in range(count) if (zone, number) not in phase.down)
        for zone, count in enumerate(scenario.endpoints)
    ]
