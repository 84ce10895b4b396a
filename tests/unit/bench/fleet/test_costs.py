"""The figures of the exchange are made by replicas that really converse."""

from __future__ import annotations

import pytest

from tests.bench.fleet.costs import Cost, measure
from tests.bench.fleet.page import page

pytestmark = pytest.mark.large


def test_a_conversation_costs_bytes_and_a_part_of_a_core() -> None:
    """Of six replicas two are in each zone, so one other replica hears what workers see."""
    cost = measure(2, 6, seconds=1.0)
    assert (cost.replicas, cost.backends) == (6, 2)
    assert cost.near_bytes > 0.0
    assert cost.core > 0.0


def test_dollars_are_for_bytes_between_zones_of_all_replicas() -> None:
    cost = Cost(replicas=10, backends=5, near_bytes=1e9, far_bytes=1000.0, core=0.01)
    assert round(cost.fleet_dollars, 3) == 0.518
    assert "| 10 | 5 | 1000000.0 kB/s | 1.0 kB/s | 1.0% | $0.52 |" in page({}, {}, [cost])
