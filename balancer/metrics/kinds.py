"""Defines what a metric is: its name, kind, labels and meaning."""

from __future__ import annotations

from enum import Enum

import msgspec


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
