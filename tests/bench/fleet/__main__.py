"""Simulates and measures, prints the page, and writes it to the docs."""

from __future__ import annotations

from pathlib import Path

from tests.bench.fleet.costs import REPLICAS
from tests.bench.fleet.costs import measure as cost
from tests.bench.fleet.page import page
from tests.bench.fleet.together import together
from tests.bench.zones.measures import Measures, measure
from tests.bench.zones.routers import Adaptive, TwoChoices
from tests.bench.zones.scenarios import Phase, Scenario
from tests.bench.zones.simulation import replay, requests

DOCS = Path(__file__).parents[3] / "docs"

_UNEVEN = (0.6, 0.2, 0.2)
SCENARIOS = (
    Scenario("30 replicas, 60/20/20, 60 %", (Phase(0.0, 0.6, _UNEVEN),), seconds=25.0, proxies=(10, 10, 10)),
    Scenario("60 replicas, 60/20/20, 60 %", (Phase(0.0, 0.6, _UNEVEN),), seconds=25.0, proxies=(20, 20, 20)),
)
BACKENDS = (5, 50, 500)


def main() -> None:
    """Takes about six minutes, one of them of a whole core."""
    shared = {scenario: _measured(scenario) for scenario in SCENARIOS}
    costs = [cost(backends, replicas) for backends in BACKENDS for replicas in REPLICAS]
    told = page(shared, costs)
    print(told)
    (DOCS / "fleet-figures.md").write_text(told, encoding="utf-8")


def _measured(scenario: Scenario) -> dict[str, Measures]:
    asked = requests(scenario)
    makers = {"alone": Adaptive, "together": together(), "blind to zones": TwoChoices}
    return {name: measure(scenario, replay(scenario, asked, make)) for name, make in makers.items()}


if __name__ == "__main__":
    main()
