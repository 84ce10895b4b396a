"""A definition is compared by value and never changes."""

from __future__ import annotations

import pytest

from balancer.metrics.kinds import BUCKETS_SECONDS, Definition, MetricKind, counter, gauge, histogram


def test_a_definition_never_changes() -> None:
    definition = Definition(name="a", kind=MetricKind.GAUGE, labels=(), help="b")
    assert definition == Definition(name="a", kind=MetricKind.GAUGE, labels=(), help="b")
    with pytest.raises(AttributeError):
        definition.name = "c"  # type: ignore[misc]


def test_each_kind_has_a_word_of_its_own() -> None:
    assert counter("a", ("b",), help="c") == Definition("a", MetricKind.COUNTER, ("b",), "c")
    assert gauge("a", help="c") == Definition("a", MetricKind.GAUGE, (), "c")
    assert histogram("a", ("b",), help="c") == Definition("a", MetricKind.HISTOGRAM, ("b",), "c", BUCKETS_SECONDS)


def test_buckets_are_those_of_ingress_nginx_after_three_below_a_hop_between_zones() -> None:
    assert BUCKETS_SECONDS == (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
