"""Simulates and measures, prints the page, and writes it to the docs.

The page goes to the folder that is given. With two numbers, of replicas and of backends, it prints their cost alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from balancer.model.zones import ZonePolicyName
from tests.bench.fleet.costs import REPLICAS
from tests.bench.fleet.costs import measure as cost
from tests.bench.fleet.informed import informed
from tests.bench.fleet.page import page
from tests.bench.fleet.together import FEW, FEW_LEARNT_SECONDS, together
from tests.bench.zones.measures import SETTLING_SECONDS, Measures, measure
from tests.bench.zones.routers import Adaptive, RandomBelow, Turns, TwoChoices
from tests.bench.zones.scenarios import Phase, Scenario
from tests.bench.zones.simulation import MakeRouter, replay, requests

_UNEVEN = (0.6, 0.2, 0.2)
SCENARIOS = (
    Scenario("30 replicas, 60/20/20, 60 %", (Phase(0.0, 0.6, _UNEVEN),), seconds=60.0, proxies=(10, 10, 10)),
    Scenario("60 replicas, 60/20/20, 60 %", (Phase(0.0, 0.6, _UNEVEN),), seconds=60.0, proxies=(20, 20, 20)),
)
UNEVEN = (
    Scenario("80/10/10, 60 %", (Phase(0.0, 0.6, (0.8, 0.1, 0.1)),), seconds=40.0),
    Scenario("50/25/25, 70 %", (Phase(0.0, 0.7, (0.5, 0.25, 0.25)),), seconds=40.0),
)
BACKENDS = (5, 50, 500)


def main() -> None:
    """Takes about six minutes, one of them of a whole core."""
    if len(sys.argv) == 3:
        replicas, backends = map(int, sys.argv[1:])
        print(cost(backends, replicas))
        return
    adaptive = {each: _measured(each, {"alone": Adaptive, "together": together()}) for each in SCENARIOS}
    adaptive[FEW] = _measured(FEW, {"alone": Adaptive, "together": together()}, since=FEW_LEARNT_SECONDS)
    proportional = {each: _measured(each, {"alone": _alone, "together": informed()}) for each in UNEVEN}
    costs = [cost(backends, replicas) for backends in BACKENDS for replicas in REPLICAS]
    told = page(adaptive, proportional, costs)
    print(told)
    (Path(*sys.argv[1:]) / "fleet-figures.md").write_text(told, encoding="utf-8")


def _measured(scenario: Scenario, makers: dict[str, MakeRouter], *, since: float = 0.0) -> dict[str, Measures]:
    """The figures by what the replicas know. What comes between the start and `since` (seconds) is left out."""
    asked, found = requests(scenario), {}
    for name, make in (makers | {"blind to zones": TwoChoices}).items():
        record = replay(scenario, asked, make)
        record.answers = [answer for answer in record.answers if not SETTLING_SECONDS <= answer[0] < since]
        found[name] = measure(scenario, record)
    return found


def _alone(random_below: RandomBelow) -> Turns:
    return Turns(ZonePolicyName.PROPORTIONAL, random_below)


if __name__ == "__main__":
    main()
