"""The metrics about processes are in the table of all metrics, and those of the parent have the names of Prometheus."""

from __future__ import annotations

from balancer.metrics import process_metrics
from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.kinds import Definition


def test_the_table_has_them_all() -> None:
    ours = {each for each in vars(process_metrics).values() if isinstance(each, Definition)}
    assert len(ours) == 10
    assert ours <= set(DEFINITIONS)


def test_each_says_whose_it_is() -> None:
    ours = [each for each in vars(process_metrics).values() if isinstance(each, Definition)]
    assert {each.name.split("_")[0] for each in ours if not each.labels} == {"process"}
    assert {each.labels for each in ours if each.name.startswith("zonal_worker_")} == {("worker",)}
