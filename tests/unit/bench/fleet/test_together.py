"""What it is worth to `adaptive` that replicas of a zone see what all of them saw."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.fleet.__main__ import SCENARIOS
from tests.bench.fleet.together import FEW, FEW_LEARNT_SECONDS, together
from tests.bench.zones.measures import measure, p99
from tests.bench.zones.routers import Adaptive, TwoChoices
from tests.bench.zones.scenarios import least_share
from tests.bench.zones.simulation import Record, replay, requests


@pytest.mark.large
def test_few_requests_at_each_of_twelve_replicas_are_as_quick_as_blind_to_zones() -> None:
    """Alone, each replica knows a twelfth of the requests: 524 ms by the simulation that began this; blind 240."""
    asked = requests(FEW)
    alone, shared, blind = (settled(replay(FEW, asked, make)) for make in (Adaptive, together(), TwoChoices))
    assert shared <= 1.1 * blind
    assert shared < alone


@pytest.mark.large
def test_replicas_that_learn_together_in_a_queue_how_slow_their_zone_is_learn_it_anew() -> None:
    """Before few answers of other zones counted, p99 was twice that of two choices there, and half more than alone."""
    scenario = replace(FEW, run=5)
    asked = requests(scenario)
    alone, shared, blind = (settled(replay(scenario, asked, make)) for make in (Adaptive, together(), TwoChoices))
    assert shared <= 1.4 * blind
    assert shared <= 1.15 * alone


@pytest.mark.large
def test_sixty_replicas_come_within_two_points_of_the_least_share_in_half_a_minute() -> None:
    """Each of them gets 29 to 87 requests a second. The start at full load counts, but for the first 5 s of p99."""
    scenario = replace(SCENARIOS[-1], seconds=30.0)
    asked = requests(scenario)
    found, blind = (measure(scenario, replay(scenario, asked, make)) for make in (together(), TwoChoices))
    assert scenario.proxies == (20, 20, 20)
    assert found.cross_share == pytest.approx(least_share(scenario), abs=0.02)
    assert found.steady <= 1.1 * blind.steady


def settled(record: Record) -> float:
    return p99(seconds for start, seconds, _ in record.answers if start >= FEW_LEARNT_SECONDS)
