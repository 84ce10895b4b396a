"""What it is worth to `proportional` to know where requests come in."""

from __future__ import annotations

import pytest

from tests.bench.fleet.informed import informed
from tests.bench.zones.measures import measure
from tests.bench.zones.routers import TwoChoices
from tests.bench.zones.scenarios import Phase, Scenario
from tests.bench.zones.simulation import replay, requests


@pytest.mark.large
@pytest.mark.parametrize(
    ("traffic", "load", "most"),
    [((0.8, 0.1, 0.1), 0.6, 0.5), ((0.5, 0.25, 0.25), 0.7, 0.2)],
)
def test_a_zone_keeps_what_it_can_carry(traffic: tuple[float, float, float], load: float, most: float) -> None:
    """Alone 17 s and 2 s of p99; blind to zones two of three requests leave."""
    scenario = Scenario("uneven", (Phase(0.0, load, traffic),), seconds=30.0)
    asked = requests(scenario)
    together = measure(scenario, replay(scenario, asked, informed()))
    blind = measure(scenario, replay(scenario, asked, TwoChoices))
    assert together.cross_share <= most
    assert together.steady <= 1.1 * blind.steady
