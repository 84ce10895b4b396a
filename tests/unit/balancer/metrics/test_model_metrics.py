"""The metrics about what is served are in the table of all metrics."""

from __future__ import annotations

from balancer.metrics import model_metrics
from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.kinds import Definition


def test_the_table_has_them_all() -> None:
    mine = {each for each in vars(model_metrics).values() if isinstance(each, Definition)}
    assert len(mine) == 8
    assert mine <= set(DEFINITIONS)
