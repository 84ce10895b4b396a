"""Which samples a query reads, and which labels it names.

Reads as much PromQL as the dashboards and alerts use; a real Prometheus judges the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.kinds import Definition, MetricKind

TARGET = frozenset({"instance", "job"})
"""The labels that Prometheus itself adds to each sample."""

_SAMPLE = re.compile(r"\b((?:zonal|process)_\w+)(?:\{([^}]*)\})?")
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right) \(([^)]*)\)")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')


def problems(query: str) -> list[str]:
    """Samples that zonal does not write, and labels that they do not have."""
    return [*_unknown_samples(query), *_unknown_labels(query)]


def labels(query: str) -> frozenset[str]:
    """Every label that a sample of the query has."""
    return frozenset().union(*(_labels(name) for name, _ in _SAMPLE.findall(query)))


def _unknown_samples(query: str) -> Iterator[str]:
    for name, matchers in _SAMPLE.findall(query):
        definition = _definition(name)
        if definition is None:
            yield f"no such sample: {name}"
            continue
        yield from (f"{name} has no label {each}" for each in _MATCHER.findall(matchers) if each not in _labels(name))


def _unknown_labels(query: str) -> Iterator[str]:
    """Labels of groupings that no sample of the query has."""
    known = labels(query)
    for group in _GROUPED.findall(query):
        yield from (f"no sample has the label {each}" for each in re.findall(r"\w+", group) if each not in known)


def _definition(sample: str) -> Definition | None:
    for each in DEFINITIONS:
        endings = ("_bucket", "_sum", "_count") if each.kind is MetricKind.HISTOGRAM else ("",)
        if sample in {each.name + ending for ending in endings}:
            return each
    return None


def _labels(sample: str) -> frozenset[str]:
    definition = _definition(sample)
    own = definition.labels if definition is not None else ()
    return TARGET | set(own) | ({"le"} if sample.endswith("_bucket") else set())
