"""The metrics about streams are in the table of all metrics."""

from __future__ import annotations

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.stream_metrics import STREAM_CONNECT, STREAM_CONNECTIONS, STREAM_SECONDS


def test_the_table_has_them_all() -> None:
    assert {STREAM_CONNECT, STREAM_CONNECTIONS, STREAM_SECONDS} <= set(DEFINITIONS)
