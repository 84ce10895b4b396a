"""A definition is compared by value and never changes."""

from __future__ import annotations

import pytest

from balancer.metrics.kinds import Definition, MetricKind


def test_a_definition_never_changes() -> None:
    definition = Definition(name="a", kind=MetricKind.GAUGE, labels=(), help="b")
    assert definition == Definition(name="a", kind=MetricKind.GAUGE, labels=(), help="b")
    with pytest.raises(AttributeError):
        definition.name = "c"  # type: ignore[misc]
