"""The figures of the exchange are made by real code, and more replicas and backends cost more."""

from __future__ import annotations

import pytest

from tests.bench.fleet.costs import REPLICAS, Cost, measure
from tests.bench.fleet.page import page

pytestmark = pytest.mark.large


def test_bytes_grow_with_replicas_and_backends() -> None:
    few, many = measure(2), measure(40)
    assert [cost.replicas for cost in few] == list(REPLICAS)
    for one, other in zip(few, many, strict=True):
        assert 0.0 < one.far_bytes < other.far_bytes
        assert one.near_bytes <= other.near_bytes
        assert one.core > 0.0
    assert few[0].near_bytes == 0.0, "each of three replicas has a zone of its own"


def test_dollars_are_for_bytes_between_zones_of_all_replicas() -> None:
    cost = Cost(replicas=10, backends=5, near_bytes=1e9, far_bytes=1000.0, core=0.01)
    assert round(cost.fleet_dollars, 3) == 0.518
    assert "| 10 | 5 | 1000000.0 kB/s | 1.0 kB/s | 1.0% | $0.52 |" in page({}, [cost])
