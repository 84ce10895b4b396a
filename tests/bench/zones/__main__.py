"""Replays every scenario under every policy, prints the table, and writes the page and the picture of the docs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from balancer.model.zones import ZonePolicyName
from tests.bench.zones import picture, sickness, table
from tests.bench.zones.measures import Measures, measure
from tests.bench.zones.routers import Adaptive, Turns, TwoChoices
from tests.bench.zones.scenarios import SCENARIOS, Scenario
from tests.bench.zones.simulation import MakeRouter, replay, requests

DOCS = Path(__file__).parents[3] / "docs"

RUNS = 3
"""The goals are judged in so many; the table and the picture show the first."""

ROUTERS: dict[str, MakeRouter] = {
    "off": partial(Turns, ZonePolicyName.OFF),
    table.BLIND: TwoChoices,
    "prefer-zone": partial(Turns, ZonePolicyName.PREFER_ZONE),
    "proportional": partial(Turns, ZonePolicyName.PROPORTIONAL),
    table.ADAPTIVE: Adaptive,
}


def main() -> None:
    """Takes three minutes of one core."""
    results = {scenario: _measured(scenario, ROUTERS) for scenario in SCENARIOS}
    judged = {name: ROUTERS[name] for name in (table.BLIND, table.ADAPTIVE)}
    for scenario in [replace(scenario, run=run) for scenario in SCENARIOS for run in range(2, RUNS + 1)]:
        results[scenario] = _measured(scenario, judged)
    print(table.text(results))
    (DOCS / "img").mkdir(exist_ok=True)
    (DOCS / "img" / "adaptive.svg").write_text(picture.svg(results), encoding="utf-8")
    page = f"{table.page(results)}\n{sickness.section()}"
    (DOCS / "zones-simulation.md").write_text(page, encoding="utf-8")


def _measured(scenario: Scenario, routers: dict[str, MakeRouter]) -> dict[str, Measures]:
    asked = requests(scenario)
    return {name: measure(scenario, replay(scenario, asked, make)) for name, make in routers.items()}


if __name__ == "__main__":
    main()
