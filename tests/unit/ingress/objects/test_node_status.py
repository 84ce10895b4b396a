"""A Node is ready if it says so, and has the CPU that it says."""

from __future__ import annotations

import pytest

from ingress.objects.node_status import Allocatable, NodeCondition, NodeStatus


@pytest.mark.parametrize(("said", "ready"), [("True", True), ("False", False), ("Unknown", False), ("", False)])
def test_only_a_true_condition_is_ready(said: str, ready: bool) -> None:
    conditions = (NodeCondition("DiskPressure", "True"), NodeCondition("Ready", said))
    assert NodeStatus(conditions).ready is ready


def test_without_the_condition_it_is_not_ready() -> None:
    assert not NodeStatus((NodeCondition("DiskPressure", "True"),)).ready
    assert not NodeStatus().ready


@pytest.mark.parametrize(("said", "amount"), [("3920m", 3920), (4, 4000), ("", 0), ("much", 0), ("-1", 0)])
def test_cpu_in_thousandths_and_nothing_where_none_is_said(said: str | int, amount: int) -> None:
    assert NodeStatus(allocatable=Allocatable(said)).cpu_milli == amount
