"""The metrics about other replicas are in the table of all metrics."""

from __future__ import annotations

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.fleet_metrics import FLEET_METRICS


def test_the_table_has_them_all() -> None:
    assert set(FLEET_METRICS) <= set(DEFINITIONS)
