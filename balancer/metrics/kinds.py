"""Defines what a metric is: its name, kind, labels and meaning."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

# The bounds from 5 ms on are the defaults of Prometheus. ingress-nginx uses them too, so dashboards keep working.
# The three smaller bounds show the gain of a zone, because a hop to another zone costs about a millisecond.
BUCKETS_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class MetricKind(Enum):
    """The Prometheus types in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


class Definition(msgspec.Struct, frozen=True):
    """One metric. `buckets` holds a histogram's upper bounds in seconds, without +Inf, ascending."""

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()


def counter(name: str, labels: tuple[str, ...] = (), *, help: str) -> Definition:
    """A number that only grows."""
    return Definition(name, MetricKind.COUNTER, labels, help)


def gauge(name: str, labels: tuple[str, ...] = (), *, help: str) -> Definition:
    """A number that goes up and down."""
    return Definition(name, MetricKind.GAUGE, labels, help)


def histogram(name: str, labels: tuple[str, ...], *, help: str) -> Definition:
    """Durations, counted by `BUCKETS_SECONDS`."""
    return Definition(name, MetricKind.HISTOGRAM, labels, help, BUCKETS_SECONDS)
