"""The metrics about streams are in the table of all metrics, with the buckets that the recorder counts in."""

from __future__ import annotations

from balancer.metrics.definitions import BUCKETS_SECONDS, DEFINITIONS
from balancer.metrics.stream_metrics import (
    STREAM_BUCKETS_SECONDS,
    STREAM_CONNECT,
    STREAM_CONNECTIONS,
    STREAM_SECONDS,
)


def test_the_table_has_them_all() -> None:
    assert {STREAM_CONNECT, STREAM_CONNECTIONS, STREAM_SECONDS} <= set(DEFINITIONS)


def test_their_buckets_are_those_of_requests() -> None:
    assert STREAM_BUCKETS_SECONDS == BUCKETS_SECONDS
